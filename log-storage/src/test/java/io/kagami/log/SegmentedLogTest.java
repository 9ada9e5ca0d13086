package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static io.kagami.log.TestBatches.join;
import static io.kagami.log.TestBatches.message;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SegmentedLogTest {
    private static final LogName NAME = new LogName("a.topic-with-dashes", 7);
    private static final UUID ID = UUID.fromString("ac3c093b-5f13-4458-a20a-2d748d31055f");

    @TempDir
    Path root;

    private LogOptions options = new LogOptions(1 << 20, Long.MAX_VALUE, 0, 1 << 16);
    private LogDirectory directory;

    private PartitionLog fresh() {
        reopen();
        return directory.create(NAME, ID, options);
    }

    private PartitionLog reopen() {
        directory = FileLogDirectory.open(root, name -> options, InstantSource.fixed(Instant.ofEpochMilli(0)));
        return directory.get(NAME).orElse(null);
    }

    /** As if the process had been killed: files as they are, no mark. */
    private PartitionLog killed() throws IOException {
        directory.close();
        Files.deleteIfExists(root.resolve(FileLogDirectory.CLEAN));
        return reopen();
    }

    private Path file(long base, String suffix) {
        return root.resolve(NAME.toString()).resolve(String.format(java.util.Locale.ROOT, "%020d%s", base, suffix));
    }

    private static List<Long> offsets(LogView view) throws IOException {
        List<Long> offsets = new ArrayList<>();
        long at = view.startOffset();
        while (at < view.endOffset()) {
            try (LogSlice slice = view.read(at, Long.MAX_VALUE, 1 << 20, true).orElseThrow()) {
                for (LogModel.Entry entry : LogModel.entries(slice)) {
                    offsets.add(entry.base());
                    at = entry.last() + 1;
                }
            }
        }
        return offsets;
    }

    @Test
    void kafka4451_rollsWhenARelativeOffsetWouldNotFit() throws IOException {
        PartitionLog log = fresh();
        long far = (1L << 31) + 5;
        log.appendMirrored(join(batch(0, 0, 1), batch(far - 6, 0, 1), batch(far, 0, 1), batch(3 * far, 0, 2)));
        assertThat(file(0, ".log")).exists();
        assertThat(file(far - 5, ".log")).exists();
        assertThat(file(3 * far, ".log")).exists();
        assertThat(offsets(log.view())).containsExactly(0L, far - 6, far, 3 * far);
        log = killed();
        assertThat(offsets(log.view())).containsExactly(0L, far - 6, far, 3 * far);
        directory.close();
    }

    @Test
    void rollsBySizeAndKeepsALargerBatchAlone() {
        options = new LogOptions(500, Long.MAX_VALUE, 0, 1 << 16);
        PartitionLog log = fresh();
        log.appendMirrored(batch(0, 0, 1));
        log.appendMirrored(batch().offset(1).valueBytes(5000).build());
        log.appendMirrored(batch(2, 0, 1));
        assertThat(file(0, ".log")).exists();
        assertThat(file(1, ".log")).exists();
        assertThat(file(2, ".log")).exists();
        directory.close();
    }

    @Test
    void rollsWhenItsFirstBatchIsTooOld() {
        options = new LogOptions(1 << 20, 1000, 0, 1 << 16);
        PartitionLog log = fresh();
        log.appendMirrored(batch().offset(0).timestamps(5000, 5000).build());
        log.appendMirrored(batch().offset(1).timestamps(6000, 6000).build());
        assertThat(file(1, ".log")).doesNotExist();
        log.appendMirrored(batch().offset(2).timestamps(6001, 6001).build());
        assertThat(file(2, ".log")).exists();
        log.rollIfDue(7001);
        assertThat(file(3, ".log")).doesNotExist();
        log.rollIfDue(7002);
        assertThat(file(3, ".log")).exists();
        log.rollIfDue(90_000);
        assertThat(log.view().endOffset()).isEqualTo(3);
        directory.close();
    }

    @Test
    void kafka6492_rollsWhenAnIndexIsFullAndATruncationGivesRoomAgain() throws IOException {
        options = new LogOptions(1 << 20, Long.MAX_VALUE, 0, 48);
        PartitionLog log = fresh();
        for (int i = 0; i < 40; i++) {
            log.appendMirrored(batch().offset(i).timestamps(i, i).build());
        }
        long before = root.resolve(NAME.toString()).toFile().list().length;
        assertThat(before).isGreaterThan(20);
        log.truncateTo(0);
        log.appendMirrored(batch(0, 0, 1));
        log.appendMirrored(batch(1, 0, 1));
        assertThat(file(1, ".log")).doesNotExist();
        assertThat(offsets(log.view())).containsExactly(0L, 1L);
        directory.close();
    }

    @Test
    void storesAndReadsOldFormats() throws IOException {
        PartitionLog log = fresh();
        log.appendMirrored(join(message(0, 0, -1, 0, 9), message(1, 7, 50, 1, 30), message(1, 8, 40, 0, 3)));
        LogView view = log.view();
        assertThat(view.endOffset()).isEqualTo(9);
        assertThat(view.lastEpoch()).isEqualTo(-1);
        try (LogSlice slice = view.read(3, Long.MAX_VALUE, 1, true).orElseThrow()) {
            assertThat(slice.firstBatchOffset()).isEqualTo(7);
            assertThat(slice.sizeInBytes()).isEqualTo(34 + 30);
        }
        assertThat(view.maxTimestamp()).contains(new LogView.TimestampOffset(50, 7));
        log = killed();
        assertThat(offsets(log.view())).containsExactly(0L, 7L, 8L);
        directory.close();
    }

    @Test
    void transactionsAreKnownAfterEveryKindOfStart() throws IOException {
        options = new LogOptions(220, Long.MAX_VALUE, 0, 1 << 16);
        PartitionLog log = fresh();
        log.appendMirrored(
                batch().offset(0).records(2).producer(4, 0, 0).transactional().build());
        log.appendMirrored(
                batch().offset(2).records(2).producer(5, 0, 0).transactional().build());
        assertThat(log.view().lastStableOffset()).isZero();
        log.appendMirrored(
                batch().offset(4).producer(4, 0, -1).transactional().control(0).build());
        log.appendMirrored(batch().offset(5).records(1).build());
        for (int start = 0; start < 3; start++) {
            LogView view = log.view();
            assertThat(view.lastStableOffset()).isEqualTo(2);
            assertThat(view.maxProducerId()).isEqualTo(5);
            assertThat(view.abortedIn(0, 2)).containsExactly(new AbortedTxn(4, 0, 4));
            assertThat(view.abortedIn(4, 6)).containsExactly(new AbortedTxn(4, 0, 4));
            assertThat(view.abortedIn(5, 6)).isEmpty();
            if (start == 0) {
                directory.close();
                log = reopen();
            } else {
                Files.delete(file(4, ".txnindex"));
                log = killed();
            }
        }
        log.truncateTo(4);
        assertThat(log.view().lastStableOffset()).isZero();
        assertThat(log.view().abortedIn(0, 4)).isEmpty();
        directory.close();
    }

    @Test
    void aSliceOutlivesItsSegmentItsLogAndItsDirectory() throws IOException {
        options = new LogOptions(100, Long.MAX_VALUE, 0, 1 << 16);
        PartitionLog log = fresh();
        for (int i = 0; i < 4; i++) {
            log.appendMirrored(batch(i, 0, 1));
        }
        LogView old = log.view();
        LogSlice slice = old.read(0, Long.MAX_VALUE, 1 << 20, true).orElseThrow();
        LogSlice second = slice.retain();
        log.advanceStart(3);
        assertThat(file(0, ".log")).doesNotExist();
        LogSlice late = old.read(1, Long.MAX_VALUE, 1 << 20, true).orElseThrow();
        assertThat(LogModel.entries(late).get(0).base()).isOne();
        late.close();
        slice.close();
        slice.close();
        directory.delete(NAME);
        assertThat(root.resolve(NAME.toString())).doesNotExist();
        assertThat(LogModel.entries(second).get(0).base()).isZero();
        second.close();
        directory.delete(NAME);
        assertThat(directory.logs()).isEmpty();
        directory.close();
        assertThat(second.channel().isOpen()).isFalse();
        assertThatThrownBy(() -> old.read(1, Long.MAX_VALUE, 1 << 20, true))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("was removed");
    }

    @Test
    void kafka3047_batchesThatDoNotContinueTheLogAreRefusedWhole() {
        PartitionLog log = fresh();
        log.appendMirrored(batch(10, 0, 5));
        ByteBuffer torn = batch(15, 0, 1);
        List.of(
                        batch(14, 0, 1),
                        join(batch(15, 0, 2), batch(16, 0, 1)),
                        torn.duplicate().limit(torn.limit() - 1))
                .forEach(bad -> assertThatThrownBy(() -> log.appendMirrored(bad))
                        .isInstanceOf(IllegalArgumentException.class)
                        .hasMessageContaining(NAME.toString()));
        assertThat(log.view().endOffset()).isEqualTo(15);
        assertThat(log.view().sizeInBytes()).isEqualTo(batch(10, 0, 5).limit());
        assertThatThrownBy(() -> log.append(message(1, 0, 0, 0, 1), 0)).hasMessageContaining("only v2");
        directory.close();
    }

    @Test
    void kafka6975_theStartMayLieInsideABatch() throws IOException {
        PartitionLog log = fresh();
        log.appendMirrored(join(batch(0, 1, 10), batch(10, 3, 10)));
        log.advanceStart(14);
        log.advanceStart(12);
        assertThatThrownBy(() -> log.advanceStart(21)).isInstanceOf(IllegalArgumentException.class);
        directory.checkpoint();
        directory.close();
        PartitionLog again = reopen();
        assertThat(again.view().startOffset()).isEqualTo(14);
        assertThat(offsets(again.view())).containsExactly(10L);
        assertThat(again.view().startOfEpoch(3)).hasValue(14);
        assertThat(again.topicId()).isEqualTo(ID);
        directory.close();
    }

    @Test
    void readingGoesOnWhileAnotherThreadWrites() throws Exception {
        options = new LogOptions(4000, Long.MAX_VALUE, 200, 1 << 16);
        PartitionLog log = fresh();
        AtomicBoolean done = new AtomicBoolean();
        AtomicReference<Throwable> failed = new AtomicReference<>();
        Thread[] readers = new Thread[2];
        for (int i = 0; i < readers.length; i++) {
            readers[i] = new Thread(() -> {
                try {
                    while (!done.get()) {
                        LogView view = log.view();
                        assertThat(offsets(view)).hasSize((int) view.endOffset());
                    }
                } catch (Throwable e) {
                    failed.set(e);
                }
            });
            readers[i].start();
        }
        for (int i = 0; i < 600; i++) {
            log.append(join(batch(0, 0, 1), batch(0, 0, 1)), 3);
        }
        done.set(true);
        for (Thread reader : readers) {
            reader.join(20_000);
        }
        assertThat(failed.get()).isNull();
        directory.close();
    }

    @Test
    void aMissingIndexOrOneThatDoesNotFitIsRebuilt() throws IOException {
        fiftyBatches();
        byte[] index = Files.readAllBytes(file(0, ".index"));
        byte[] times = Files.readAllBytes(file(0, ".timeindex"));
        assertThat(index).hasSize(49 * 8);
        for (int damage = 0; damage < 5; damage++) {
            Path damaged = file(0, damage % 2 == 1 ? ".index" : ".timeindex");
            byte[] bad = damage % 2 == 1 ? index.clone() : times.clone();
            boolean middle = damage > 2;
            bad[middle ? bad.length / 2 : bad.length - 1] ^= 1;
            if (damage == 0) {
                Files.delete(file(0, ".index"));
                Files.delete(file(0, ".timeindex"));
            } else {
                Files.write(damaged, bad);
            }
            if (middle) { // found only when the stop was not clean
                Files.delete(root.resolve(FileLogDirectory.CLEAN));
            }
            assertThat(offsets(reopen().view())).hasSize(50);
            directory.close();
            assertThat(Files.readAllBytes(file(0, ".index"))).isEqualTo(index);
            assertThat(Files.readAllBytes(file(0, ".timeindex"))).isEqualTo(times);
        }
    }

    private void fiftyBatches() {
        PartitionLog log = fresh();
        for (int i = 0; i < 50; i++) {
            log.appendMirrored(batch().offset(i).timestamps(i, i).build());
        }
        directory.close();
    }

    @Test
    void aWrongEntryWithinAnIndexMisleadsNobody() throws IOException {
        fiftyBatches();
        for (String suffix : List.of(".index", ".timeindex")) {
            byte[] right = Files.readAllBytes(file(0, suffix));
            int entry = suffix.equals(".index") ? 8 : 12;
            for (int at = 0; at < right.length - entry; at += 3) {
                byte[] wrong = right.clone();
                wrong[at] ^= 1;
                Files.write(file(0, suffix), wrong);
                LogView view = reopen().view();
                for (long i = 0; i < 50; i += 7) {
                    assertThat(first(view.read(i, Long.MAX_VALUE, 1, true))).isEqualTo(i);
                    assertThat(first(view.batchAtOrAfter(i))).isEqualTo(i);
                }
                assertThat(offsets(view)).hasSize(50);
                directory.close();
                Files.write(file(0, suffix), right);
            }
        }
    }

    private static long first(Optional<LogSlice> found) {
        try (LogSlice slice = found.orElseThrow()) {
            return slice.firstBatchOffset();
        }
    }

    @Test
    void corruptCheckpointsAreTakenAsMissing() throws IOException {
        PartitionLog log = fresh();
        log.appendMirrored(join(batch(0, 0, 3), batch(3, 4, 3)));
        directory.close();
        for (String name : List.of(OffsetFiles.RECOVERY_POINTS, OffsetFiles.START_OFFSETS)) {
            Files.writeString(root.resolve(name), "0\n1\na.topic-with-dashes 7 x\n");
        }
        Files.writeString(root.resolve(NAME.toString()).resolve("leader-epoch-checkpoint"), "0\n2\n0 0\n");
        log = reopen();
        assertThat(log.view().endOffset()).isEqualTo(6);
        assertThat(log.view().startOfEpoch(4)).hasValue(3);
        assertThat(log.view().endOfEpoch(0)).contains(new LogView.EpochEnd(0, 3));
        directory.close();
    }

    @Test
    void anEpochCheckpointThatContradictsTheBatchesIsNotBelieved() throws IOException {
        PartitionLog log = fresh();
        log.appendMirrored(join(batch(0, 1, 2), batch(2, 2, 2), batch(4, 5, 2)));
        directory.close();
        Path checkpoint = root.resolve(NAME.toString()).resolve("leader-epoch-checkpoint");
        Files.writeString(checkpoint, "0\n2\n1 0\n5 2\n");
        log = reopen();
        assertThat(log.view().epochAt(2)).isEqualTo(2);
        assertThat(log.view().startOfEpoch(5)).hasValue(4);
        directory.close();
        Files.writeString(checkpoint, "0\n4\n1 0\n2 2\n5 4\n6 6\n");
        log = reopen();
        assertThat(log.view().lastEpoch()).as("an epoch without batches yet").isEqualTo(6);
        directory.close();
    }

    @Test
    void aTornOrDamagedTailIsCutAfterAnUncleanStop() throws IOException {
        PartitionLog log = fresh();
        log.appendMirrored(join(batch(0, 0, 3), batch(3, 0, 3), batch(6, 0, 3)));
        directory.close();
        int size = batch(0, 0, 3).limit();
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        Files.write(file(0, ".log"), new byte[100], StandardOpenOption.APPEND);
        log = reopen();
        assertThat(offsets(log.view())).containsExactly(0L, 3L, 6L);
        directory.close();
        assertThat(Files.size(file(0, ".log"))).isEqualTo(3L * size);

        byte[] bytes = Files.readAllBytes(file(0, ".log"));
        bytes[2 * size - 1] ^= 1;
        Files.write(file(0, ".log"), bytes);
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        Files.delete(root.resolve(OffsetFiles.RECOVERY_POINTS)); // not known to have been on disk
        log = reopen();
        assertThat(offsets(log.view())).containsExactly(0L);
        assertThat(log.view().endOffset()).isEqualTo(3);
        directory.close();
    }

    @Test
    void damageInASealedSegmentAfterACleanStopTakesTheLogOffline() throws IOException {
        options = new LogOptions(200, Long.MAX_VALUE, 0, 1 << 16);
        PartitionLog log = fresh();
        for (int i = 0; i < 3; i++) {
            log.appendMirrored(batch(i, 0, 1));
        }
        directory.close();
        try (var channel = Files.newByteChannel(file(0, ".log"), StandardOpenOption.WRITE)) {
            channel.position(16).write(ByteBuffer.wrap(new byte[] {9}));
        }
        PartitionLog damaged = reopen();
        assertThat(damaged.offline()).isTrue();
        assertThatThrownBy(() -> damaged.view().read(0, 3, 100, true))
                .isInstanceOf(StorageFault.class)
                .hasMessageContaining(file(0, ".log").toString())
                .hasMessageContaining("unknown magic 9");
        directory.close();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
    }

    @Test
    void theCleanMarkIsThereOnlyBetweenAGoodStopAndTheNextStart() {
        fresh();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
        directory.close();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).exists();
        reopen();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
        directory.close();
    }

    @Test
    void aDirectoryInUseIsRefused() {
        fresh();
        assertThatThrownBy(() -> FileLogDirectory.open(root, name -> options, InstantSource.system()))
                .isInstanceOf(StorageFault.class)
                .hasMessageContaining("another broker is using it");
        directory.close();
    }

    @Test
    void aCreateThatDidNotGetFarIsDoneAgain() throws IOException {
        reopen();
        Files.createDirectory(root.resolve(NAME.toString()));
        Files.createFile(file(0, ".log"));
        Files.createDirectory(root.resolve("gone-0.0123456789abcdef-delete"));
        directory.close();
        assertThat(reopen()).isNull();
        assertThat(root.resolve("gone-0.0123456789abcdef-delete")).doesNotExist();
        assertThat(directory.create(NAME, ID, options).view().endOffset()).isZero();
        assertThatThrownBy(() -> directory.create(NAME, ID, options)).isInstanceOf(IllegalStateException.class);
        directory.close();
    }

    @Test
    void afterADiskErrorNothingIsWrittenAndWhatIsKnownStaysReadable() throws IOException {
        FaultyDisk disk = new FaultyDisk();
        directory = FileLogDirectory.open(disk, root, name -> options, InstantSource.system());
        PartitionLog log = directory.create(NAME, ID, options);
        log.appendMirrored(batch(0, 0, 2));
        disk.bytesLeft = 20;
        assertThatThrownBy(() -> log.appendMirrored(batch(2, 0, 2)))
                .isInstanceOf(StorageFault.class)
                .hasMessageContaining(file(0, ".log").toString())
                .hasMessageContaining("No space left");
        disk.bytesLeft = Integer.MAX_VALUE;
        assertThat(log.offline()).isTrue();
        assertThatThrownBy(() -> log.appendMirrored(batch(2, 0, 2))).isInstanceOf(StorageFault.class);
        assertThat(log.view().endOffset()).isEqualTo(2);
        assertThat(offsets(log.view())).containsExactly(0L);
        directory.close();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
        assertThat(offsets(reopen().view())).containsExactly(0L);
        directory.close();
    }
}
