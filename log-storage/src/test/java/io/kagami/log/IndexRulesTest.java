package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static io.kagami.log.TestBatches.message;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.FaultyDisk.Op;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Keyed;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.PlainRewriter;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Index files and the names of files: what other logs got wrong, each rule under the number of its bug report. */
class IndexRulesTest {
    private static final LogName NAME = new LogName("t", 0);

    @TempDir
    Path root;

    private long nowMs = 1_000;
    private LogOptions options = new LogOptions(700, Long.MAX_VALUE, 0, 4096);
    private FileLogDirectory directory;

    private PartitionLog open(Disk disk) {
        InstantSource clock = () -> Instant.ofEpochMilli(nowMs);
        directory = FileLogDirectory.open(disk, root, name -> options, clock);
        return directory.get(NAME).orElseGet(() -> directory.create(NAME, new UUID(1, 2), options));
    }

    @AfterEach
    void release() {
        if (directory != null) {
            CrashTest.abandon(directory);
        }
    }

    private Path file(long base, String ending) {
        return root.resolve(NAME.toString()).resolve(String.format(Locale.ROOT, "%020d%s", base, ending));
    }

    private List<String> names() throws IOException {
        try (Stream<Path> files = Files.list(root.resolve(NAME.toString()))) {
            return files.map(each -> each.getFileName().toString()).sorted().toList();
        }
    }

    private static ByteBuffer two(long offset) {
        return batch().offset(offset)
                .epoch(1)
                .records(2)
                .valueBytes(100)
                .timestamps(1_000 + offset, 1_000 + offset)
                .build();
    }

    private static void append(PartitionLog log, int batches) {
        for (int i = 0; i < batches; i++) {
            log.appendMirrored(two(log.view().endOffset()));
        }
    }

    private void compact(PartitionLog log) {
        Compactor.Limits limits = new Compactor.Limits(1 << 16, 0.9, 4096, 1 << 20);
        try {
            log.compact(
                    new Compactor(new PlainRewriter(), Pace.UNLIMITED, limits),
                    nowMs,
                    () -> Long.MAX_VALUE,
                    Runnable::run);
        } catch (CleaningFailed | Pace.Stopped e) {
            throw new AssertionError(e);
        }
    }

    /** Indexes as they are must be those that recovery makes of the batches. */
    private void assertThatIndexesAreRight() throws IOException {
        directory.close();
        List<byte[]> kept = new ArrayList<>();
        List<Path> indexes = new ArrayList<>();
        for (String name : names()) {
            if (name.endsWith(".index") || name.endsWith(".timeindex")) {
                assertThat(file(0, ".log").resolveSibling(name.substring(0, 20) + ".log"))
                        .exists();
                indexes.add(root.resolve(NAME.toString()).resolve(name));
                kept.add(Files.readAllBytes(indexes.get(indexes.size() - 1)));
                Files.delete(indexes.get(indexes.size() - 1));
            }
        }
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        open(new FileDisk());
        directory.close();
        for (int i = 0; i < kept.size(); i++) {
            assertThat(Files.readAllBytes(indexes.get(i)))
                    .as("%s", indexes.get(i))
                    .isEqualTo(kept.get(i));
        }
    }

    @Test
    void kafka4734_anIndexHasTheSizeOfItsEntriesOnceItsSegmentIsRolled() throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, 7);
        for (long base : new long[] {0, 4, 8}) {
            assertThat(file(base, ".index")).hasSize(8);
            assertThat(file(base, ".timeindex")).hasSize(12);
        }
        append(log, 1);
        assertThat(Files.size(file(12, ".index"))).isGreaterThan(8);
        assertThatIndexesAreRight();
        assertThat(file(12, ".index")).hasSize(8);
    }

    @Test
    void kafka5752_whatIsRemovedOrReplacedIsNotWrittenUnderItsOldName() throws IOException {
        options = new LogOptions(300, Long.MAX_VALUE, 0, 4096)
                .with(new LogOptions.Compaction(true, 1_000, 0, Long.MAX_VALUE, 0.01))
                .with(new LogOptions.Retention(false, -1, -1, 60_000));
        PartitionLog log = open(new FileDisk());
        for (int i = 0; i < 40; i++) {
            log.append(Keyed.batch().at(nowMs).put("k" + i % 7, "v".repeat(40)).build(), 1);
        }
        LogView old = log.view();
        compact(log);
        List<String> compacted = names();
        assertThat(compacted).anyMatch(name -> name.endsWith(".index.deleted"));
        LogSlice held = old.read(0, Long.MAX_VALUE, 10, true).orElseThrow(); // of a replaced segment, still open
        log.force();
        directory.checkpoint();
        log.truncateTo(30);
        log.truncateTo(12); // into what compaction wrote
        for (int i = 0; i < 10; i++) {
            log.append(Keyed.batch().at(nowMs + i).put("n" + i, "v".repeat(40)).build(), 1);
        }
        log.force();
        log.advanceStart(14);
        held.close();
        log.force();
        nowMs += 70_000;
        directory.removeDeleted();
        assertThat(names()).noneMatch(name -> name.endsWith(".deleted") || name.endsWith(".cleaned"));
        List<Long> offsets = LogModel.offsets(log.view());
        assertThatIndexesAreRight();
        assertThat(LogModel.offsets(open(new FileDisk()).view())).isEqualTo(offsets);
    }

    @Test
    void kafka15481_filesOfARemovedSegmentNeverTakeThoseOfANewOneWithThem() throws IOException {
        options = options.with(new LogOptions.Retention(false, -1, -1, 1_000));
        PartitionLog log = open(new FileDisk());
        append(log, 7);
        log.advanceStart(9); // 0 and 4 have other names and wait for their end
        assertThat(names()).contains("00000000000000000000.log.deleted").doesNotContain("00000000000000000000.log");
        log.restartAt(0);
        append(log, 7);
        nowMs += 500;
        log.advanceStart(5); // another 0, while the old one still waits
        log.truncateTo(6);
        append(log, 3);
        nowMs += 600;
        directory.removeDeleted(); // the first two are due
        List<Long> offsets = LogModel.offsets(log.view());
        assertThat(offsets).containsExactly(4L, 6L, 8L, 10L);
        log.restartAt(0);
        append(log, 7);
        nowMs += 60_000;
        directory.removeDeleted();
        assertThat(names()).noneMatch(name -> name.endsWith(".deleted"));
        assertThat(LogModel.offsets(log.view())).containsExactly(0L, 2L, 4L, 6L, 8L, 10L, 12L);
        assertThatIndexesAreRight();
    }

    @Test
    void kafka4451_aSegmentEndsBeforeAnOffsetThatItsIndexCannotHold() throws IOException {
        options = new LogOptions(1 << 20, Long.MAX_VALUE, 0, 4096);
        for (int over = -2; over <= 2; over++) {
            for (ByteBuffer far : List.of(
                    batch(Integer.MAX_VALUE + (long) over, 1, 1),
                    batch().offset(5)
                            .lastOffsetDelta(Integer.MAX_VALUE - 5 + Math.min(0, over))
                            .build(),
                    message(1, Integer.MAX_VALUE + (long) over, 5_000, 1, 30))) {
                PartitionLog log = open(new FileDisk());
                log.restartAt(0);
                log.appendMirrored(two(0));
                log.appendMirrored(two(2));
                long end = io.kagami.log.core.BatchHeader.lastOffset(far, 0) + 1;
                log.appendMirrored(far);
                log.appendMirrored(two(end));
                long rolled =
                        names().stream().filter(name -> name.endsWith(".log")).count();
                assertThat(rolled > 1).as("last offset %d", end - 1).isEqualTo(end + 1 > Integer.MAX_VALUE);
                try (LogSlice slice =
                        log.view().read(end - 1, Long.MAX_VALUE, 10, true).orElseThrow()) {
                    assertThat(slice.firstBatchOffset()).isEqualTo(far.getLong(0));
                }
                List<Long> offsets = LogModel.offsets(log.view());
                assertThat(offsets).containsExactly(0L, 2L, far.getLong(0), end);
                assertThatIndexesAreRight();
                assertThat(LogModel.offsets(open(new FileDisk()).view())).isEqualTo(offsets);
                directory.close();
            }
        }
    }

    @Test
    void kafka2024_segmentsWhoseOffsetsLieFarApartAreNotCompactedIntoOne() throws IOException {
        options = new LogOptions(290, Long.MAX_VALUE, 0, 4096);
        PartitionLog log = open(new FileDisk());
        long step = 1L << 29;
        for (long i = 0; i < 9; i++) {
            log.appendMirrored(Keyed.batch()
                    .offset(i * step)
                    .at(nowMs)
                    .put("k" + i, "v".repeat(60))
                    .build());
            log.appendMirrored(Keyed.batch()
                    .offset(i * step + 1)
                    .at(nowMs)
                    .put("same", "v".repeat(60))
                    .build());
        }
        log.appendMirrored(Keyed.batch()
                .offset(9 * step)
                .at(nowMs)
                .put("last", "v".repeat(200))
                .build());
        options = new LogOptions(1 << 20, Long.MAX_VALUE, 0, 4096)
                .with(new LogOptions.Compaction(true, 1_000, 0, Long.MAX_VALUE, 0.01));
        log.reconfigure(options); // bytes do not keep the segments apart
        compact(log);
        List<Long> offsets = LogModel.offsets(log.view());
        assertThat(offsets).hasSizeLessThan(19).contains(0L, step, 8 * step + 1);
        assertThat(names().stream().filter(name -> name.endsWith(".log")).count())
                .isBetween(3L, 7L);
        for (long offset : offsets) {
            try (LogSlice slice =
                    log.view().read(offset, Long.MAX_VALUE, 10, true).orElseThrow()) {
                assertThat(slice.firstBatchOffset()).isEqualTo(offset);
            }
        }
        assertThatIndexesAreRight();
        assertThat(LogModel.offsets(open(new FileDisk()).view())).isEqualTo(offsets);
    }

    /** As a broker with KAFKA-4451 left it: a batch that no index entry of its segment can name. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void kafka6264_aSegmentWithOffsetsBeyondItsIndexIsRefusedByNameAndNotCut(boolean last) throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, last ? 2 : 4);
        directory.close();
        long far = 1L << 32;
        if (!last) {
            for (String kind : List.of(".log", ".index", ".timeindex")) {
                Files.move(file(4, kind), file(far + 4, kind));
            }
            byte[] second = Files.readAllBytes(file(far + 4, ".log"));
            ByteBuffer.wrap(second).putLong(0, far + 4).putLong(second.length / 2, far + 6);
            Files.write(file(far + 4, ".log"), second);
        }
        Files.write(file(0, ".log"), two(far).array(), StandardOpenOption.APPEND);
        Files.writeString(root.resolve(OffsetFiles.RECOVERY_POINTS), "0\n1\nt 0 " + (far + 2) + "\n");
        long size = Files.size(file(0, ".log"));
        for (int start = 0; start < 2; start++) {
            log = open(new FileDisk());
            assertThat(log.offline()).isTrue();
            PartitionLog refused = log;
            assertThatThrownBy(() -> refused.appendMirrored(two(far + 8)))
                    .isInstanceOf(StorageFault.class)
                    .hasMessageContaining(file(0, ".log").toString())
                    .hasMessageContaining("base offset " + far)
                    .hasMessageContaining("more than 2^31-1 offsets above");
            directory.close();
            assertThat(file(0, ".log")).hasSize(size);
        }
    }

    @Test
    void kafka7866_anErrorInTheTransactionIndexLeavesNoOffsetTwice() throws IOException {
        FaultyDisk disk = new FaultyDisk();
        PartitionLog log = open(disk);
        log.appendMirrored(batch().offset(0).producer(9, 0, 0).transactional().build());
        ByteBuffer marker =
                batch().offset(1).producer(9, 0, -1).transactional().control(0).build();
        disk.broken = (op, path) -> path.toString().endsWith(".txnindex") && (op == Op.OPEN || op == Op.WRITE);
        assertThatThrownBy(() -> log.appendMirrored(marker.duplicate())).isInstanceOf(StorageFault.class);
        assertThat(log.view().endOffset()).isEqualTo(1);
        assertThat(log.view().lastStableOffset()).isZero();
        assertThatThrownBy(() -> log.appendMirrored(marker.duplicate())).isInstanceOf(StorageFault.class);
        disk.broken = (op, path) -> false;
        log.retire();
        directory.heal(0);
        PartitionLog again = directory.get(NAME).orElseThrow();
        if (again.view().endOffset() == 1) {
            again.appendMirrored(marker.duplicate());
        }
        again.appendMirrored(two(2));
        assertThat(LogModel.offsets(again.view())).containsExactly(0L, 1L, 2L);
        assertThat(again.view().lastStableOffset()).isEqualTo(4);
        assertThat(again.view().abortedIn(0, 4)).containsExactly(new AbortedTxn(9, 0, 1));
    }
}
