package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static io.kagami.log.TestBatches.join;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.FaultyDisk.Op;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What other logs got wrong with files, forcing and recovery, each under the number of its bug report. */
class StorageRulesTest {
    private static final LogName NAME = new LogName("t", 0);
    private static final UUID ID = new UUID(1, 2);
    private static final LogOptions OPTIONS = new LogOptions(700, Long.MAX_VALUE, 0, 4096);

    @TempDir
    Path parent;

    private Path root;
    private FileLogDirectory directory;

    @BeforeEach
    void emptyDisk() throws IOException {
        root = Files.createDirectory(parent.resolve("0"));
    }

    @AfterEach
    void release() {
        if (directory != null) {
            CrashTest.abandon(directory);
        }
    }

    private PartitionLog open(io.kagami.log.disk.Disk disk) {
        directory = FileLogDirectory.open(disk, root, name -> OPTIONS, InstantSource.fixed(Instant.ofEpochMilli(0)));
        return directory.get(NAME).orElseGet(() -> directory.create(NAME, ID, OPTIONS));
    }

    private SimDisk simulated() throws IOException {
        return new SimDisk(root, new Random(1));
    }

    private void cutPower(SimDisk disk) throws IOException {
        Path next = Files.createDirectory(parent.resolve(root.getFileName() + "+"));
        disk.crashToForced(next);
        release();
        root = next;
    }

    private Path file(long base, String ending) {
        return root.resolve(NAME.toString()).resolve(String.format(Locale.ROOT, "%020d%s", base, ending));
    }

    private static ByteBuffer two(long offset) {
        return batch().offset(offset).epoch(1).records(2).valueBytes(100).build();
    }

    private static void append(PartitionLog log, int batches) {
        for (int i = 0; i < batches; i++) {
            log.appendMirrored(two(log.view().endOffset()));
        }
    }

    @Test
    void kafka1539_aCheckpointIsForcedBeforeItGetsItsName() throws IOException {
        SimDisk disk = simulated();
        PartitionLog log = open(disk);
        append(log, 6);
        log.force();
        directory.checkpoint();
        cutPower(disk);
        assertThat(Files.readString(root.resolve(OffsetFiles.RECOVERY_POINTS))).isEqualTo("0\n1\nt 0 12\n");
    }

    @Test
    void kafka1758_aCorruptRecoveryPointFileMeansThatEverythingIsChecked() throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, 6);
        directory.close();
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        Files.writeString(root.resolve(OffsetFiles.RECOVERY_POINTS), "0\n1\nt 0");
        byte[] first = Files.readAllBytes(file(0, ".log"));
        first[first.length - 1] ^= 1;
        Files.write(file(0, ".log"), first);
        assertThat(open(new FileDisk()).view().endOffset()).isEqualTo(2);
    }

    @Test
    void kafka2012_aCorruptIndexIsBuiltAnew() throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, 6);
        directory.close();
        byte[] right = Files.readAllBytes(file(4, ".index"));
        Files.write(file(4, ".index"), new byte[] {1, 2, 3});
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        open(new FileDisk());
        directory.close();
        assertThat(Files.readAllBytes(file(4, ".index"))).isEqualTo(right);
    }

    @Test
    void kafka3968_theNameOfANewSegmentIsForcedWithItsFirstBytes() throws IOException {
        SimDisk disk = simulated();
        PartitionLog log = open(disk);
        append(log, 3);
        log.force();
        cutPower(disk);
        assertThat(file(4, ".log")).exists();
        assertThat(open(new FileDisk()).view().endOffset()).isEqualTo(6);
    }

    @Test
    void kafka10471_aCrashWhileLogsAreOpenedIsNoCleanStop() throws IOException {
        append(open(new FileDisk()), 6);
        directory.close();
        int crashes = 0;
        for (int changes = 0; changes < 12; changes++) {
            SimDisk disk = simulated();
            disk.cutAfter(changes);
            try {
                open(disk);
            } catch (SimDisk.PowerCut expected) {
                crashes++;
            }
            Path next = Files.createDirectory(parent.resolve("after" + changes));
            disk.crashToForced(next);
            boolean begun = changes >= 2; // removing the mark, forcing that
            assertThat(Files.exists(next.resolve(FileLogDirectory.CLEAN))).isEqualTo(!begun);
            release();
            directory = null;
            root = next;
            Files.writeString(root.resolve(FileLogDirectory.CLEAN), "");
        }
        assertThat(crashes).isPositive();
    }

    @Test
    void kafka15375_theMarkIsWrittenOnlyIfEveryLogWasOpened() throws IOException {
        append(open(new FileDisk()), 1);
        directory.create(new LogName("t", 1), ID, OPTIONS);
        directory.close();
        Files.write(file(0, ".log"), new byte[] {1}, StandardOpenOption.TRUNCATE_EXISTING);
        assertThat(open(new FileDisk()).offline()).isTrue();
        directory.close();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
    }

    @Test
    void kafka10101_theRecoveryPointIsNeverAboveTheEnd() throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, 6);
        log.force();
        log.truncateTo(5);
        directory.checkpoint();
        assertThat(((SegmentedLog) log).recoveryPoint())
                .isLessThanOrEqualTo(log.view().endOffset());
        log.force();
        assertThat(((SegmentedLog) log).recoveryPoint()).isEqualTo(4);
        log.restartAt(3);
        assertThat(((SegmentedLog) log).recoveryPoint()).isLessThanOrEqualTo(3);
    }

    @Test
    void kafka13603_anEmptySegmentWithoutIndexesIsNoDamage() throws IOException {
        PartitionLog log = open(new FileDisk());
        log.restartAt(77);
        directory.close();
        Files.deleteIfExists(file(77, ".index"));
        Files.deleteIfExists(file(77, ".timeindex"));
        log = open(new FileDisk());
        assertThat(log.view().startOffset()).isEqualTo(77);
        assertThat(log.appendMirrored(two(77)).endOffset()).isEqualTo(79);
    }

    @Test
    void kafka6388_anEmptySegmentIsNotRolled() {
        PartitionLog log = open(new FileDisk());
        log.reconfigure(new LogOptions(700, 1, 0, 4096));
        log.rollIfDue(1_000_000);
        append(log, 1);
        log.rollIfDue(1_000_000);
        log.rollIfDue(2_000_000);
        assertThat(((SegmentedView) log.view()).segments().count()).isEqualTo(2);
    }

    @Test
    void kafka10778_afterTheFirstErrorNothingIsAcceptedAndWhatWasAcceptedIsThere() {
        int rounds = 0;
        for (int failing = 1; failing < 60; failing++) {
            root = parent.resolve("n" + failing);
            FaultyDisk disk = new FaultyDisk();
            AtomicInteger left = new AtomicInteger(failing);
            PartitionLog log = open(disk);
            disk.broken = (op, path) -> (op == Op.WRITE || op == Op.FORCE || op == Op.OPEN || op == Op.FORCE_DIRECTORY)
                    && left.decrementAndGet() == 0;
            long accepted = 0;
            boolean failed = false;
            for (int i = 0; i < 20; i++) {
                try {
                    append(log, 1);
                    assertThat(failed).as("accepted after an error").isFalse();
                    accepted += 2;
                    if (i % 5 == 4) {
                        log.force();
                    }
                } catch (StorageFault fault) {
                    failed = true;
                    assertThat(log.offline()).isTrue();
                }
            }
            assertThat(log.view().endOffset()).isEqualTo(accepted);
            rounds += failed ? 1 : 0;
            assertThat(failed).as("round %d has its error", failing).isEqualTo(left.get() <= 0);
            if (failed) {
                log.retire();
                directory.heal(0);
            }
            PartitionLog again = directory.get(NAME).orElseThrow();
            assertThat(again.offline()).as("back after error %d", failing).isFalse();
            // a batch that was written but not accepted may be there as well
            assertThat(again.view().endOffset()).isBetween(accepted, accepted + 2);
            append(again, 3);
            assertThat(LogModel.offsets(again.view())).doesNotHaveDuplicates();
            release();
        }
        assertThat(rounds).as("rounds with an error").isGreaterThan(20);
    }

    @Test
    void kafka19221_anErrorWhileALogIsClosedMakesTheStopUnclean() {
        FaultyDisk disk = new FaultyDisk();
        append(open(disk), 3);
        disk.broken = (op, path) -> op == Op.TRUNCATE && path.toString().endsWith("index");
        directory.close();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
        disk.broken = (op, path) -> false;
        assertThat(open(disk).view().endOffset()).isEqualTo(6);
    }

    @Test
    void kafka4039_aStopEndsAlthoughADiskHangs() {
        FaultyDisk disk = new FaultyDisk();
        Path other = parent.resolve("other");
        LogDirectories logs =
                LogDirectories.open(disk, List.of(root, other), name -> OPTIONS, InstantSource.system(), 1);
        logs.create(NAME, ID, OPTIONS);
        logs.create(new LogName("t", 1), ID, OPTIONS);
        append(logs.get(NAME).orElseThrow(), 1);
        disk.hanging = (op, path) -> op == Op.FORCE && path.startsWith(root);
        long begun = System.nanoTime();
        assertThatThrownBy(() -> logs.closeWithin(2))
                .isInstanceOf(StorageFault.class)
                .hasMessageContaining(root.toString());
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(10));
        assertThat(other.resolve(FileLogDirectory.CLEAN)).exists();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
        disk.released.countDown();
    }

    @Test
    void kafka866_anIndexPointsAtBatchesAlsoWhenItIsBuiltAnew() throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, 6);
        directory.close();
        Files.delete(file(4, ".index"));
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        open(new FileDisk());
        directory.close();
        ByteBuffer index = ByteBuffer.wrap(Files.readAllBytes(file(4, ".index")));
        byte[] bytes = Files.readAllBytes(file(4, ".log"));
        while (index.hasRemaining()) {
            int lastOffset = 4 + index.getInt();
            ByteBuffer at = ByteBuffer.wrap(bytes).position(index.getInt());
            assertThat(at.getLong() + 1).isEqualTo(lastOffset);
        }
    }

    @Test
    void kafka905_aBatchBelowTheOneBeforeItIsNotTakenForData() throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, 1);
        directory.close();
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        Files.write(file(0, ".log"), two(1).array(), StandardOpenOption.APPEND);
        assertThat(open(new FileDisk()).view().endOffset()).isEqualTo(2);
    }

    @Test
    void kafka1670_sizesAreAddedAsLongs() throws IOException {
        FileDisk disk = new FileDisk();
        Segment segment = Segment.create(disk, root, 0, new SegmentSettings(4096, 4096), 0);
        segment.publish(Integer.MAX_VALUE - 100);
        for (int batch : new int[] {100, 101, 102, Integer.MAX_VALUE}) {
            assertThat(segment.isFullFor(0, 0, batch, 1, Integer.MAX_VALUE)).isEqualTo(batch > 100);
            assertThat(segment.isFullFor(Integer.MAX_VALUE, 0, batch, 1, Integer.MAX_VALUE))
                    .isTrue();
        }
        segment.release();
    }

    @Test
    void rp9711_noMarkOfACleanStopOutlivesAChange() throws IOException {
        append(open(new FileDisk()), 6);
        directory.close();
        SimDisk disk = simulated();
        PartitionLog log = open(disk);
        log.truncateTo(4);
        cutPower(disk);
        assertThat(root.resolve(FileLogDirectory.CLEAN)).doesNotExist();
        assertThat(open(new FileDisk()).view().endOffset()).isEqualTo(4);
    }

    @Test
    void rp31470_whatIsDerivedIsLoweredBeforeTheLogIsCut() throws IOException {
        List<Long> points = new ArrayList<>();
        for (int changes = 0; changes < 20; changes++) {
            root = Files.createDirectory(parent.resolve("d" + changes));
            SimDisk disk = simulated();
            PartitionLog log = open(disk);
            append(log, 6);
            log.force();
            directory.checkpoint();
            disk.cutAfter(changes);
            try {
                log.truncateTo(3);
            } catch (SimDisk.PowerCut expected) {
                points.add((long) changes);
            }
            cutPower(disk);
            PartitionLog found = open(new FileDisk());
            assertThat(found.fault()).as("cut after %d changes", changes).isEmpty();
            assertThat(((SegmentedLog) found).recoveryPoint())
                    .isLessThanOrEqualTo(found.view().endOffset());
            release();
        }
        assertThat(points).isNotEmpty();
    }

    @Test
    void kafka309_nothingIsWrittenWhenOneOfTheBatchesIsBad() throws IOException {
        PartitionLog log = open(new FileDisk());
        append(log, 1);
        long size = Files.size(file(0, ".log"));
        ByteBuffer torn = join(two(2), two(4));
        torn.limit(torn.limit() - 1);
        assertThatThrownBy(() -> log.appendMirrored(torn)).isInstanceOf(IllegalArgumentException.class);
        assertThat(log.offline()).isFalse();
        assertThat(Files.size(file(0, ".log"))).isEqualTo(size);
        assertThat(log.appendMirrored(two(2)).endOffset()).isEqualTo(4);
    }
}
