package io.kagami.log.segment;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.disk.Disk;
import io.kagami.log.index.OffsetIndex;
import io.kagami.log.index.TimeIndex;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;

/**
 * Opens a segment that was closed well without walking all its batches: the first header, those from the last index entry on and the
 * batch with the largest timestamp are read and compared with the indexes. Whatever does not fit is left to {@link SegmentLoad}.
 */
public final class TrustedLoad {
    private final Disk disk;
    private final Path directory;
    private final SegmentSettings settings;
    private final long nowMs;
    private final ByteBuffer window = ByteBuffer.allocateDirect(BatchScan.WINDOW_BYTES);

    /**
     * @param endOffset last offset of the last batch plus 1, or where the segment was told to begin
     * @param lastBatchOffset base offset of its last batch, -1 when it is empty
     * @param lastEpoch leader epoch of that batch, -1 when it has none
     */
    public record Loaded(Segment segment, long endOffset, long lastBatchOffset, int lastEpoch) {}

    public TrustedLoad(Disk disk, Path directory, SegmentSettings settings, long nowMs) {
        this.disk = disk;
        this.directory = directory;
        this.settings = settings;
        this.nowMs = nowMs;
    }

    /**
     * @param nextOffset least offset the first batch may have
     * @return null when the segment must be walked
     */
    public Loaded load(long baseOffset, long nextOffset, boolean growing) throws IOException {
        Segment segment = Segment.open(disk, directory, baseOffset, settings, growing, nowMs);
        Loaded loaded = null;
        try {
            loaded = probe(segment, Math.max(baseOffset, nextOffset));
            return loaded;
        } finally {
            if (loaded == null) {
                segment.release();
            }
        }
    }

    private Loaded probe(Segment segment, long nextOffset) throws IOException {
        OffsetIndex offsets = segment.offsets();
        TimeIndex times = segment.times();
        long bytes = segment.log().size();
        if (bytes > Integer.MAX_VALUE || !segment.aborted().isWhole()) {
            return null;
        }
        if (bytes == 0) {
            boolean empty = offsets.count() == 0 && times.count() == 0;
            return empty ? new Loaded(segment, nextOffset, -1, -1) : null;
        }
        BatchScan first = new BatchScan(segment.channel(), 0, bytes, window);
        if (!first.next() || first.baseOffset() < nextOffset) {
            return null;
        }
        long firstMs = first.maxTimestamp();
        TimeMark latest = latest(segment, (int) bytes);
        int entry = offsets.count() - 1;
        int from = entry < 0 ? 0 : offsets.position(entry);
        if (latest == null || from < 0 || from >= bytes) {
            return null;
        }
        BatchScan tail = new BatchScan(segment.channel(), from, bytes, window);
        long end = -1;
        long lastBatch = -1;
        int epoch = -1;
        while (tail.next()) {
            boolean fits = end < 0
                    ? entry < 0 || tail.lastOffset() == offsets.offset(entry)
                    : tail.baseOffset() >= end && tail.position() - from <= settings.indexIntervalBytes();
            if (!fits || tail.maxTimestamp() > latest.timestampMs()) {
                return null;
            }
            end = tail.lastOffset() + 1;
            lastBatch = tail.baseOffset();
            epoch = BatchHeader.leaderEpoch(tail.header(), tail.at());
        }
        if (tail.position() != bytes || end < 0 || end - 1 - segment.baseOffset() > Integer.MAX_VALUE) {
            return null;
        }
        segment.restore(firstMs, latest, (int) (bytes - from), (int) bytes);
        return new Loaded(segment, end, lastBatch, epoch);
    }

    /** The largest timestamp with its batch, as the last entry of a closed time index says; null when that is not so. */
    private TimeMark latest(Segment segment, int bytes) throws IOException {
        TimeIndex times = segment.times();
        if (times.count() == 0) {
            return TimeMark.NONE;
        }
        int entry = times.count() - 1;
        long offset = times.offset(entry);
        int indexed = segment.offsets().entryAtOrBelow(offset);
        int from = indexed < 0 ? 0 : segment.offsets().position(indexed);
        if (from < 0 || from >= bytes) {
            return null;
        }
        BatchScan scan = new BatchScan(segment.channel(), from, bytes, window);
        while (scan.next() && scan.lastOffset() <= offset) {
            if (scan.lastOffset() == offset && scan.maxTimestamp() == times.timestamp(entry)) {
                return new TimeMark(scan.maxTimestamp(), scan.baseOffset(), offset);
            }
            if (scan.position() - from > settings.indexIntervalBytes()) {
                return null;
            }
        }
        return null;
    }
}
