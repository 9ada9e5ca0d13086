package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Locale;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Power cuts in a row that {@link CrashTest} met by chance, told step by step. Two batches of two records fill a segment. */
class PowerCutTest {
    private static final LogName NAME = new LogName("t", 0);
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
        CrashTest.abandon(directory);
    }

    private SimDisk simulated() throws IOException {
        return new SimDisk(root, new Random(1));
    }

    private PartitionLog open(SimDisk disk) {
        directory = FileLogDirectory.open(disk, root, name -> OPTIONS, InstantSource.fixed(Instant.ofEpochMilli(0)));
        return directory.get(NAME).orElseGet(() -> directory.create(NAME, new UUID(1, 2), OPTIONS));
    }

    /** The process is gone; the next one finds what was forced. */
    private void cutPower(SimDisk disk) throws IOException {
        Path next = Files.createDirectory(parent.resolve(root.getFileName() + "+"));
        disk.crashToForced(next);
        CrashTest.abandon(directory);
        root = next;
    }

    private Path segment(long base) {
        return root.resolve(NAME.toString()).resolve(String.format(Locale.ROOT, "%020d.log", base));
    }

    private static ByteBuffer two(long offset, int epoch) {
        return batch().offset(offset).epoch(epoch).records(2).valueBytes(100).build();
    }

    /** Segments 0, 4 and 8, all forced, recovery point 12; then the power goes. */
    private void sixBatchesForced() throws IOException {
        SimDisk disk = simulated();
        PartitionLog log = open(disk);
        for (long offset = 0; offset < 12; offset += 2) {
            log.appendMirrored(two(offset, 1));
        }
        log.force();
        directory.checkpoint();
        cutPower(disk);
        assertThat(segment(4)).exists();
        assertThat(segment(8)).exists();
    }

    private void damage(Path file, long fromEnd) throws IOException {
        byte[] bytes = Files.readAllBytes(file);
        bytes[Math.toIntExact(bytes.length - fromEnd)] ^= 1;
        Files.write(file, bytes);
    }

    @Test
    void segmentsThatRecoveryRemovedDoNotComeBackBehindNewerBatches() throws IOException {
        sixBatchesForced();
        Files.delete(root.resolve(OffsetFiles.RECOVERY_POINTS));
        damage(segment(0), 1);
        SimDisk disk = simulated();
        PartitionLog log = open(disk);
        assertThat(log.view().endOffset()).isEqualTo(2);
        log.appendMirrored(two(2, 2));
        disk.cutAfter(1); // the segment is forced, the directory is not
        assertThatThrownBy(log::force).isInstanceOf(SimDisk.PowerCut.class);
        cutPower(disk);
        LogView view = open(simulated()).view();
        assertThat(view.endOffset()).isEqualTo(4);
        assertThat(view.epochAt(0)).isEqualTo(1);
        assertThat(view.epochAt(2)).isEqualTo(2);
    }

    @Test
    void whatRecoveryCutsIsCutDurablyBeforeAnythingIsAppended() throws IOException {
        sixBatchesForced();
        long whole = Files.size(segment(8));
        Files.delete(root.resolve(OffsetFiles.RECOVERY_POINTS));
        damage(segment(8), 1);
        SimDisk disk = simulated();
        assertThat(open(disk).view().endOffset()).isEqualTo(10);
        cutPower(disk);
        assertThat(segment(8)).hasSize(whole / 2);
    }

    @Test
    void damageBelowTheRecoveryPointIsNotCutButTakesTheLogOfflineAndNamesThePlace() throws IOException {
        sixBatchesForced();
        byte[] before = Files.readAllBytes(segment(8));
        damage(segment(8), 1);
        PartitionLog log = open(simulated());
        assertThat(log.offline()).isTrue();
        assertThat(log.readable()).isFalse();
        assertThat(log.fault().orElseThrow())
                .hasMessageContaining(segment(8).toString())
                .hasMessageContaining("position " + before.length / 2)
                .hasMessageContaining("offset 10")
                .hasMessageContaining("restore the file");
        assertThat(segment(8)).hasSize(before.length);
    }

    @Test
    void aLastSegmentMissingBelowTheRecoveryPointIsNotPassedOver() throws IOException {
        sixBatchesForced();
        Files.delete(segment(8));
        assertThat(open(simulated()).fault().orElseThrow())
                .hasMessageContaining("ends at offset 8")
                .hasMessageContaining("below offset 12");
    }

    @Test
    void aPowerCutInTheMiddleOfATruncationIsNotTakenForDamage() throws IOException {
        for (int changes = 0; changes < 40; changes++) {
            sixBatchesForced();
            SimDisk disk = simulated();
            PartitionLog log = open(disk);
            disk.cutAfter(changes);
            try {
                log.truncateTo(7); // into a batch
                log.appendMirrored(two(6, 2));
                log.restartAt(100);
            } catch (SimDisk.PowerCut expected) {
                assertThat(changes).isLessThan(40);
            }
            cutPower(disk);
            assertThat(open(simulated()).fault())
                    .as("cut after %d changes", changes)
                    .isEmpty();
            release();
            root = Files.createDirectory(parent.resolve("after" + changes));
        }
    }

    @Test
    void rp5991_whatIsAppendedAndForcedAfterACutInMissingOffsetsIsThere() throws IOException {
        SimDisk disk = simulated();
        PartitionLog log = open(disk);
        log.appendMirrored(two(0, 1));
        log.appendMirrored(two(20, 1));
        log.force();
        log.truncateTo(15);
        assertThat(log.view().endOffset()).isEqualTo(2);
        for (long offset = 2; offset < 8; offset += 2) {
            log.appendMirrored(two(offset, 2));
        }
        log.force();
        cutPower(disk);
        assertThat(open(simulated()).view().endOffset()).isEqualTo(8);
    }
}
