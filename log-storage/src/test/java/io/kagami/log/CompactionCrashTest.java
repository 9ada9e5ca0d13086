package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.CompactedView.Row;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Keyed;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.PlainRewriter;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The power goes at every single change that a compaction makes on the disk, and again while that is repaired. */
class CompactionCrashTest {
    private static final LogName NAME = new LogName("orders", 0);
    private static final InstantSource CLOCK = InstantSource.fixed(Instant.ofEpochMilli(1_000_000));
    private static final LogOptions OPTIONS = new LogOptions(400, Long.MAX_VALUE, 100, 1 << 12)
            .with(new LogOptions.Compaction(true, 1_000, 0, Long.MAX_VALUE, 0.01));

    @TempDir
    Path temp;

    private int roots;

    private Path newRoot() throws IOException {
        return Files.createDirectories(temp.resolve("root" + roots++));
    }

    /** Three segments or more, with a transaction that spans two of them, and one that was aborted. */
    private static PartitionLog fill(LogDirectory directory) {
        PartitionLog log = directory.create(NAME, UUID.nameUUIDFromBytes(new byte[] {1}), OPTIONS);
        long offset = 0;
        for (int i = 0; i < 16; i++) {
            Keyed batch = Keyed.batch().offset(offset).at(1_000 + i).put("k" + i % 5, "value-" + i);
            if (i % 4 == 1) {
                batch.producer(7, 0, i).transactional();
            }
            log.appendMirrored(batch.build());
            offset++;
            if (i == 6 || i == 14) {
                log.appendMirrored(Keyed.marker(offset, 0, 1_000, 7, 0, i == 6 ? 0 : 1));
                offset++;
            }
        }
        log.advanceStart(2); // inside the first segment
        log.force();
        directory.checkpoint();
        return log;
    }

    private static void compact(PartitionLog log) {
        Compactor.Limits limits = new Compactor.Limits(1 << 12, 0.9, 512, 1 << 20);
        try {
            log.compact(
                    new Compactor(new PlainRewriter(), Pace.UNLIMITED, limits),
                    1_000_000,
                    () -> Long.MAX_VALUE,
                    Runnable::run);
        } catch (CleaningFailed | Pace.Stopped e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void kafka2118_kafka7401_everyPrefixOfTheReplacementRecovers() throws IOException {
        int cuts = 0;
        for (int changes = 0; ; changes++) {
            Path root = newRoot();
            SimDisk disk = new SimDisk(root, new Random(changes));
            LogDirectory directory = FileLogDirectory.open(disk, root, name -> OPTIONS, CLOCK);
            PartitionLog log = fill(directory);
            List<Row> before = CompactedView.committed(log.view());
            long end = log.view().endOffset();
            disk.cutAfter(changes);
            boolean cut = false;
            try {
                compact(log);
            } catch (SimDisk.PowerCut power) {
                cut = true;
                cuts++;
            }
            for (int seed = 0; seed < 2; seed++) {
                Path after = newRoot();
                disk.crash(after);
                check(after, before, end);
            }
            if (!cut) {
                assertThat(cuts).isGreaterThan(30);
                return;
            }
        }
    }

    @Test
    void repairingAReplacementMayBeCutShortAsWell() throws IOException {
        int repaired = 0;
        for (int changes = 20; changes < 60; changes += 3) {
            Path root = newRoot();
            SimDisk disk = new SimDisk(root, new Random(changes));
            LogDirectory directory = FileLogDirectory.open(disk, root, name -> OPTIONS, CLOCK);
            PartitionLog log = fill(directory);
            List<Row> before = CompactedView.committed(log.view());
            long end = log.view().endOffset();
            disk.cutAfter(changes);
            try {
                compact(log);
            } catch (SimDisk.PowerCut expected) {
                assertThat(expected).isNotNull();
            }
            Path found = newRoot();
            disk.crash(found);
            for (int more = 0; more < 14; more += 2) {
                Path copy = newRoot();
                SimDisk second = copyOf(found, copy, more);
                second.cutAfter(more);
                try {
                    FileLogDirectory.open(second, copy, name -> OPTIONS, CLOCK);
                } catch (SimDisk.PowerCut expected) {
                    repaired++;
                }
                Path after = newRoot();
                second.crash(after);
                check(after, before, end);
            }
        }
        assertThat(repaired).isPositive();
    }

    private static SimDisk copyOf(Path from, Path to, int seed) throws IOException {
        try (var files = Files.walk(from)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Path target = to.resolve(from.relativize(file));
                Files.createDirectories(target.getParent());
                Files.copy(file, target);
            }
        }
        return new SimDisk(to, new Random(seed));
    }

    private static void check(Path root, List<Row> before, long end) throws IOException {
        LogDirectory directory = FileLogDirectory.open(root, name -> OPTIONS, CLOCK);
        PartitionLog log = directory.get(NAME).orElseThrow();
        for (int twice = 0; twice < 2; twice++) {
            List<Row> rows = CompactedView.committed(log.view());
            assertThat(log.view().endOffset()).isEqualTo(end);
            assertThat(log.view().startOffset()).isEqualTo(2);
            assertThat(before).containsAll(rows);
            assertThat(CompactedView.table(rows)).isEqualTo(CompactedView.table(before));
            compact(log);
        }
        try (var files = Files.list(root.resolve(NAME.toString()))) {
            assertThat(files.map(Path::toString))
                    .noneMatch(name -> name.endsWith(".swap") || name.endsWith(".cleaned"));
        }
        directory.close();
    }
}
