package io.kagami.log;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.BatchWalker;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.EpochHistory;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.Disk;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentList;
import io.kagami.log.segment.SegmentLoad;
import io.kagami.log.segment.SegmentSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log as a list of segments. One writer thread; {@link #force()} may come from any thread, so that waiting for a disk need not
 * hold up appends.
 */
final class SegmentedLog implements PartitionLog {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentedLog.class);

    private final Disk disk;
    private final Path directory;
    private final LogName name;
    private final UUID topicId;
    private final InstantSource clock;
    private final Lowering lowering;
    private final Object recoveryLock = new Object();
    private LogOptions options;
    private SegmentList segments;
    private Segment active;
    private long startOffset;
    private long endOffset;
    private EpochHistory epochs;
    private ProducerTable producers;
    private long sealedBytes;
    private volatile SegmentedView view;
    private volatile StorageFault offline;
    private volatile boolean directoryChanged = true;
    private volatile long recoveryPoint;
    private volatile long startToWrite;
    private int truncations;
    private boolean cutting;
    private boolean released;

    /** Makes what was written down about a log durably no higher than an offset, before the log is cut there. */
    interface Lowering {
        void lower(LogName name, long offset) throws IOException;
    }

    SegmentedLog(
            Disk disk,
            Path directory,
            LogName name,
            UUID topicId,
            LogOptions options,
            InstantSource clock,
            Lowering lowering,
            LogLoader.State state,
            long recoveryPoint) {
        this.disk = disk;
        this.directory = directory;
        this.name = name;
        this.topicId = topicId;
        this.options = options;
        this.clock = clock;
        this.lowering = lowering;
        this.startOffset = state.startOffset();
        this.startToWrite = state.startOffset();
        this.endOffset = state.endOffset();
        this.epochs = state.epochs();
        this.producers = state.producers();
        this.recoveryPoint = Math.min(recoveryPoint, state.endOffset());
        use(state.segments());
        publish();
    }

    @Override
    public LogName name() {
        return name;
    }

    @Override
    public UUID topicId() {
        return topicId;
    }

    @Override
    public LogView view() {
        return view;
    }

    @Override
    public boolean offline() {
        return offline != null;
    }

    @Override
    public Appended append(ByteBuffer batches, int leaderEpoch) {
        requireOnline();
        long next = endOffset;
        int limit = batches.limit();
        for (int at = batches.position(); at < limit; at += BatchHeader.sizeInBytes(batches, at)) {
            requireWhole(batches, at);
            if (BatchHeader.magic(batches, at) != 2) {
                throw new IllegalArgumentException(
                        "only v2 batches are appended to " + name + ", not v" + BatchHeader.magic(batches, at));
            }
            BatchHeader.stampBaseOffset(batches, at, next);
            BatchHeader.stampLeaderEpoch(batches, at, leaderEpoch);
            next = BatchHeader.lastOffset(batches, at) + 1;
        }
        return write(batches, endOffset);
    }

    @Override
    public Appended appendMirrored(ByteBuffer batches) {
        requireOnline();
        long next = endOffset;
        int limit = batches.limit();
        for (int at = batches.position(); at < limit; at += BatchHeader.sizeInBytes(batches, at)) {
            requireWhole(batches, at);
            long base = BatchHeader.baseOffset(batches, at);
            if (base < next) {
                throw new IllegalArgumentException("batch with base offset " + base + " does not continue " + name
                        + ", which ends at " + next + " with the batches before it");
            }
            next = BatchHeader.lastOffset(batches, at) + 1;
        }
        return write(batches, batches.hasRemaining() ? BatchHeader.baseOffset(batches, batches.position()) : endOffset);
    }

    private void requireWhole(ByteBuffer batches, int at) {
        int rest = batches.limit() - at;
        String wrong = rest < BatchHeader.MAGIC_END || rest < BatchHeader.sizeMin(BatchHeader.magic(batches, at))
                ? "it is torn"
                : BatchWalker.headerFault(batches, at);
        if (wrong == null && BatchHeader.sizeInBytes(batches, at) > rest) {
            wrong = "it is torn";
        }
        if (wrong != null) {
            throw new IllegalArgumentException(
                    "batch at byte " + (at - batches.position()) + " cannot be appended to " + name + ": " + wrong);
        }
    }

    /** Writes checked batches in as few writes as segments allow: one, unless a segment ends in between. */
    private Appended write(ByteBuffer batches, long baseOffset) {
        int start = batches.position();
        int limit = batches.limit();
        int runStart = start;
        int entries = 0;
        long since = active.bytesSinceEntry();
        long nowMs = clock.millis();
        try {
            for (int at = start; at < limit; ) {
                int size = BatchHeader.sizeInBytes(batches, at);
                long last = BatchHeader.lastOffset(batches, at);
                boolean full = active.isFullFor(at - runStart, entries, size, last, options.segmentBytes());
                if (full || isDue(BatchHeader.maxTimestamp(batches, at), nowMs)) {
                    writeRun(batches, runStart, at);
                    rollFor(batches, at, nowMs);
                    runStart = at;
                    entries = 0;
                    since = 0;
                }
                if (since > active.indexIntervalBytes()) {
                    entries++;
                    since = 0;
                }
                since += size;
                at += size;
            }
            writeRun(batches, runStart, limit);
        } catch (IOException e) {
            throw goOffline("append", e);
        }
        publish();
        batches.position(limit);
        return new Appended(baseOffset, endOffset, limit - start);
    }

    private boolean isDue(long timestampMs, long nowMs) {
        return active.size() > 0 && active.ageMs(timestampMs, nowMs) > options.segmentMs();
    }

    /**
     * A segment begins where the one before ends, also when offsets are missing there: after a power cut a gap between two segments
     * then means lost bytes. Only an offset too far away for the index needs a gap, behind an empty segment.
     */
    private void rollFor(ByteBuffer batches, int at, long nowMs) throws IOException {
        if (active.size() > 0) {
            roll(endOffset, nowMs);
        }
        if (BatchHeader.lastOffset(batches, at) - active.baseOffset() > Integer.MAX_VALUE) {
            roll(firstOffsetOf(batches, at), nowMs);
        }
    }

    /** Where a segment that begins with this batch begins; a v0/v1 wrapper tells its last offset only. */
    private long firstOffsetOf(ByteBuffer batches, int at) {
        long base = BatchHeader.baseOffset(batches, at);
        return BatchHeader.magic(batches, at) >= 2 ? base : Math.max(endOffset, base - Integer.MAX_VALUE);
    }

    private void writeRun(ByteBuffer batches, int from, int to) throws IOException {
        if (from == to) {
            return;
        }
        active.write(batches.duplicate().position(from).limit(to));
        int position = active.size();
        for (int at = from; at < to; ) {
            int size = BatchHeader.sizeInBytes(batches, at);
            active.learn(batches, at, position);
            epochs = epochs.assign(BatchHeader.leaderEpoch(batches, at), BatchHeader.baseOffset(batches, at));
            boolean control = BatchHeader.control(batches, at);
            int type = control ? ControlRecord.type(batches, at + BatchHeader.V2_HEADER, at + size) : -1;
            Aborted aborted = producers.onBatch(batches, at, type);
            if (aborted != null) {
                active.aborted().append(aborted);
            }
            endOffset = BatchHeader.lastOffset(batches, at) + 1;
            position += size;
            at += size;
        }
        active.publish(position);
    }

    private void roll(long baseOffset, long nowMs) throws IOException {
        active.seal();
        Segment next = Segment.create(disk, directory, baseOffset, settings(), nowMs);
        directoryChanged = true;
        use(segments.plus(next));
    }

    @Override
    public void rollIfDue(long nowMs) {
        if (offline == null && isDue(nowMs, nowMs)) {
            try {
                roll(endOffset, nowMs);
            } catch (IOException e) {
                throw goOffline("roll", e);
            }
            publish();
        }
    }

    @Override
    public void truncateTo(long newEnd) {
        requireOnline();
        if (newEnd < startOffset) {
            restartAt(newEnd);
            return;
        }
        if (newEnd >= endOffset) {
            epochs = epochs.truncateFromEnd(newEnd);
            publish();
            return;
        }
        try {
            lowerTo(newEnd);
            int keep = segments.floor(newEnd);
            removeFrom(keep + 1);
            endOffset = cut(segments.get(keep), newEnd, keep);
            epochs = epochs.truncateFromEnd(endOffset);
            if (endOffset < newEnd) {
                lowerTo(endOffset); // the cut fell into a batch or into missing offsets
            }
            if (!producers.unchangedBelow(newEnd)) {
                producers = scanProducers();
            }
        } catch (IOException e) {
            throw goOffline("truncate", e);
        }
        if (endOffset < startOffset) {
            restartAt(startOffset); // the batch that holds the log start was cut
            return;
        }
        LOG.atInfo()
                .addKeyValue("log", name)
                .addKeyValue("asked", newEnd)
                .addKeyValue("endOffset", endOffset)
                .log("Log truncated");
        publishCut();
    }

    /** Everything derived is lowered durably before a byte of the log goes, or a crash in between would leave it too high. */
    private void lowerTo(long offset) throws IOException {
        synchronized (recoveryLock) {
            truncations++;
            cutting = true;
            long lower = Math.min(recoveryPoint, offset);
            recoveryPoint = lower;
        }
        long start = Math.min(startToWrite, offset);
        startToWrite = start;
        lowering.lower(name, offset);
    }

    /** The view shows the cut: what is forced from now on counts again. */
    private void publishCut() {
        publish();
        synchronized (recoveryLock) {
            cutting = false;
        }
    }

    /** Last segment first: whatever a crash leaves is an older, shorter state of this log. */
    private void removeFrom(int index) throws IOException {
        for (int i = segments.count() - 1; i >= index; i--) {
            segments.get(i).deleteFiles();
        }
        disk.forceDirectory(directory);
        List<Segment> gone = segments.without(index).all();
        segments = segments.first(index);
        for (Segment segment : gone) {
            segment.release();
        }
    }

    /** Shortens a segment and opens it again as the one to append to; readers of the old one keep its mapped indexes. */
    private long cut(Segment old, long newEnd, int index) throws IOException {
        BatchScan found = old.find(newEnd, old.size(), ByteBuffer.allocateDirect(BatchScan.WINDOW_BYTES));
        int bytes = found == null ? old.size() : (int) found.position();
        Map<Long, Aborted> byMarker = new HashMap<>();
        old.aborted().entries().forEach(entry -> byMarker.put(entry.lastOffset(), entry));
        old.cutTo(bytes);
        SegmentLoad load =
                new SegmentLoad(disk, directory, settings(), batch -> byMarker.get(batch.lastOffset()), clock.millis());
        SegmentLoad.Loaded loaded = load.load(old.baseOffset(), 0, new SegmentLoad.Mode(false, false, true));
        use(segments.first(index).plus(loaded.segment()));
        old.release();
        directoryChanged = true;
        return loaded.endOffset();
    }

    private ProducerTable scanProducers() throws IOException {
        ProducerTable table = new ProducerTable();
        table.atLeast(producers.maxProducerId());
        for (Segment segment : segments.all()) {
            BatchScan scan = new BatchScan(segment.channel(), 0, segment.size());
            while (scan.next()) {
                int controlType = scan.controlType();
                table.onBatch(scan.header(), scan.at(), controlType);
            }
        }
        return table;
    }

    @Override
    public void restartAt(long offset) {
        requireOnline();
        if (offset < 0) {
            throw new IllegalArgumentException("log " + name + " cannot start at " + offset);
        }
        try {
            lowerTo(offset);
            removeFrom(0);
            use(SegmentList.of(List.of(Segment.create(disk, directory, offset, settings(), clock.millis()))));
            directoryChanged = true;
        } catch (IOException e) {
            throw goOffline("restart", e);
        }
        long maxProducerId = producers.maxProducerId();
        producers = new ProducerTable();
        producers.atLeast(maxProducerId);
        epochs = EpochHistory.EMPTY;
        startOffset = offset;
        endOffset = offset;
        startToWrite = offset;
        LOG.atInfo().addKeyValue("log", name).addKeyValue("offset", offset).log("Log emptied and restarted");
        publishCut();
    }

    @Override
    public void advanceStart(long newStart) {
        requireOnline();
        if (newStart > endOffset) {
            throw new IllegalArgumentException(
                    "log " + name + " cannot start at " + newStart + ", above its end " + endOffset);
        }
        if (newStart <= startOffset) {
            return;
        }
        startOffset = newStart;
        startToWrite = newStart;
        epochs = epochs.truncateFromStart(newStart);
        int gone = 0;
        while (gone + 1 < segments.count() && segments.get(gone + 1).baseOffset() <= newStart) {
            gone++;
        }
        List<Segment> dropped = segments.first(gone).all();
        use(segments.without(gone));
        publish();
        try {
            for (Segment segment : dropped) {
                segment.deleteFiles();
                segment.release();
            }
        } catch (IOException e) {
            throw goOffline("delete segments", e);
        }
    }

    @Override
    public void reconfigure(LogOptions newOptions) {
        options = newOptions;
    }

    @Override
    public void force() {
        force(true);
    }

    /** Forces the segments that are no longer appended to, as a rule long after the kernel has written them. Any thread. */
    void forceSealed() {
        force(false);
    }

    private void force(boolean activeToo) {
        requireOnline();
        int generation;
        long from;
        SegmentedView seen;
        synchronized (recoveryLock) {
            generation = cutting ? -1 : truncations;
            from = recoveryPoint;
            seen = view;
        }
        SegmentList list = seen.segments();
        long point = activeToo ? seen.endOffset() : list.last().baseOffset();
        try {
            for (int i = list.floor(from); i < list.count() - (activeToo ? 0 : 1) && point > from; i++) {
                forceOne(list.get(i));
            }
            if (directoryChanged) {
                directoryChanged = false;
                disk.forceDirectory(directory);
            }
        } catch (IOException e) {
            throw goOffline("force", e);
        }
        synchronized (recoveryLock) {
            if (generation == truncations) {
                long higher = Math.max(recoveryPoint, point);
                recoveryPoint = higher;
            }
        }
    }

    private static void forceOne(Segment segment) throws IOException {
        if (segment.retain()) { // else it left the log meanwhile
            try {
                segment.force();
            } finally {
                segment.release();
            }
        }
    }

    /** All bytes below are on disk. Any thread. */
    long recoveryPoint() {
        return recoveryPoint;
    }

    /** The log start to write down; lowered before a restart below it. Any thread. */
    long startToWrite() {
        return startToWrite;
    }

    /** Ends the log: everything on disk, files closed once their last reader is gone. False when that cannot be vouched for. */
    boolean close() {
        boolean clean = offline == null;
        if (clean) {
            try {
                active.seal();
                force();
                LogLoader.writeEpochs(disk, directory, epochs);
            } catch (IOException | StorageFault e) {
                LOG.atError().addKeyValue("log", name).setCause(e).log("Log could not be closed cleanly");
                clean = false;
            }
        }
        return release("it is closed") && clean;
    }

    /** Gives up the files without touching them further. */
    boolean release(String why) {
        boolean clean = true;
        if (released) {
            return true;
        }
        released = true;
        if (offline == null) {
            offline = new StorageFault("log " + name + " is offline: " + why, null);
        }
        for (Segment segment : segments.all()) {
            try {
                segment.release();
            } catch (IOException e) {
                LOG.atError().addKeyValue("log", name).setCause(e).log("Segment could not be closed");
                clean = false;
            }
        }
        return clean;
    }

    private SegmentSettings settings() {
        return new SegmentSettings(options.indexIntervalBytes(), options.indexBytesMax());
    }

    private void use(SegmentList list) {
        segments = list;
        active = list.last();
        sealedBytes = list.sizeInBytes() - active.size();
    }

    private void publish() {
        view = new SegmentedView(
                name,
                segments,
                startOffset,
                endOffset,
                producers.lastStableOffset(endOffset),
                epochs,
                producers.maxProducerId(),
                sealedBytes + active.size());
    }

    private void requireOnline() {
        StorageFault fault = offline;
        if (fault != null) {
            throw new StorageFault("log " + name + " is offline: " + fault.getMessage(), fault);
        }
    }

    private StorageFault goOffline(String doing, IOException e) {
        StorageFault fault = new StorageFault("cannot " + doing + " log " + name + " in " + directory + ": " + e, e);
        offline = fault;
        LOG.atError()
                .addKeyValue("log", name)
                .addKeyValue("directory", directory)
                .setCause(e)
                .log("Disk failed; the log is offline until the broker restarts");
        return fault;
    }
}
