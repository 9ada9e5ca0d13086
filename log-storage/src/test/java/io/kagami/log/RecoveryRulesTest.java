package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.Segment;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.UUID;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is read, believed, checked and cut at a start, each rule under the number of the bug report it comes from. */
class RecoveryRulesTest {
    private static final LogName NAME = new LogName("t", 0);
    private static final UUID ID = new UUID(1, 2);
    private static final InstantSource CLOCK = InstantSource.fixed(Instant.ofEpochMilli(0));

    @TempDir
    Path parent;

    private Path root;
    private LogOptions options = new LogOptions(700, Long.MAX_VALUE, 0, 4096);
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

    private PartitionLog open(Disk disk) {
        directory = FileLogDirectory.open(disk, root, name -> options, CLOCK);
        return directory.get(NAME).orElseGet(() -> directory.create(NAME, ID, options));
    }

    private Path file(long base, String ending) {
        return root.resolve(NAME.toString()).resolve(String.format(Locale.ROOT, "%020d%s", base, ending));
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

    /** As if the broker had died after this much was forced. */
    private void uncleanWith(long recoveryPoint) throws IOException {
        Files.deleteIfExists(root.resolve(FileLogDirectory.CLEAN));
        Files.writeString(root.resolve(OffsetFiles.RECOVERY_POINTS), "0\n1\nt 0 " + recoveryPoint + "\n");
    }

    private void flipLastByte(long base) throws IOException {
        byte[] bytes = Files.readAllBytes(file(base, ".log"));
        bytes[bytes.length - 1] ^= 1;
        Files.write(file(base, ".log"), bytes);
    }

    /** Offset where the log ends, -1 when it stays offline. */
    private long endAtStart() {
        PartitionLog log = open(new FileDisk());
        return log.offline() ? -1 : log.view().endOffset();
    }

    /**
     * The last batch of one segment is damaged: it is found if and only if the segment reaches above the recovery point or is the last one,
     * cut if it was not known to be on disk, and refused if it was.
     */
    @ParameterizedTest
    @CsvSource({
        // damaged segment, recovery point, end
        "0, 0, 2", // everything is doubtful
        "4, 0, 6",
        "8, 0, 10",
        "12, 0, 12",
        "0, 2, 2", // known up to the damaged batch, which may be torn
        "0, 3, -1", // known to be on disk in part
        "0, 4, 14", // the segment was on disk as a whole: not looked at
        "0, 14, 14",
        "4, 4, 6",
        "4, 5, 6",
        "4, 6, 6",
        "4, 7, -1",
        "4, 8, 14",
        "8, 4, 10",
        "8, 12, 14",
        "12, 4, 12",
        "12, 12, 12",
        "12, 13, -1",
        "12, 14, -1" // the last one is always looked at
    })
    void kafka673_aSegmentIsCheckedIfItReachesAboveTheRecoveryPointOrIsTheLast(
            long damaged, long recoveryPoint, long end) throws IOException {
        sevenBatches();
        flipLastByte(damaged);
        uncleanWith(recoveryPoint);
        assertThat(endAtStart()).isEqualTo(end);
        if (end > 0 && end < 14) {
            assertThat(file(damaged, ".log")).hasSize((end - damaged) / 2 * two(0).limit());
            for (long later = damaged + 4; later < 14; later += 4) {
                assertThat(file(later, ".log")).doesNotExist();
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {0, 4, 8, 12})
    void kafka673_afterACleanStopRecordsAreNotReadAgain(long damaged) throws IOException {
        sevenBatches();
        flipLastByte(damaged);
        assertThat(endAtStart()).isEqualTo(14);
    }

    /** The last batch of a segment is missing as a whole, so that no byte of the file is wrong. */
    @ParameterizedTest
    @CsvSource({"4, 0, 6", "4, 6, 6", "4, 7, -1", "4, 8, -1", "8, 4, 10", "12, 0, 12", "12, 12, 12", "12, 13, -1"})
    void kafka673_aGapBehindADoubtfulSegmentEndsTheLogThere(long shortened, long recoveryPoint, long end)
            throws IOException {
        sevenBatches();
        int one = two(0).limit();
        try (FileChannel channel = FileChannel.open(file(shortened, ".log"), StandardOpenOption.WRITE)) {
            channel.truncate(channel.size() - one);
        }
        uncleanWith(recoveryPoint);
        assertThat(endAtStart()).isEqualTo(end);
    }

    /** Where the segments would meet, so that it is the bytes alone that tell. */
    @ParameterizedTest
    @CsvSource({"4, 0, 8", "4, 8, -1", "12, 14, 14"})
    void kafka673_bytesBehindADoubtfulSegmentEndTheLogThere(long damaged, long recoveryPoint, long end)
            throws IOException {
        sevenBatches();
        Files.write(file(damaged, ".log"), new byte[30], StandardOpenOption.APPEND);
        uncleanWith(recoveryPoint);
        assertThat(endAtStart()).isEqualTo(end);
    }

    @Test
    void kafka673_onlyAJumpThatNoIndexCanHoldIsNoGap() throws IOException {
        long far = 1L << 32;
        PartitionLog log = open(new FileDisk());
        log.appendMirrored(two(0));
        log.appendMirrored(two(far));
        directory.close();
        uncleanWith(0);
        assertThat(endAtStart()).isEqualTo(far + 2);
        directory.close();
        Files.move(file(far, ".log"), file(100, ".log"));
        uncleanWith(0);
        assertThat(endAtStart()).isEqualTo(2);
    }

    @Test
    void kafka16541_theEpochsAreRightWhereverThePowerGoesWhileTheyAreWritten() throws IOException {
        int cuts = 0;
        for (int changes = 0; cuts == changes; changes++) {
            root = Files.createDirectory(parent.resolve("cut" + changes));
            PartitionLog log = open(new FileDisk());
            log.appendMirrored(two(0));
            directory.close();
            SimDisk disk = new SimDisk(root, new Random(changes));
            log = open(disk);
            log.appendMirrored(
                    batch().offset(2).epoch(5).records(2).valueBytes(400).build());
            log.appendMirrored(
                    batch().offset(4).epoch(7).records(2).valueBytes(400).build());
            log.force();
            disk.cutAfter(changes);
            try {
                directory.close();
            } catch (SimDisk.PowerCut power) {
                cuts++;
            }
            for (boolean more : new boolean[] {false, true}) {
                Path next = Files.createDirectory(parent.resolve("cut" + changes + more));
                if (more) {
                    disk.crash(next);
                } else {
                    disk.crashToForced(next);
                }
                release();
                root = next;
                assertThat(epochs(open(new FileDisk()).view()))
                        .as("cut after %d changes", changes)
                        .isEqualTo("1@0 5@2 7@4 ");
            }
            release();
        }
        assertThat(cuts).isGreaterThan(4);
    }

    private static String epochs(LogView view) {
        StringBuilder text = new StringBuilder();
        for (int epoch = 0; epoch < 300; epoch++) {
            int each = epoch;
            view.startOfEpoch(epoch)
                    .ifPresent(
                            start -> text.append(each).append('@').append(start).append(' '));
        }
        return text.toString();
    }

    /** No part of the file is protected by a checksum: it is the batches that tell what is right. */
    @Test
    void kafka16541_aDamagedEpochCheckpointIsRebuiltFromTheBatches() throws IOException {
        PartitionLog log = open(new FileDisk());
        for (int i = 0; i < 12; i++) {
            log.appendMirrored(batch(i, 10 + i / 4, 1));
        }
        directory.close();
        Path checkpoint = root.resolve(NAME.toString()).resolve("leader-epoch-checkpoint");
        byte[] right = Files.readAllBytes(checkpoint);
        for (int bit = 0; bit < right.length * 8; bit += bit % 8 == 4 ? 4 : 1) { // those that make other digits
            byte[] wrong = right.clone();
            wrong[bit / 8] ^= (byte) (1 << bit % 8);
            Files.write(checkpoint, wrong);
            LogView view = open(new FileDisk()).view();
            for (int offset = 0; offset < 12; offset++) {
                assertThat(view.epochAt(offset))
                        .as("epoch of %d with bit %d wrong", offset, bit)
                        .isEqualTo(10 + offset / 4);
            }
            directory.close();
        }
        for (int length = 0; length < right.length; length++) {
            Files.write(checkpoint, Arrays.copyOf(right, length));
            LogView view = open(new FileDisk()).view();
            assertThat(view.endOfEpoch(10)).contains(new LogView.EpochEnd(10, 4));
            assertThat(view.endOfEpoch(11)).contains(new LogView.EpochEnd(11, 8));
            directory.close();
        }
    }

    /** Segments of many batches, all on disk, and a compaction that was about to replace some of them. */
    @Test
    void kafka12520_leftoversOfACompactionDoNotMakeARecoveryReadTheLogAgain() throws IOException {
        options = new LogOptions(60_000, Long.MAX_VALUE, 1_000, 4096);
        PartitionLog log = open(new FileDisk());
        for (int i = 0; log.view().sizeInBytes() < 600_000; i++) {
            log.appendMirrored(
                    batch().offset(i).producer(7, 0, i).valueBytes(12_000).build());
        }
        List<Long> bases = ((SegmentedView) log.view())
                .segments().all().stream().map(Segment::baseOffset).toList();
        long end = log.view().endOffset();
        directory.close();
        uncleanWith(end);
        for (int swapped : new int[] {2, 5}) {
            for (String kind : List.of(".log", ".index", ".timeindex")) {
                Files.copy(file(bases.get(swapped), kind), file(bases.get(swapped), kind + ".swap"));
            }
        }
        for (String kind : List.of(".log", ".index", ".timeindex")) { // one of them half way through, one not begun
            Files.move(file(bases.get(2), kind), file(bases.get(2), kind + ".deleted"));
            Files.copy(file(bases.get(8), kind), file(bases.get(8), kind + ".cleaned"));
        }
        CountingDisk disk = new CountingDisk();
        log = open(disk);
        assertThat(((SegmentedLog) log).producers().entries()).hasSize(1);
        for (int i = 0; i < bases.size(); i++) {
            Path file = file(bases.get(i), ".log");
            boolean last = i == bases.size() - 1; // whose bytes are checked; of the others headers alone are read
            long size = Files.size(file);
            assertThat(disk.bytesRead(file)).as("of %s", file).isBetween(1L, last ? 2 * size : size / 2);
        }
        for (int swapped : new int[] {2, 5}) { // looked through once, to see that it is whole
            Path file = file(bases.get(swapped), ".log");
            assertThat(disk.bytesRead(Path.of(file + ".swap"))).isBetween(1L, 2 * Files.size(file));
        }
        assertThat(disk.bytesRead(file(bases.get(8), ".log.cleaned"))).isZero();
        assertThat(LogModel.offsets(log.view())).hasSize((int) end);
        try (Stream<Path> files = Files.list(root.resolve(NAME.toString()))) {
            assertThat(files.map(Path::toString)).noneMatch(name -> name.matches(".*(swap|cleaned|deleted)"));
        }
    }

    /** The batch in front is a header and a hole: only headers are read after a clean stop. */
    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 1})
    void kafka1670_aSegmentIsFilledUpToTheLastByteAnIntCanNameAndNotBeyond(int over) throws IOException {
        options = new LogOptions(Integer.MAX_VALUE, Long.MAX_VALUE, 0, 4096);
        open(new FileDisk());
        directory.close();
        ByteBuffer second = batch(1, 1, 1);
        int giant = Integer.MAX_VALUE - second.limit() + over;
        ByteBuffer header = batch(0, 1, 1);
        header.putInt(8, giant - 12);
        try (FileChannel channel = FileChannel.open(file(0, ".log"), StandardOpenOption.WRITE)) {
            channel.write(header.limit(61), 0);
            channel.write(ByteBuffer.allocate(1), giant - 1L);
        }
        PartitionLog log = open(new FileDisk());
        assertThat(log.view().endOffset()).isEqualTo(1);
        log.appendMirrored(second);
        log.appendMirrored(batch(2, 1, 1));
        boolean fits = over <= 0;
        assertThat(file(0, ".log")).hasSize(fits ? (long) giant + second.limit() : giant);
        assertThat(Files.exists(file(1, ".log"))).isEqualTo(!fits);
        assertThat(Files.exists(file(2, ".log"))).isEqualTo(fits);
        assertThat(log.view().sizeInBytes()).isEqualTo(giant + 2L * second.limit());
        for (int start = 0; start < 2; start++) {
            for (long offset = 1; offset < 3; offset++) {
                try (LogSlice slice =
                        log.view().read(offset, Long.MAX_VALUE, 10_000, true).orElseThrow()) {
                    assertThat(LogModel.entries(slice).get(0).base()).isEqualTo(offset);
                }
            }
            directory.close();
            log = open(new FileDisk());
        }
        log.truncateTo(1);
        assertThat(log.view().endOffset()).isEqualTo(1);
        assertThat(file(0, ".log")).hasSize(giant);
        directory.close();
    }
}
