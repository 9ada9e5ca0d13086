package io.kagami.log.segment;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.disk.FileReason;
import io.kagami.log.index.AbortedTxnIndex;
import io.kagami.log.index.OffsetIndex;
import io.kagami.log.index.TimeIndex;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One segment file and its indexes, append-only. One writer; readers first take a lease ({@link #retain()}), which keeps the file
 * open and the indexes mapped, also after the segment left the log. All errors are {@link IOException}s that name the file.
 */
public final class Segment {
    private static final Logger LOG = LoggerFactory.getLogger(Segment.class);
    private static final List<String> INDEXES = List.of(FileNames.INDEX, FileNames.TIME_INDEX, FileNames.TXN_INDEX);

    private final Disk disk;
    private final Path directory;
    private final long baseOffset;
    private final DiskFile log;
    private final OffsetIndex offsets;
    private final TimeIndex times;
    private final AbortedTxnIndex aborted;
    private final SegmentSettings settings;
    private final long createdMs;
    private final AtomicInteger leases = new AtomicInteger(1);
    private volatile int size;
    private volatile TimeMark latest = TimeMark.NONE;
    private long latestMs = -1;
    private long latestBase = -1;
    private long latestLast = -1;
    private long firstTimestampMs = -1;
    private int bytesSinceEntry;

    private Segment(
            Disk disk,
            Path directory,
            long baseOffset,
            SegmentSettings settings,
            long createdMs,
            DiskFile log,
            OffsetIndex offsets,
            TimeIndex times,
            AbortedTxnIndex aborted) {
        this.disk = disk;
        this.directory = directory;
        this.baseOffset = baseOffset;
        this.settings = settings;
        this.createdMs = createdMs;
        this.log = log;
        this.offsets = offsets;
        this.times = times;
        this.aborted = aborted;
    }

    /**
     * Opens the files, which come into being when absent. A segment that has bytes is not usable before {@link SegmentLoad} has
     * been over it.
     */
    static Segment open(
            Disk disk, Path directory, long baseOffset, SegmentSettings settings, boolean growing, long nowMs)
            throws IOException {
        return open(disk, directory, baseOffset, "", settings, growing, nowMs);
    }

    private static Segment open(
            Disk disk,
            Path directory,
            long baseOffset,
            String suffix,
            SegmentSettings settings,
            boolean growing,
            long nowMs)
            throws IOException {
        DiskFile log = null;
        OffsetIndex offsets = null;
        TimeIndex times = null;
        try {
            Path file = FileNames.of(directory, baseOffset, FileNames.LOG + suffix);
            long madeMs = disk.exists(file) ? Math.min(nowMs, disk.modifiedMs(file)) : nowMs;
            log = disk.open(file);
            int max = settings.indexBytesMax();
            offsets = OffsetIndex.open(
                    disk, FileNames.of(directory, baseOffset, FileNames.INDEX + suffix), baseOffset, max, growing);
            times = TimeIndex.open(
                    disk, FileNames.of(directory, baseOffset, FileNames.TIME_INDEX + suffix), baseOffset, max, growing);
            AbortedTxnIndex aborted =
                    AbortedTxnIndex.open(disk, FileNames.of(directory, baseOffset, FileNames.TXN_INDEX + suffix));
            return new Segment(disk, directory, baseOffset, settings, madeMs, log, offsets, times, aborted);
        } catch (IOException | RuntimeException e) {
            closeQuietly(e, times, offsets, log);
            throw e;
        }
    }

    /** A new empty one; leftovers of the same name are removed first. */
    public static Segment create(Disk disk, Path directory, long baseOffset, SegmentSettings settings, long nowMs)
            throws IOException {
        return create(disk, directory, baseOffset, "", settings, nowMs);
    }

    /** The same with something behind the names of its files; see {@link #rename}. */
    public static Segment create(
            Disk disk, Path directory, long baseOffset, String suffix, SegmentSettings settings, long nowMs)
            throws IOException {
        deleteFiles(disk, directory, baseOffset, suffix);
        return open(disk, directory, baseOffset, suffix, settings, true, nowMs);
    }

    /** Removes the files of a segment; the log first, so that what a crash leaves behind is an orphaned index at most. */
    public static void deleteFiles(Disk disk, Path directory, long baseOffset) throws IOException {
        deleteFiles(disk, directory, baseOffset, "");
    }

    /** The same with something behind the names of its files. */
    public static void deleteFiles(Disk disk, Path directory, long baseOffset, String suffix) throws IOException {
        disk.delete(FileNames.of(directory, baseOffset, FileNames.LOG + suffix));
        for (String index : INDEXES) {
            disk.delete(FileNames.of(directory, baseOffset, index + suffix));
        }
    }

    /**
     * Gives the files of a segment other names; those that are not there are passed over, so it can be repeated. Leases go on, and so
     * does an object that has been sealed.
     *
     * @param logLast whether the log file is renamed after its indexes: its name then says that all are there
     */
    public static void rename(
            Disk disk, Path directory, long baseOffset, String fromSuffix, String toSuffix, boolean logLast)
            throws IOException {
        if (!logLast) {
            renameFile(disk, directory, baseOffset, FileNames.LOG, fromSuffix, toSuffix);
        }
        for (String index : INDEXES) {
            renameFile(disk, directory, baseOffset, index, fromSuffix, toSuffix);
        }
        if (logLast) {
            renameFile(disk, directory, baseOffset, FileNames.LOG, fromSuffix, toSuffix);
        }
    }

    private static void renameFile(Disk disk, Path directory, long baseOffset, String kind, String from, String to)
            throws IOException {
        Path old = FileNames.of(directory, baseOffset, kind + from);
        if (disk.exists(old)) {
            disk.rename(old, FileNames.of(directory, baseOffset, kind + to));
        }
    }

    static void deleteIndexes(Disk disk, Path directory, long baseOffset) throws IOException {
        disk.delete(FileNames.of(directory, baseOffset, FileNames.INDEX));
        disk.delete(FileNames.of(directory, baseOffset, FileNames.TIME_INDEX));
    }

    public long baseOffset() {
        return baseOffset;
    }

    /** Bytes of whole batches written. */
    public int size() {
        return size;
    }

    public FileChannel channel() {
        return log.channel();
    }

    public Path path() {
        return log.path();
    }

    /** Largest timestamp as of the last {@link #publish}. */
    public TimeMark latest() {
        return latest;
    }

    /** Timestamp of the first batch in ms; -1 when there is none. */
    public long firstTimestampMs() {
        return firstTimestampMs;
    }

    /** When the segment was made in ms, or last written to before the log was opened. */
    public long createdMs() {
        return createdMs;
    }

    /** Entries of the larger index. */
    public int indexEntries() {
        return Math.max(offsets.count(), times.count());
    }

    public AbortedTxnIndex aborted() {
        return aborted;
    }

    OffsetIndex offsets() {
        return offsets;
    }

    TimeIndex times() {
        return times;
    }

    SegmentSettings settings() {
        return settings;
    }

    DiskFile log() {
        return log;
    }

    /**
     * Whether the segment must end before this batch.
     *
     * @param pendingBytes bytes accepted after {@link #size()} that are not written yet
     * @param pendingEntries index entries those will need
     */
    public boolean isFullFor(long pendingBytes, int pendingEntries, int batchBytes, long lastOffset, int segmentBytes) {
        long used = size + pendingBytes;
        if (lastOffset - baseOffset > Integer.MAX_VALUE) {
            return true;
        }
        return used > 0
                && (used + batchBytes > segmentBytes
                        || offsets.free() <= pendingEntries
                        // the last slot is for the entry that closes the segment
                        || times.free() - 1 <= pendingEntries);
    }

    /** How long the segment has been filling, in ms: by the timestamp of its first batch, or by the clock if that has none. */
    public long ageMs(long timestampMs, long nowMs) {
        return firstTimestampMs >= 0 ? timestampMs - firstTimestampMs : nowMs - createdMs;
    }

    public int bytesSinceEntry() {
        return bytesSinceEntry;
    }

    public int indexIntervalBytes() {
        return settings.indexIntervalBytes();
    }

    /** Writes whole batches behind the others. They count once {@link #learn} and {@link #publish} have been called for them. */
    public void write(ByteBuffer batches) throws IOException {
        try {
            log.write(batches, size);
        } catch (IOException e) {
            throw new IOException(
                    "cannot write " + batches.remaining() + " bytes at " + size + " of " + log.path() + ": "
                            + FileReason.of(e),
                    e);
        }
    }

    /** Indexes one written batch; batches come in order of position. */
    public void learn(ByteBuffer buf, int at, int position) throws IOException {
        int bytes = BatchHeader.sizeInBytes(buf, at);
        note(
                BatchHeader.baseOffset(buf, at),
                BatchHeader.lastOffset(buf, at),
                BatchHeader.maxTimestamp(buf, at),
                position,
                bytes);
    }

    void note(long batchBase, long batchLast, long maxTimestamp, int position, int bytes) throws IOException {
        noteTime(batchBase, batchLast, maxTimestamp, position);
        if (bytesSinceEntry > settings.indexIntervalBytes()) {
            offsets.append(batchLast, position);
            times.appendIfLater(latestMs, latestLast);
            bytesSinceEntry = 0;
        }
        bytesSinceEntry = (int) Math.min(Integer.MAX_VALUE, (long) bytesSinceEntry + bytes);
    }

    /** What {@link #note} does for a batch whose index entry is there already. */
    void noteIndexed(long batchBase, long batchLast, long maxTimestamp, int position, int bytes, boolean hasEntry) {
        noteTime(batchBase, batchLast, maxTimestamp, position);
        if (hasEntry) {
            bytesSinceEntry = 0;
        }
        bytesSinceEntry = (int) Math.min(Integer.MAX_VALUE, (long) bytesSinceEntry + bytes);
    }

    /** Takes over what a walk over all its batches would have found; see {@link TrustedLoad}. */
    void restore(long firstMs, TimeMark latestMark, int tailBytes, int bytes) {
        firstTimestampMs = firstMs;
        latestMs = latestMark.timestampMs();
        latestBase = latestMark.baseOffset();
        latestLast = latestMark.lastOffset();
        bytesSinceEntry = tailBytes;
        publish(bytes);
    }

    private void noteTime(long batchBase, long batchLast, long maxTimestamp, int position) {
        if (position == 0) {
            firstTimestampMs = maxTimestamp;
        }
        if (maxTimestamp > latestMs) {
            latestMs = maxTimestamp;
            latestBase = batchBase;
            latestLast = batchLast;
        }
    }

    long latestMs() {
        return latestMs;
    }

    /** Lets readers see the segment up to this size. */
    public void publish(int newSize) {
        if (latestMs != latest.timestampMs()) {
            latest = new TimeMark(latestMs, latestBase, latestLast);
        }
        size = newSize;
    }

    /** Ends the segment, or closes it with the log: the time index gets its last entry, unused index space is given back. */
    public void seal() throws IOException {
        if (latestMs >= 0 && times.free() > 0) {
            times.appendIfLater(latestMs, latestLast);
        }
        offsets.trim();
        times.trim();
    }

    public void force() throws IOException {
        try {
            log.force();
        } catch (IOException e) {
            throw new IOException("cannot force " + log.path() + ": " + FileReason.of(e), e);
        }
        aborted.force();
    }

    /**
     * Cuts the file durably and drops the index files, which old readers keep mapped; the segment must then be loaded again. Readers
     * of this object find less from now on.
     */
    public void cutTo(int bytes) throws IOException {
        size = bytes;
        log.truncate(bytes);
        log.force();
        deleteIndexes(disk, directory, baseOffset);
    }

    /** Takes the files off the directory; leases keep them readable. */
    public void deleteFiles() throws IOException {
        deleteFiles(disk, directory, baseOffset);
    }

    /**
     * Finds the first batch whose last offset is not below the offset.
     *
     * @param limit end of the bytes that the reader may see
     * @return a scan that stands on the batch, or null when there is none
     */
    public BatchScan find(long offset, int limit, ByteBuffer window) throws IOException {
        BatchScan scan = scanFrom(offsets.entryAtOrBelow(offset), 0, limit, window);
        while (scan.next()) {
            if (scan.lastOffset() >= offset) {
                return scan;
            }
        }
        checkWhole(scan, limit);
        return null;
    }

    /**
     * Stands before the batch of an index entry. The index is checked as a whole only when the last stop was not clean: an entry that
     * does not describe a batch is passed over here.
     *
     * @param fallback position of a batch, to begin at when there is no such entry or a later one when it is not right
     */
    private BatchScan scanFrom(int entry, int fallback, int limit, ByteBuffer window) throws IOException {
        int from = entry < 0 ? fallback : offsets.position(entry);
        if (from > fallback && from < limit) {
            BatchScan scan = new BatchScan(log.channel(), from, limit, window);
            if (scan.next() && scan.lastOffset() == offsets.offset(entry)) {
                scan.again();
                return scan;
            }
            if (limit <= size) { // else it was cut meanwhile
                LOG.atWarn()
                        .addKeyValue("segment", log.path())
                        .addKeyValue("entry", entry)
                        .log("Index entry does not fit the segment; looking from further down. To have the index"
                                + " rebuilt, remove its file while the broker is stopped");
            }
        }
        return new BatchScan(log.channel(), fallback, limit, window);
    }

    /** Finds the first batch at or above {@code fromOffset} whose largest timestamp is not below {@code timestampMs}; null if none. */
    public BatchScan findTime(long timestampMs, long fromOffset, int limit, ByteBuffer window) throws IOException {
        int entry = times.entryAtOrBelow(timestampMs);
        long indexed = entry < 0 ? baseOffset : times.offset(entry);
        BatchScan scan = find(Math.max(fromOffset, indexed), limit, window);
        if (entry >= 0 && indexed > fromOffset && !isAt(scan, entry)) {
            scan = find(fromOffset, limit, window);
        }
        if (scan == null || scan.maxTimestamp() >= timestampMs) {
            return scan;
        }
        while (scan.next()) {
            if (scan.maxTimestamp() >= timestampMs) {
                return scan;
            }
        }
        checkWhole(scan, limit);
        return null;
    }

    private boolean isAt(BatchScan scan, int timeEntry) {
        return scan != null
                && scan.lastOffset() == times.offset(timeEntry)
                && scan.maxTimestamp() == times.timestamp(timeEntry);
    }

    /**
     * End position of the whole batches from {@code from} on that start below {@code upperOffset} and fit in {@code bytesMax};
     * {@code from} itself when not even the first does.
     */
    public int endOfRange(int from, long upperOffset, int bytesMax, int limit, ByteBuffer window) throws IOException {
        long furthest = Math.min((long) from + bytesMax, limit);
        int known = offsets.entryAtOrBelowPosition(furthest);
        if (upperOffset != Long.MAX_VALUE) {
            known = Math.min(known, offsets.entryAtOrBelow(upperOffset));
        }
        BatchScan scan = scanFrom(known, from, limit, window);
        while (scan.next()) {
            if (scan.baseOffset() >= upperOffset || scan.position() + scan.sizeInBytes() > furthest) {
                return (int) scan.position();
            }
        }
        checkWhole(scan, limit);
        return (int) scan.position();
    }

    private void checkWhole(BatchScan scan, int limit) throws IOException {
        // a segment that was cut meanwhile ends early; that is no fault
        if (scan.fault() != null && limit <= size) {
            throw new IOException(log.path() + ": " + scan.fault());
        }
    }

    /** Takes a lease; false when the segment is gone. */
    public boolean retain() {
        int now = leases.get();
        while (now > 0) {
            if (leases.compareAndSet(now, now + 1)) {
                return true;
            }
            now = leases.get();
        }
        return false;
    }

    /** Gives a lease back; the last one closes the files. */
    public void release() throws IOException {
        int left = leases.decrementAndGet();
        if (left < 0) {
            throw new IllegalStateException("released too often: " + log.path());
        }
        if (left == 0) {
            IOException failed = closeQuietly(null, offsets, times, aborted, log);
            if (failed != null) {
                throw failed;
            }
        }
    }

    private static IOException closeQuietly(Exception cause, AutoCloseable... parts) {
        IOException first = null;
        for (AutoCloseable part : parts) {
            try {
                if (part != null) {
                    part.close();
                }
            } catch (Exception e) {
                if (cause != null) {
                    cause.addSuppressed(e);
                } else if (first == null) {
                    first = e instanceof IOException io ? io : new IOException(e);
                } else {
                    first.addSuppressed(e);
                }
            }
        }
        return first;
    }
}
