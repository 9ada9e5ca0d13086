package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.ProducerFault;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.FileNames;
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
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a log knows of its producers, over rolls, cuts and every kind of start. */
class ProducerStateTest {
    private static final LogName NAME = new LogName("orders", 1);
    private static final LogOptions OPTIONS = new LogOptions(400, Long.MAX_VALUE, 0, 1 << 16);

    @TempDir
    Path root;

    private FileLogDirectory directory;
    private SegmentedLog log;

    @AfterEach
    void close() {
        directory.close();
    }

    private void open() {
        directory = FileLogDirectory.open(
                new FileDisk(), root, name -> OPTIONS, InstantSource.fixed(Instant.ofEpochMilli(2_000)));
        log = (SegmentedLog) directory.get(NAME).orElseGet(() -> directory.create(NAME, new UUID(3, 4), OPTIONS));
    }

    private void reopen() {
        directory.close();
        open();
    }

    private void killed() throws IOException {
        directory.close();
        Files.deleteIfExists(root.resolve(FileLogDirectory.CLEAN));
        open();
    }

    private Path file(long offset) {
        return FileNames.of(root.resolve(NAME.toString()), offset, FileNames.SNAPSHOT);
    }

    private List<Long> snapshots() throws IOException {
        try (Stream<Path> files = Files.list(root.resolve(NAME.toString()))) {
            return files.flatMap(file -> FileNames.baseOffset(file, FileNames.SNAPSHOT).stream()
                            .boxed())
                    .sorted()
                    .toList();
        }
    }

    private Appended send(long producer, int epoch, int sequence) {
        return log.append(batch().producer(producer, epoch, sequence).records(2).build(), 0);
    }

    /** Sequences 0, 2, 4, ... of one producer, two records each, until the log ends at the offset. */
    private void fill(long end) {
        for (long at = log.view().endOffset(); at < end; at += 2) {
            send(1, 0, (int) at);
        }
    }

    @Test
    void aRetryIsAnsweredWithTheFirstOffsetAndWritesNothing() {
        open();
        fill(20);
        long size = log.view().sizeInBytes();
        Appended again = send(1, 0, 14);
        assertThat(again).isEqualTo(new Appended(14, 20, 0, true, 1_000));
        assertThat(log.view().sizeInBytes()).isEqualTo(size);
        assertThatThrownBy(() -> send(1, 0, 8)).isInstanceOf(ProducerFault.class);
        assertThatThrownBy(() -> send(1, 0, 22)).isInstanceOf(ProducerFault.class);
        assertThat(log.view().endOffset()).isEqualTo(20);
        assertThat(log.offline()).isFalse();
        assertThat(send(1, 0, 20).baseOffset()).isEqualTo(20);
    }

    @Test
    void theLastFiveBatchesAreKnownAfterEveryKindOfStart() throws IOException {
        open();
        fill(30);
        for (int start = 0; start < 3; start++) {
            for (int sequence = 20; sequence < 30; sequence += 2) {
                assertThat(send(1, 0, sequence).baseOffset()).isEqualTo(sequence);
            }
            assertThatThrownBy(() -> send(1, 0, 18)).isInstanceOf(ProducerFault.class);
            if (start == 0) {
                reopen();
            } else {
                killed();
            }
        }
    }

    @Test
    void snapshotsAreTakenAtEachRollAndAtACleanStopAndGoWithTheirSegments() throws IOException {
        open();
        fill(20);
        log.force();
        List<Long> bases = new ArrayList<>(snapshots());
        assertThat(bases).hasSizeGreaterThan(1).allMatch(base -> base < 20);
        directory.close();
        bases.add(20L);
        assertThat(snapshots()).isEqualTo(bases);
        open();
        log.advanceStart(19);
        assertThat(snapshots()).as("the newest is never deleted: KAFKA-5829").contains(20L);
        assertThat(snapshots().get(0)).isGreaterThanOrEqualTo(bases.get(0));
        fill(60);
        log.force();
        log.advanceStart(59);
        assertThat(snapshots()).hasSize(1);
        assertThat(send(1, 0, 56)).matches(Appended::duplicate);
    }

    @Test
    void aCleanStartReadsOnlyWhatIsBehindTheSnapshot() throws IOException {
        open();
        fill(40);
        directory.close();
        // the header of a batch in the middle of the first segment: nobody looks there
        Path first = FileNames.of(root.resolve(NAME.toString()), 0, FileNames.LOG);
        byte[] bytes = Files.readAllBytes(first);
        int second = BatchHeader.sizeInBytes(ByteBuffer.wrap(bytes), 0);
        assertThat(bytes.length).isGreaterThan(3 * second);
        bytes[second + 16] = 9;
        Files.write(first, bytes);
        open();
        assertThat(log.offline()).isFalse();
        assertThat(send(1, 0, 36)).matches(Appended::duplicate);
    }

    @Test
    void kafka5829_anUnreadableSnapshotGivesWayToAnOlderOneOrToTheBatches() throws IOException {
        open();
        fill(40);
        log.append(batch().producer(2, 3, 0).transactional().build(), 0);
        ProducerTable before = log.producers();
        for (int damaged = 1; damaged < 40; damaged++) {
            directory.close();
            List<Long> all = snapshots();
            for (int i = 0; i < Math.min(damaged, all.size()); i++) {
                Path file = file(all.get(all.size() - 1 - i));
                Files.write(file, damaged % 2 == 0 ? new byte[0] : new byte[] {0, 1, 2});
            }
            open();
            assertThat(log.producers()).isEqualTo(before);
            if (damaged >= all.size()) {
                return;
            }
        }
        throw new AssertionError("there were always more snapshots");
    }

    @Test
    void kafka15312_anEmptySnapshotFileIsNotBelieved() throws IOException {
        open();
        fill(10);
        directory.close();
        Files.write(file(10), new byte[0]);
        open();
        assertThat(send(1, 0, 8)).matches(Appended::duplicate);
    }

    @Test
    void snapshotsAboveTheEndOrWithoutSegmentAreRemoved() throws IOException {
        open();
        fill(20);
        directory.close();
        byte[] newest = Files.readAllBytes(file(20));
        Files.write(file(5), newest);
        Files.write(file(7_000), newest);
        open();
        assertThat(snapshots()).contains(20L).doesNotContain(5L, 7_000L);
        fill(30);
        log.force();
        log.truncateTo(20);
        assertThat(snapshots()).allMatch(offset -> offset <= 20);
        send(1, 0, 20);
    }

    @Test
    void aTruncationForgetsWhatWasCutAndKnowsWhatWasBefore() throws IOException {
        open();
        fill(40);
        log.force();
        log.truncateTo(25); // within a batch
        assertThat(log.view().endOffset()).isEqualTo(24);
        assertThat(send(1, 0, 16)).matches(Appended::duplicate);
        assertThatThrownBy(() -> send(1, 0, 26)).isInstanceOf(ProducerFault.class);
        log.append(batch().producer(9, 0, 0).transactional().build(), 0);
        log.truncateTo(24);
        assertThat(log.view().lastStableOffset()).isEqualTo(24);
        log.restartAt(3);
        assertThat(log.producers().entries()).isEmpty();
        assertThat(snapshots()).isEmpty();
        assertThat(log.view().maxProducerId()).isEqualTo(9);
        assertThat(send(1, 0, 77).baseOffset()).isEqualTo(3);
    }

    @Test
    void retentionDoesNotForgetProducersNorOpenTransactions() throws IOException {
        open();
        log.append(batch().producer(2, 3, 0).transactional().build(), 0);
        for (int i = 1; i < 40; i++) {
            log.append(batch().producer(3, 0, i).build(), 0);
        }
        log.advanceStart(35);
        for (int start = 0; start < 3; start++) {
            assertThat(log.view().lastStableOffset()).isEqualTo(35);
            assertThatThrownBy(() -> log.append(batch().producer(2, 2, 1).build(), 0))
                    .isInstanceOf(ProducerFault.class);
            if (start == 0) {
                reopen();
            } else {
                killed();
            }
        }
        log.append(
                batch().producer(2, 3, -1)
                        .transactional()
                        .control(ControlRecord.ABORT)
                        .build(),
                0);
        assertThat(log.view().lastStableOffset()).isEqualTo(41);
        assertThat(log.view().abortedIn(35, 41)).containsExactly(new AbortedTxn(2, 0, 40));
    }

    @Test
    void idleProducersAreForgottenAndAlsoAtAStart() {
        open();
        send(1, 0, 0);
        log.append(batch().producer(2, 0, 0).transactional().build(), 0);
        log.reconfigure(OPTIONS.withProducerExpiryMs(1_500));
        assertThat(log.expireProducers(2_499)).isZero();
        assertThat(log.expireProducers(2_500)).isEqualTo(1);
        assertThat(send(1, 0, 55).duplicate()).isFalse();
        assertThatThrownBy(() -> log.append(batch().producer(2, 0, 2).build(), 0))
                .isInstanceOf(ProducerFault.class);
    }

    @Test
    void aMirrorLearnsWhatItsSourceTookAndAResetClearsIt() {
        open();
        log.appendMirrored(batch().offset(5).producer(1, 4, 10).transactional().build());
        log.appendMirrored(batch().offset(9).producer(1, 2, 99).build());
        log.append(batch().control(ControlRecord.MIRROR_PID_RESET).build(), 7);
        assertThat(log.view().lastStableOffset()).isEqualTo(11);
        reopen();
        assertThat(log.producers().entries()).isEmpty();
        assertThat(log.view().lastStableOffset()).isEqualTo(11);
        assertThat(send(1, 0, 3).duplicate()).isFalse();
    }

    @Test
    void batchesOfOneAppendCountOneAfterAnotherAndAllOrNone() {
        open();
        ByteBuffer good = TestBatches.join(
                batch().producer(1, 0, 0).build(), batch().producer(1, 0, 1).build());
        log.append(TestBatches.join(good), 0);
        assertThat(log.append(TestBatches.join(good), 0)).isEqualTo(new Appended(0, 2, 0, true, 1_000));
        ByteBuffer half = TestBatches.join(
                batch().producer(1, 0, 1).build(), batch().producer(1, 0, 2).build());
        assertThatThrownBy(() -> log.append(half, 0)).isInstanceOf(ProducerFault.class);
        ByteBuffer gap = TestBatches.join(
                batch().producer(1, 0, 2).build(), batch().producer(1, 0, 4).build());
        assertThatThrownBy(() -> log.append(gap, 0)).isInstanceOf(ProducerFault.class);
        assertThat(log.view().endOffset()).isEqualTo(2);
    }

    /** Seeds of a disk that forgets what was not forced; the state found is that of the batches found. */
    @Test
    void kafka9892_afterAPowerCutTheStateIsThatOfTheBatchesThatAreLeft() throws IOException {
        open();
        for (int seed = 0; seed < 60; seed++) {
            Random random = new Random(seed);
            Path before = Files.createDirectories(root.resolve("cut" + seed + "a"));
            Path after = Files.createDirectories(root.resolve("cut" + seed + "b"));
            SimDisk disk = new SimDisk(before, random);
            FileLogDirectory cut = FileLogDirectory.open(disk, before, name -> OPTIONS, InstantSource.system());
            disk.cutAfter(40 + random.nextInt(200));
            try {
                PartitionLog victim = cut.create(NAME, new UUID(3, 4), OPTIONS);
                for (int i = 0; i < 60; i++) {
                    int sequence = i;
                    long now = System.currentTimeMillis();
                    victim.append(
                            batch().producer(1, 0, sequence)
                                    .timestamps(now, now)
                                    .build(),
                            0);
                    if (random.nextInt(8) == 0) {
                        cut.checkpoint();
                    }
                    if (random.nextInt(20) == 0 && i > 0) {
                        victim.truncateTo(i);
                        i--;
                    }
                }
            } catch (SimDisk.PowerCut expected) {
                // the process is gone
            }
            disk.crash(after);
            CrashTest.abandon(cut);
            FileLogDirectory found =
                    FileLogDirectory.open(new FileDisk(), after, name -> OPTIONS, InstantSource.system());
            if (found.get(NAME).isPresent()) {
                SegmentedLog left = (SegmentedLog) found.get(NAME).get();
                assertThat(left.producers()).as("seed %d", seed).isEqualTo(fold(left));
            }
            found.close();
        }
    }

    /** The naive state: every batch of the log from its start, one after another. */
    static ProducerTable fold(SegmentedLog log) throws IOException {
        ProducerTable table = new ProducerTable();
        LogView view = log.view();
        long at = view.startOffset();
        while (at < view.endOffset()) {
            var slice = view.read(at, Long.MAX_VALUE, 1 << 20, true);
            if (slice.isEmpty()) {
                break;
            }
            for (LogModel.Entry entry : LogModel.entries(slice.get())) {
                table.onBatch(
                        entry.bytes(),
                        0,
                        ControlRecord.of(entry.bytes(), 0, entry.bytes().limit()));
                at = entry.last() + 1;
            }
            slice.get().close();
        }
        return table;
    }
}
