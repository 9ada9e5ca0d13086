package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.FaultyDisk.Op;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Files that somebody took away while the broker was stopped, and pages of a mapped file that the disk cannot give. */
class MissingSegmentsTest {
    private static final LogName NAME = new LogName("t", 0);
    private static final LogName OTHER = new LogName("u", 0);
    private static final UUID ID = new UUID(1, 2);

    @TempDir
    Path root;

    private final LogOptions options = new LogOptions(700, Long.MAX_VALUE, 0, 4096);
    private FileLogDirectory directory;

    @AfterEach
    void release() {
        if (directory != null) {
            CrashTest.abandon(directory);
        }
    }

    private PartitionLog open(Disk disk) {
        directory = FileLogDirectory.open(disk, root, name -> options, InstantSource.fixed(Instant.ofEpochMilli(0)));
        return directory.get(NAME).orElseGet(() -> directory.create(NAME, ID, options));
    }

    private static ByteBuffer two(long offset) {
        return batch().offset(offset).epoch(1).records(2).valueBytes(100).build();
    }

    /** Batches of two records in segments that begin at 0, 4, 8 and 12, ending at 14; closed well. */
    private void sevenBatches() {
        PartitionLog log = open(new FileDisk());
        for (int i = 0; i < 7; i++) {
            log.appendMirrored(two(2L * i));
        }
        directory.close();
    }

    private void remove(String files) throws IOException {
        for (Path file : new FileDisk().list(root.resolve(NAME.toString()))) {
            if (file.getFileName().toString().matches(files)) {
                Files.delete(file);
            }
        }
    }

    private void killed() throws IOException {
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
    }

    private void isOffline(String reason) {
        PartitionLog log = open(new FileDisk());
        assertThat(log.offline()).isTrue();
        assertThat(log.fault().orElseThrow()).hasMessageContaining(reason).hasMessageContaining(NAME.toString());
    }

    @ParameterizedTest
    @CsvSource({
        "[0-9]*[.]log, ends at offset 0",
        "[0-9].*, ends at offset 0",
        "0*0[.]log, offsets 0 to 3 are missing",
        "0*[04][.].*, offsets 0 to 7 are missing",
        "0*4[.]log, offsets 4 to 7 are missing",
        "0*8[.].*, offsets 8 to 11 are missing",
        "0*12[.].*, ends at offset 12"
    })
    void aLogWithoutFilesThatItHadAtACleanStopStaysOffline(String files, String reason) throws IOException {
        sevenBatches();
        remove(files.replace("[0-9]*[.]", "[0-9]+[.]"));
        for (int start = 0; start < 3; start++) { // the first one removes the mark of the clean stop
            isOffline(reason);
            directory.heal(1_000_000L * (start + 1));
            assertThat(directory.get(NAME).orElseThrow().offline()).isTrue();
            directory.close();
        }
    }

    @ParameterizedTest
    @CsvSource({"[0-9]+[.]log, ends at offset 0", "0*4[.].*, offsets 4 to 7 are missing"})
    void afterACrashTheSameIsKnownOfAllButTheFirst(String files, String reason) throws IOException {
        sevenBatches();
        remove(files);
        killed();
        isOffline(reason);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void anEmptiedSegmentBetweenOthersKeepsTheLogOffline(boolean clean) throws IOException {
        sevenBatches();
        Files.write(root.resolve(NAME.toString()).resolve("00000000000000000004.log"), new byte[0]);
        if (!clean) {
            killed();
        }
        isOffline("offsets 4 to 7 are missing");
    }

    @Test
    void filesPutBackOrALineTakenOutBringTheLogBack() throws IOException {
        sevenBatches();
        Path first = root.resolve(NAME.toString()).resolve("00000000000000000000.log");
        byte[] bytes = Files.readAllBytes(first);
        Files.delete(first);
        isOffline("offsets 0 to 3");
        directory.close();
        Files.write(first, bytes);
        assertThat(LogModel.offsets(open(new FileDisk()).view())).hasSize(7);
        directory.close();
        Files.delete(first);
        isOffline("offsets 0 to 3");
        directory.close();
        Files.delete(root.resolve(OffsetFiles.UNBROKEN_OFFSETS));
        assertThat(open(new FileDisk()).view().startOffset()).isEqualTo(4);
    }

    /** Apache Kafka's compaction leaves segments that do not meet. */
    @Test
    void gapsThatWereThereWhenALogWasFirstOpenedAreRightAndLaterOnesAreNot() throws IOException {
        sevenBatches();
        remove("0*4[.].*");
        Files.delete(root.resolve(OffsetFiles.UNBROKEN_OFFSETS));
        for (int start = 0; start < 3; start++) {
            assertThat(open(new FileDisk()).offline()).isFalse();
            directory.close();
        }
        remove("0*8[.].*"); // the one behind the gap: now the gap is another one
        isOffline("offsets 4 to 11 are missing");
    }

    @Test
    void whatRetentionOrARestartRemovedIsNotMissing() throws IOException {
        sevenBatches();
        for (boolean clean : new boolean[] {false, true}) {
            PartitionLog log = open(new FileDisk());
            log.advanceStart(clean ? 12 : 5);
            log.force();
            directory.close();
            if (!clean) {
                killed();
            }
            assertThat(open(new FileDisk()).offline()).isFalse();
            directory.close();
        }
        open(new FileDisk()).restartAt(100);
        directory.close();
        assertThat(open(new FileDisk()).view().startOffset()).isEqualTo(100);
        directory.close();
    }

    @Test
    void aPageThatTheDiskCannotGiveTakesOneLogOfflineAtAStart() throws IOException {
        sevenBatches();
        open(new FileDisk());
        directory.create(OTHER, ID, options).appendMirrored(two(0));
        directory.close();
        FaultyDisk disk = new FaultyDisk();
        disk.broken = (op, path) -> op == Op.OPEN && fault(path, NAME + "/");
        PartitionLog log = open(disk);
        assertThat(log.offline()).isTrue();
        assertThat(log.fault().orElseThrow())
                .hasMessageContaining(root.resolve(NAME.toString()).toString());
        assertThat(directory.get(OTHER).orElseThrow().view().endOffset()).isEqualTo(2);
        disk.broken = (op, path) -> false;
        directory.heal(1_000_000);
        assertThat(directory.get(NAME).orElseThrow().offline()).isFalse();
    }

    @Test
    void aPageThatTheDiskCannotGiveFencesTheLogAtAnAppend() {
        FaultyDisk disk = new FaultyDisk();
        PartitionLog log = open(disk);
        log.appendMirrored(two(0));
        disk.broken = (op, path) -> op == Op.OPEN && fault(path, ".index");
        StorageFault fault = null;
        for (int i = 1; i < 10 && fault == null; i++) {
            try {
                log.appendMirrored(two(2L * i));
            } catch (StorageFault thrown) {
                fault = thrown;
            }
        }
        assertThat(fault).isNotNull().hasMessageContaining(NAME.toString());
        assertThat(log.offline()).isTrue();
        assertThat(log.readable()).isTrue();
    }

    private static boolean fault(Path path, String part) {
        if (path.toString().contains(part)) {
            throw new InternalError("a fault occurred in an unsafe memory access operation");
        }
        return false;
    }

    @Test
    void oneDirectoryUnderTwoNamesIsRefusedAndBothAreNamed() throws IOException {
        Path real = Files.createDirectory(root.resolve("real"));
        Path link = Files.createSymbolicLink(root.resolve("link"), real);
        for (List<Path> paths :
                List.of(List.of(real, link), List.of(real, real.resolve("sub")), List.of(link.resolve("new"), real))) {
            assertThatThrownBy(() -> LogDirectories.open(paths, name -> options, InstantSource.system(), 1))
                    .isInstanceOf(StorageFault.class)
                    .hasMessageContaining(paths.get(0).toString())
                    .hasMessageContaining(paths.get(1).toString());
        }
    }
}
