package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.FaultyDisk.Op;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.ProducerSnapshot;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Truncation, leader epochs, limits of what is read and the state of producers, each rule under the number of its bug report. */
class TruncationRulesTest {
    private static final LogName NAME = new LogName("t", 0);
    private static final LogOptions OPTIONS = new LogOptions(700, Long.MAX_VALUE, 0, 4096);

    private interface Body {
        void run(Path root) throws IOException;
    }

    /** A property has no directory of its own from JUnit. */
    private static void inDirectory(Body body) throws IOException {
        Path root = Files.createTempDirectory("truncation");
        try {
            body.run(root);
        } finally {
            LogModelTest.deleteAll(root);
        }
    }

    private static FileLogDirectory open(Disk disk, Path root) {
        FileLogDirectory directory =
                FileLogDirectory.open(disk, root, name -> OPTIONS, InstantSource.fixed(Instant.ofEpochMilli(0)));
        if (directory.get(NAME).isEmpty()) {
            directory.create(NAME, new UUID(1, 2), OPTIONS);
        }
        return directory;
    }

    private static PartitionLog log(FileLogDirectory directory) {
        return directory.get(NAME).orElseThrow();
    }

    private static ByteBuffer two(long offset, int epoch) {
        return batch().offset(offset).epoch(epoch).records(2).valueBytes(100).build();
    }

    @Test
    void kafka10706_aTruncationAtTheEndForgetsEpochsThatBeginThere() throws IOException {
        inDirectory(root -> {
            FileLogDirectory directory = open(new FileDisk(), root);
            log(directory).appendMirrored(two(0, 3));
            directory.close();
            Files.writeString(root.resolve(NAME.toString()).resolve("leader-epoch-checkpoint"), "0\n2\n3 0\n8 2\n");
            directory = open(new FileDisk(), root);
            assertThat(log(directory).view().lastEpoch())
                    .as("without a batch yet")
                    .isEqualTo(8);
            log(directory).truncateTo(2);
            assertThat(log(directory).view().endOffset()).isEqualTo(2);
            assertThat(log(directory).view().lastEpoch()).isEqualTo(3);
            assertThat(log(directory).view().endOfEpoch(8)).isEmpty();
            log(directory).appendMirrored(two(2, 5)); // what the source has in truth
            assertThat(log(directory).view().endOfEpoch(3)).contains(new LogView.EpochEnd(3, 2));
            directory.close();
        });
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void kafka10432_epochZeroIsFoundAgain(boolean clean) throws IOException {
        inDirectory(root -> {
            FileLogDirectory directory = open(new FileDisk(), root);
            for (int i = 0; i < 6; i++) {
                log(directory).appendMirrored(two(2L * i, i / 4));
            }
            directory.close();
            Files.delete(root.resolve(NAME.toString()).resolve("leader-epoch-checkpoint"));
            if (!clean) {
                Files.delete(root.resolve(FileLogDirectory.CLEAN));
            }
            directory = open(new FileDisk(), root);
            for (long cut : new long[] {12, 9, 5}) {
                log(directory).truncateTo(cut);
                LogView view = log(directory).view();
                assertThat(view.startOfEpoch(0)).hasValue(0);
                assertThat(view.endOfEpoch(0)).contains(new LogView.EpochEnd(0, Math.min(8, view.endOffset())));
                assertThat(view.epochAt(0)).isZero();
            }
            assertThat(log(directory).view().lastEpoch()).isZero();
            directory.close();
        });
    }

    @Test
    void kafka15510_anAppendOfNothingChangesNoEpoch() throws IOException {
        inDirectory(root -> {
            FileLogDirectory directory = open(new FileDisk(), root);
            PartitionLog log = log(directory);
            log.appendMirrored(two(0, 4));
            log.appendMirrored(ByteBuffer.allocate(0));
            assertThat(log.view().lastEpoch()).isEqualTo(4);
            assertThat(log.view().endOffset()).isEqualTo(2);
            log.advanceStart(2); // nor does a log that holds nothing any more
            log.appendMirrored(ByteBuffer.allocate(0));
            assertThat(log.view().lastEpoch()).isEqualTo(4);
            directory.close();
        });
    }

    @Property(tries = 12, shrinking = ShrinkingMode.OFF)
    void kafka9491_kafka3978_startStableOffsetAndEndStayInOrder(@ForAll long seed) throws IOException {
        inDirectory(root -> {
            Random random = new Random(seed);
            FileLogDirectory directory = open(new FileDisk(), root);
            for (int i = 0; i < 60; i++) {
                PartitionLog log = log(directory);
                long end = log.view().endOffset();
                long start = log.view().startOffset();
                switch (random.nextInt(10)) {
                    case 0 -> log.truncateTo(Math.max(0, end - random.nextInt(12)));
                    case 1 -> log.advanceStart(start + random.nextLong(end - start + 1));
                    case 2 -> log.restartAt(random.nextInt(3) == 0 ? 0 : end + random.nextInt(9));
                    case 3 -> {
                        directory.close();
                        if (random.nextBoolean()) {
                            Files.delete(root.resolve(FileLogDirectory.CLEAN));
                        }
                        directory = open(new FileDisk(), root);
                    }
                    case 4, 5 -> log.appendMirrored(marker(end + random.nextInt(2), random));
                    default ->
                        log.appendMirrored(batch().offset(end + random.nextInt(2))
                                .records(1 + random.nextInt(3))
                                .producer(random.nextInt(3), 0, i * 3)
                                .transactional()
                                .build());
                }
                LogView view = log(directory).view();
                assertThat(view.startOffset()).isNotNegative().isLessThanOrEqualTo(view.lastStableOffset());
                assertThat(view.lastStableOffset()).isLessThanOrEqualTo(view.endOffset());
                assertThat(((SegmentedLog) log(directory)).recoveryPoint())
                        .isNotNegative()
                        .isLessThanOrEqualTo(view.endOffset());
            }
            directory.close();
        });
    }

    private static ByteBuffer marker(long offset, Random random) {
        return batch().offset(offset)
                .producer(random.nextInt(3), 0, -1)
                .transactional()
                .control(random.nextInt(2))
                .build();
    }

    /** Wherever the disk fails, what is known of the producers is what the batches say, in memory and in every snapshot. */
    @Test
    void kafka12153_kafka6683_producersAreThoseOfTheBatchesWhereverTheDiskFails() throws IOException {
        int failures = 0;
        boolean more = true;
        for (int failing = 1; more; failing += failing < 8 ? 1 : 3) {
            AtomicInteger left = new AtomicInteger(failing);
            AtomicInteger broke = new AtomicInteger();
            inDirectory(root -> {
                FaultyDisk disk = new FaultyDisk();
                FileLogDirectory directory = open(disk, root);
                disk.broken = (op, path) -> (op == Op.WRITE || op == Op.OPEN || op == Op.FORCE || op == Op.RENAME)
                        && left.decrementAndGet() == 0;
                List<ByteBuffer> accepted = new ArrayList<>();
                boolean failed = fill(log(directory), accepted);
                disk.broken = (op, path) -> false;
                if (failed) {
                    broke.incrementAndGet();
                    log(directory).retire();
                    directory.heal(0);
                }
                check(directory, root, accepted);
                CrashTest.abandon(directory);
            });
            failures += broke.get();
            more = broke.get() > 0;
        }
        assertThat(failures).isGreaterThan(15);
    }

    /** Idempotent batches and a transaction here and there; whether the disk failed. */
    private static boolean fill(PartitionLog log, List<ByteBuffer> accepted) {
        int[] sequence = new int[2];
        try {
            for (int i = 0; i < 16; i++) {
                int producer = i % 2;
                ByteBuffer next = i % 8 == 7
                        ? batch().producer(1, 0, -1).transactional().control(0).build()
                        : ofProducer(producer, sequence[producer]);
                log.append(next, 1);
                accepted.add(next.flip());
                sequence[producer] += i % 8 == 7 ? 0 : 2;
                if (i % 5 == 4) {
                    log.force();
                }
            }
            return false;
        } catch (StorageFault fault) {
            assertThat(log.offline()).isTrue();
            return true;
        }
    }

    private static ByteBuffer ofProducer(int producer, int sequence) {
        TestBatches.Builder next = batch().records(2)
                .valueBytes(100)
                .producer(producer, 0, sequence)
                .timestamps(1_000, 1_000);
        return (producer == 1 ? next.transactional() : next).build();
    }

    private static void check(FileLogDirectory directory, Path root, List<ByteBuffer> accepted) throws IOException {
        PartitionLog log = log(directory);
        assertThat(log.offline()).isFalse();
        List<ByteBuffer> all = CompactedView.batches(log.view());
        assertThat(all.size()).isBetween(accepted.size(), accepted.size() + 1);
        assertThat(all.subList(0, accepted.size())).isEqualTo(accepted);
        assertThat(((SegmentedLog) log).producers().entries())
                .containsExactlyInAnyOrderElementsOf(table(all, Long.MAX_VALUE).entries());
        log.force();
        try (Stream<Path> files = Files.list(root.resolve(NAME.toString()))) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".snapshot")).toList()) {
                long offset = Long.parseLong(file.getFileName().toString().substring(0, 20));
                ProducerTable read = ProducerSnapshot.read(ByteBuffer.wrap(Files.readAllBytes(file)), offset)
                        .table();
                assertThat(read.entries())
                        .as("%s", file)
                        .containsExactlyInAnyOrderElementsOf(table(all, offset).entries());
            }
        } catch (ProducerSnapshot.Unreadable e) {
            throw new AssertionError(e);
        }
        for (ByteBuffer each : accepted.subList(Math.max(0, accepted.size() - 5), accepted.size())) {
            if (!BatchHeader.control(each, 0)) {
                Appended again = log.append(TestBatches.join(each), 1);
                assertThat(again.baseOffset()).isEqualTo(BatchHeader.baseOffset(each, 0));
            }
        }
        assertThat(CompactedView.batches(log.view())).isEqualTo(all);
    }

    private static ProducerTable table(List<ByteBuffer> batches, long end) {
        ProducerTable table = new ProducerTable();
        for (ByteBuffer each : batches) {
            if (BatchHeader.lastOffset(each, 0) < end) {
                table.onBatch(each, 0, ControlRecord.of(each, 0, each.limit()));
            }
        }
        return table;
    }
}
