package io.kagami.log;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.EpochHistory;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.Disk;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.Damage;
import io.kagami.log.segment.FileNames;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentList;
import io.kagami.log.segment.SegmentLoad;
import io.kagami.log.segment.SegmentLoad.Loaded;
import io.kagami.log.segment.SegmentLoad.Mode;
import io.kagami.log.segment.SegmentSettings;
import io.kagami.log.segment.TrustedLoad;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens the segments of one directory. After a clean stop little is read: the ends of the segments, the epoch checkpoint, the newest
 * producer snapshot and the batches behind it. When anything of that is missing or does not fit, the headers of the whole log are read
 * and give epochs and indexes. After an unclean stop that is always so, and the segments that reach above the recovery point, and
 * always the last one, are checked byte by byte and cut behind the last good batch, as Apache Kafka does. Producers come from the newest
 * snapshot below what is doubtful and the batches behind it, or from all batches when there is none. What is
 * damaged below the recovery point is {@link Damage}: nothing is cut then, and the log does not open.
 */
final class LogLoader implements SegmentLoad.Sink {
    private static final Logger LOG = LoggerFactory.getLogger(LogLoader.class);
    private static final List<String> LEFTOVERS =
            List.of(Checkpoint.TEMPORARY, FileNames.DELETED, FileNames.CLEANED, FileNames.SWAP);

    /** Retention may have moved the first segment since the last clean stop, so that a later start cannot know it without this. */
    private static final String FIRST_MISSING = "first-segment-missing";

    /** Less than the 2^31-1 that makes a jump necessary, since the batch behind it has a length. */
    private static final long FAR = 1L << 30;

    private final Disk disk;
    private final Path directory;
    private final SegmentSettings settings;
    private final long nowMs;
    private final long producerExpiryMs;
    private final ProducerTable seen = new ProducerTable();
    private EpochHistory epochs = EpochHistory.EMPTY;
    private ProducerSnapshots.Loaded snapshot;
    private long unbrokenFrom;

    /**
     * What is known before.
     *
     * @param clean whether the last stop was clean
     * @param recoveryPoint all bytes below were forced; 0 when not known
     * @param startOffset the log start last written down, 0 when not known
     * @param unbrokenFrom a segment that begins above this begins where the one before ends; -1 when not known
     */
    record Before(boolean clean, long recoveryPoint, long startOffset, long unbrokenFrom) {
        static final Before NOTHING = new Before(true, 0, 0, -1);
    }

    /**
     * A log ready for use; the caller owns the segments.
     *
     * @param unbrokenFrom base offset of the last segment with a gap before it, or of the first one
     */
    record State(
            SegmentList segments,
            long unbrokenFrom,
            long startOffset,
            long endOffset,
            EpochHistory epochs,
            ProducerTable producers,
            ProducerSnapshots snapshots) {}

    /** @param producerExpiryMs see {@link LogOptions} */
    LogLoader(Disk disk, Path directory, SegmentSettings settings, long producerExpiryMs, long nowMs) {
        this.producerExpiryMs = producerExpiryMs;
        this.disk = disk;
        this.directory = directory;
        this.settings = settings;
        this.nowMs = nowMs;
    }

    State load(Before before) throws IOException {
        new SwapRecovery(disk, directory).run();
        List<Long> bases = List.copyOf(segmentBases());
        refuseIfGone(bases, before);
        tidy(bases);
        ProducerSnapshots snapshots = ProducerSnapshots.open(disk, directory);
        snapshots.removeStray(bases);
        unbrokenFrom = bases.isEmpty() ? 0 : bases.get(0);
        State trusted = before.clean() ? trust(bases, before, snapshots) : null;
        State state = trusted == null ? walk(bases, before, snapshots) : trusted;
        state.producers().expire(nowMs, producerExpiryMs);
        return state;
    }

    /** Reads the headers of the whole log, and the bytes of what is doubtful. */
    private State walk(List<Long> bases, Before before, ProducerSnapshots snapshots) throws IOException {
        snapshot = snapshots.load(firstDoubtful(bases, before));
        if (snapshot != null && !bases.isEmpty() && snapshot.offset() < bases.get(0)) {
            // it is of a log that was longer: what came between is unknown, and nobody may be refused for it
            seen.atLeast(snapshot.table().maxProducerId());
            snapshot = null;
        }
        List<Segment> segments = new ArrayList<>();
        try {
            long end = loadAll(bases, before, segments, snapshots);
            long start = Math.max(before.startOffset(), bases.isEmpty() ? 0 : bases.get(0));
            ProducerTable producers = snapshot == null || snapshot.offset() > end ? seen : snapshot.table();
            producers.atLeast(seen.maxProducerId());
            if (segments.isEmpty() || end < start) {
                restart(segments, start, end);
                end = start;
                producers.reset();
                snapshots.removeAbove(-1);
            }
            snapshots.removeAbove(end);
            epochs = epochs.truncateFromStart(start);
            EpochHistory known = before.clean() ? readEpochs(start, end).orElse(epochs) : epochs;
            return new State(SegmentList.of(segments), unbrokenFrom, start, end, known, producers, snapshots);
        } catch (IOException | RuntimeException e) {
            for (Segment segment : segments) {
                segment.release();
            }
            throw e;
        }
    }

    /** A snapshot at or below it describes batches that are there for certain. */
    private static long firstDoubtful(List<Long> bases, Before before) {
        int first = Math.max(0, bases.size() - 1);
        while (!before.clean() && first > 0 && bases.get(first) > before.recoveryPoint()) {
            first--;
        }
        return bases.isEmpty() ? 0 : bases.get(first);
    }

    /** The short way after a clean stop; null when something does not fit. */
    private State trust(List<Long> bases, Before before, ProducerSnapshots snapshots) throws IOException {
        TrustedLoad load = new TrustedLoad(disk, directory, settings, nowMs);
        List<Segment> segments = new ArrayList<>();
        State state = null;
        try {
            long end = bases.isEmpty() ? 0 : bases.get(0);
            long start = Math.max(before.startOffset(), end);
            for (int i = 0; i < bases.size(); i++) {
                TrustedLoad.Loaded loaded = load.load(bases.get(i), end, i == bases.size() - 1);
                if (loaded == null) {
                    return null;
                }
                segments.add(loaded.segment());
                end = loaded.endOffset();
                if (i < bases.size() - 1 && !continues(loaded.segment(), end, bases.get(i + 1))) {
                    if (bases.get(i + 1) > before.unbrokenFrom() && before.unbrokenFrom() >= 0) {
                        return null;
                    }
                    unbrokenFrom = bases.get(i + 1);
                }
                if (loaded.lastBatchOffset() >= start) {
                    epochs = epochs.assign(loaded.lastEpoch(), loaded.lastBatchOffset());
                }
            }
            boolean doubtful = segments.isEmpty() || end < start || end < before.recoveryPoint();
            ProducerTable producers = doubtful ? null : resume(segments, end, snapshots);
            if (producers != null) {
                SegmentList list = SegmentList.of(segments);
                EpochHistory known = readEpochs(start, end).orElse(EpochHistory.EMPTY);
                boolean right = agree(known, list, start) && known.lastEpoch() >= epochs.lastEpoch();
                state = right ? new State(list, unbrokenFrom, start, end, known, producers, snapshots) : null;
            }
            return state;
        } finally {
            if (state == null) {
                epochs = EpochHistory.EMPTY;
                unbrokenFrom = bases.isEmpty() ? 0 : bases.get(0);
                for (Segment segment : segments) {
                    segment.release();
                }
            }
        }
    }

    /** Whether each epoch begins with a batch of that epoch and behind one that is not. */
    private static boolean agree(EpochHistory known, SegmentList segments, long start) throws IOException {
        ByteBuffer window = ByteBuffer.allocateDirect(BatchScan.WINDOW_BYTES);
        boolean right = true;
        for (EpochHistory.Entry entry : known.entries()) {
            long offset = Math.max(start, entry.startOffset());
            right &= agreeAt(offset, known, segments, start, window)
                    && (offset == start || agreeAt(offset - 1, known, segments, start, window));
        }
        return right;
    }

    private static boolean agreeAt(long offset, EpochHistory known, SegmentList segments, long start, ByteBuffer window)
            throws IOException {
        Segment segment = segments.get(segments.floor(offset));
        BatchScan found = segment.find(offset, segment.size(), window);
        return found == null
                || found.baseOffset() < start
                || known.epochAt(found.baseOffset()) == BatchHeader.leaderEpoch(found.header(), found.at());
    }

    /** The newest snapshot and the batches behind it; null when there is none of ours, or the batches cannot be read. */
    private ProducerTable resume(List<Segment> segments, long end, ProducerSnapshots snapshots) throws IOException {
        snapshots.removeAbove(end);
        ProducerSnapshots.Loaded newest = snapshots.load(end);
        if (newest == null || !newest.complete()) {
            boolean empty = segments.stream().allMatch(segment -> segment.size() == 0);
            return empty && newest == null ? new ProducerTable() : null;
        }
        boolean whole = ProducerRebuild.from(newest.offset(), SegmentList.of(segments), newest.table());
        return whole ? newest.table() : null;
    }

    private NavigableSet<Long> segmentBases() throws IOException {
        NavigableSet<Long> bases = new TreeSet<>();
        for (Path file : disk.list(directory)) {
            FileNames.baseOffset(file, FileNames.LOG).ifPresent(bases::add);
        }
        return bases;
    }

    /**
     * Whatever empties a log lowers its recovery point first (and its start with it), and a new segment is there before retention takes the
     * last old one; so files that are missing against this were taken by somebody else.
     */
    private void refuseIfGone(List<Long> bases, Before before) throws IOException {
        Path mark = directory.resolve(FIRST_MISSING);
        if (bases.isEmpty()) {
            refuseIfForced(0, before);
        } else if (before.unbrokenFrom() >= 0
                && bases.get(0) > before.unbrokenFrom()
                && (before.clean() || disk.exists(mark))) {
            Checkpoint.writeText(disk, mark, "offset " + before.unbrokenFrom() + "\n");
            throw missing(before.unbrokenFrom(), bases.get(0));
        }
        disk.delete(mark);
    }

    private Damage missing(long from, long to) {
        return new Damage("offsets " + from + " to " + (to - 1) + " are missing in " + directory
                + ": segment files that were there are gone or cut. Restore them; or, to go on without, take the line of"
                + " this log out of " + OffsetFiles.UNBROKEN_OFFSETS + " while the broker is stopped; or remove the"
                + " partition directory to begin it anew (a mirror fills it again from its source)");
    }

    /** Removes what a crash may leave half done. */
    private void tidy(List<Long> bases) throws IOException {
        for (Path file : disk.list(directory)) {
            String name = file.getFileName().toString();
            boolean leftover = LEFTOVERS.stream().anyMatch(name::endsWith);
            for (String suffix : List.of(FileNames.INDEX, FileNames.TIME_INDEX, FileNames.TXN_INDEX)) {
                var base = FileNames.baseOffset(file, suffix);
                leftover |= base.isPresent() && !bases.contains(base.getAsLong());
            }
            if (leftover) {
                LOG.atInfo().addKeyValue("file", file).log("Removing a file that an unfinished change left behind");
                disk.delete(file);
            }
        }
    }

    private long loadAll(List<Long> bases, Before before, List<Segment> segments, ProducerSnapshots snapshots)
            throws IOException {
        SegmentLoad load = new SegmentLoad(disk, directory, settings, this, nowMs);
        long end = bases.isEmpty() ? 0 : bases.get(0);
        long forcedTo = before.clean() && before.recoveryPoint() == 0 ? Long.MAX_VALUE : before.recoveryPoint();
        for (int i = 0; i < bases.size(); i++) {
            if (i > 0) {
                noteProducers(bases.get(i), snapshots);
            }
            boolean last = i == bases.size() - 1;
            boolean suspect = !before.clean() && (last || bases.get(i + 1) > before.recoveryPoint());
            Loaded loaded = load.load(bases.get(i), end, new Mode(suspect, suspect || last, suspect || last, forcedTo));
            segments.add(loaded.segment());
            end = loaded.endOffset();
            boolean gap = !last && !continues(loaded.segment(), end, bases.get(i + 1));
            boolean lost = suspect && gap;
            if (loaded.faultyBytes() > 0 || lost) {
                refuseIfForced(end, before);
                logCut(loaded, before, bases.size() - 1 - i);
                for (int later = bases.size() - 1; later > i; later--) {
                    Segment.deleteFiles(disk, directory, bases.get(later));
                }
                disk.forceDirectory(directory); // or another power cut could bring them back, behind newer batches
                return end;
            }
            if (gap) {
                // of Apache Kafka's segments it may be right, and then it was there when the log was first opened
                if (before.unbrokenFrom() >= 0 && bases.get(i + 1) > before.unbrokenFrom()) {
                    throw missing(end, bases.get(i + 1));
                }
                unbrokenFrom = bases.get(i + 1);
            }
            if (suspect && !last) {
                loaded.segment().seal();
            }
        }
        refuseIfForced(end, before);
        return end;
    }

    /** The snapshot of a roll may not have been written; it is all that is left once the segments before it are deleted. */
    private void noteProducers(long base, ProducerSnapshots snapshots) throws IOException {
        ProducerTable table = snapshot == null ? seen : snapshot.table();
        boolean complete = snapshot == null || snapshot.offset() <= base;
        if (complete && !table.entries().isEmpty()) {
            snapshots.takeIfAbsent(base, table);
        }
    }

    /** See the roll of {@link SegmentedLog}: segments are written without gaps, but for jumps that no index can hold. */
    private static boolean continues(Segment segment, long endOffset, long nextBase) {
        long gap = nextBase - endOffset;
        return gap == 0 || (segment.size() == 0 && gap > FAR);
    }

    /** Bytes that are missing where they were known to be on disk are not a crash's doing. */
    private void refuseIfForced(long end, Before before) throws Damage {
        if (end < before.recoveryPoint()) {
            throw new Damage("the log in " + directory + " ends at offset " + end
                    + ", although everything below offset "
                    + before.recoveryPoint() + " was once known to be on disk: batches or segment files are missing."
                    + " Restore the files, or remove the partition directory to begin it anew (a mirror fills it again"
                    + " from its source)");
        }
    }

    private void logCut(Loaded loaded, Before before, int segmentsAfter) {
        LOG.atWarn()
                .addKeyValue("segment", loaded.segment().path())
                .addKeyValue("offset", loaded.endOffset())
                .addKeyValue("recoveryPoint", before.recoveryPoint())
                .addKeyValue("bytesCut", loaded.faultyBytes())
                .addKeyValue("segmentsRemoved", segmentsAfter)
                .addKeyValue("reason", loaded.fault() == null ? "torn or missing batches" : loaded.fault())
                .log("The tail of the log was not completely written when the broker stopped; it was cut");
    }

    private void restart(List<Segment> segments, long start, long end) throws IOException {
        if (!segments.isEmpty()) {
            LOG.atWarn()
                    .addKeyValue("directory", directory)
                    .addKeyValue("startOffset", start)
                    .addKeyValue("endOffset", end)
                    .log("The log ends below its start; it is emptied and begins at its start");
        }
        boolean removed = !segments.isEmpty();
        // the new one first, the old one that reaches the recovery point last: a crash in between must not look like a
        // loss
        segments.add(Segment.create(disk, directory, start, settings, nowMs));
        while (segments.size() > 1) {
            segments.get(0).deleteFiles();
            segments.remove(0).release();
        }
        if (removed) { // a new log has nothing that could come back
            disk.forceDirectory(directory);
        }
        epochs = EpochHistory.EMPTY;
    }

    @Override
    public Aborted onBatch(BatchScan batch) throws IOException {
        ControlRecord control = batch.control(); // may move the window
        int epoch = BatchHeader.leaderEpoch(batch.header(), batch.at());
        epochs = epochs.assign(epoch, batch.baseOffset());
        if (snapshot != null && batch.baseOffset() >= snapshot.offset()) {
            snapshot.table().onBatch(batch.header(), batch.at(), control);
        }
        return seen.onBatch(batch.header(), batch.at(), control);
    }

    /** The history written at the last clean stop; empty when it is missing, corrupt or contradicts the batches. */
    private Optional<EpochHistory> readEpochs(long start, long end) throws IOException {
        Optional<List<String>> lines = Checkpoint.readTable(disk, directory.resolve(FileNames.EPOCHS));
        if (lines.isEmpty()) {
            return Optional.empty();
        }
        EpochHistory history = EpochHistory.EMPTY;
        try {
            for (String line : lines.get()) {
                String[] fields = line.split(" ");
                history = history.assign(Integer.parseInt(fields[0]), Long.parseLong(fields[1]));
            }
        } catch (NumberFormatException | ArrayIndexOutOfBoundsException corrupt) {
            history = EpochHistory.EMPTY;
        }
        boolean right = history.entries().size() == lines.get().size();
        history = history.truncateFromStart(start).truncateFromEnd(end + 1);
        for (EpochHistory.Entry batch : epochs.entries()) {
            right &= history.epochAt(batch.startOffset()) == batch.epoch();
        }
        if (!right) {
            LOG.atWarn()
                    .addKeyValue("directory", directory)
                    .log("The leader epoch checkpoint does not fit the log; it is rebuilt from the batches");
            return Optional.empty();
        }
        return Optional.of(history);
    }

    static void writeEpochs(Disk disk, Path directory, EpochHistory epochs) throws IOException {
        List<String> lines = epochs.entries().stream()
                .map(entry -> entry.epoch() + " " + entry.startOffset())
                .toList();
        Path file = directory.resolve(FileNames.EPOCHS);
        if (!Checkpoint.readTable(disk, file).equals(Optional.of(lines))) {
            Checkpoint.writeTable(disk, file, lines);
        }
    }
}
