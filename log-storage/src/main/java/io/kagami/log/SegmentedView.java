package io.kagami.log;

import io.kagami.log.clean.core.SegmentFacts;
import io.kagami.log.core.EpochHistory;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.FileReason;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentList;
import io.kagami.log.segment.TimeMark;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * What one state of the log looks like to readers. Takes a lease on a segment for as long as it looks into it. When a truncation
 * shortens a segment under an old view, reads on that view find less, never garbage beyond the file.
 */
final class SegmentedView implements LogView {
    /** Working memory of one look-up; no view keeps anything in it between calls. */
    private static final ThreadLocal<ByteBuffer> WINDOW =
            ThreadLocal.withInitial(() -> ByteBuffer.allocateDirect(4096));

    private final LogName name;
    private final SegmentList segments;
    private final int lastSegmentBytes;
    private final TimeMark lastSegmentTime;
    private final long startOffset;
    private final long endOffset;
    private final long lastStableOffset;
    private final EpochHistory epochs;
    private final long maxProducerId;
    private final long sizeInBytes;

    SegmentedView(
            LogName name,
            SegmentList segments,
            long startOffset,
            long endOffset,
            long lastStableOffset,
            EpochHistory epochs,
            long maxProducerId,
            long sizeInBytes) {
        this.name = name;
        this.segments = segments;
        this.lastSegmentBytes = segments.last().size();
        this.lastSegmentTime = segments.last().latest();
        this.startOffset = startOffset;
        this.endOffset = endOffset;
        this.lastStableOffset = Math.max(startOffset, lastStableOffset);
        this.epochs = epochs;
        this.maxProducerId = maxProducerId;
        this.sizeInBytes = sizeInBytes;
    }

    SegmentList segments() {
        return segments;
    }

    /** What cleaning needs to know of the segments, the active one last. */
    List<SegmentFacts> facts() {
        List<SegmentFacts> facts = new ArrayList<>(segments.count());
        for (int i = 0; i < segments.count(); i++) {
            Segment segment = segments.get(i);
            Segment next = i + 1 < segments.count() ? segments.get(i + 1) : null;
            long largestMs = (next == null ? lastSegmentTime : segment.latest()).timestampMs();
            if (largestMs < 0) { // v0 messages have no time: when the segment was last written to
                largestMs = next == null ? segment.createdMs() : next.createdMs();
            }
            facts.add(new SegmentFacts(
                    segment.baseOffset(),
                    next == null ? endOffset : next.baseOffset(),
                    limit(i),
                    segment.indexEntries(),
                    segment.firstTimestampMs(),
                    largestMs));
        }
        return facts;
    }

    @Override
    public long startOffset() {
        return startOffset;
    }

    @Override
    public long endOffset() {
        return endOffset;
    }

    @Override
    public long lastStableOffset() {
        return lastStableOffset;
    }

    @Override
    public int lastEpoch() {
        return epochs.lastEpoch();
    }

    @Override
    public long sizeInBytes() {
        return sizeInBytes;
    }

    @Override
    public long maxProducerId() {
        return maxProducerId;
    }

    @Override
    public Optional<TimestampOffset> maxTimestamp() {
        TimestampOffset best = null;
        for (int i = segments.floor(startOffset); i < segments.count(); i++) {
            TimeMark mark = i == segments.count() - 1
                    ? lastSegmentTime
                    : segments.get(i).latest();
            if (mark.timestampMs() >= 0 && mark.lastOffset() < startOffset) {
                mark = latestFrom(segments.get(i), startOffset, limit(i));
            }
            if (mark.timestampMs() >= 0 && (best == null || mark.timestampMs() > best.timestampMs())) {
                best = new TimestampOffset(mark.timestampMs(), mark.baseOffset());
            }
        }
        return Optional.ofNullable(best);
    }

    /** The largest timestamp when the batch that has the segment's largest one is below the log start. */
    private TimeMark latestFrom(Segment segment, long fromOffset, int limit) {
        TimeMark best = TimeMark.NONE;
        lease(segment);
        try {
            BatchScan scan = segment.find(fromOffset, limit, WINDOW.get());
            for (boolean more = scan != null; more; more = scan.next()) {
                if (scan.maxTimestamp() > best.timestampMs()) {
                    best = new TimeMark(scan.maxTimestamp(), scan.baseOffset(), scan.lastOffset());
                }
            }
            return best;
        } catch (IOException | InternalError e) {
            throw failed(e);
        } finally {
            release(segment);
        }
    }

    @Override
    public Optional<LogSlice> read(long offset, long upperOffset, int bytesMax, boolean atLeastOne) {
        if (offset < startOffset || offset > endOffset) {
            throw new IllegalArgumentException(
                    "offset " + offset + " of " + name + " is not in [" + startOffset + ", " + endOffset + "]");
        }
        if (offset >= Math.min(upperOffset, endOffset)) {
            return Optional.empty();
        }
        for (int i = segments.floor(offset); i < segments.count(); i++) {
            Segment segment = segments.get(i);
            if (segment.baseOffset() >= upperOffset) {
                return Optional.empty();
            }
            lease(segment);
            boolean kept = false;
            try {
                int limit = limit(i);
                BatchScan found = segment.find(offset, limit, WINDOW.get());
                if (found != null) {
                    Optional<LogSlice> slice = cut(i, found, limit, upperOffset, bytesMax, atLeastOne);
                    kept = slice.isPresent();
                    return slice;
                }
            } catch (IOException | InternalError e) {
                throw failed(e);
            } finally {
                if (!kept) {
                    release(segment);
                }
            }
        }
        return Optional.empty();
    }

    private Optional<LogSlice> cut(
            int index, BatchScan found, int limit, long upperOffset, int bytesMax, boolean atLeastOne)
            throws IOException {
        Segment segment = segments.get(index);
        long base = found.baseOffset();
        int from = (int) found.position();
        int firstBytes = found.sizeInBytes();
        if (base >= upperOffset) {
            return Optional.empty();
        }
        int bytes;
        long segmentEnd = index + 1 < segments.count() ? segments.get(index + 1).baseOffset() : endOffset;
        boolean allBelowUpper = segmentEnd <= upperOffset;
        if (allBelowUpper && limit - from <= bytesMax) {
            bytes = limit - from;
        } else if (firstBytes > bytesMax) {
            bytes = 0;
        } else {
            long upper = allBelowUpper ? Long.MAX_VALUE : upperOffset;
            bytes = segment.endOfRange(from, upper, bytesMax, limit, WINDOW.get()) - from;
        }
        if (bytes <= 0) {
            if (!atLeastOne) {
                return Optional.empty();
            }
            bytes = firstBytes;
        }
        return Optional.of(new SegmentSlice(segment, from, bytes, base));
    }

    @Override
    public Optional<LogSlice> batchAtOrAfter(long timestampMs) {
        for (int i = segments.floor(startOffset); i < segments.count(); i++) {
            Segment segment = segments.get(i);
            TimeMark mark = i == segments.count() - 1 ? lastSegmentTime : segment.latest();
            if (mark.timestampMs() < timestampMs) {
                continue;
            }
            lease(segment);
            boolean kept = false;
            try {
                BatchScan found = segment.findTime(timestampMs, startOffset, limit(i), WINDOW.get());
                if (found != null) {
                    kept = true;
                    return Optional.of(
                            new SegmentSlice(segment, found.position(), found.sizeInBytes(), found.baseOffset()));
                }
            } catch (IOException | InternalError e) {
                throw failed(e);
            } finally {
                if (!kept) {
                    release(segment);
                }
            }
        }
        return Optional.empty();
    }

    @Override
    public List<AbortedTxn> abortedIn(long fromOffset, long toOffset) {
        List<AbortedTxn> found = new ArrayList<>();
        for (int i = segments.floor(fromOffset); i < segments.count(); i++) {
            List<Aborted> entries = segments.get(i).aborted().entries();
            for (Aborted entry : entries.subList(firstEndingAt(entries, fromOffset), entries.size())) {
                if (entry.firstOffset() < toOffset) {
                    found.add(new AbortedTxn(entry.producerId(), entry.firstOffset(), entry.lastOffset()));
                }
                if (entry.lastStableOffset() >= toOffset) {
                    found.sort(Comparator.comparingLong(AbortedTxn::firstOffset));
                    return found; // all that is aborted later began above
                }
            }
        }
        found.sort(Comparator.comparingLong(AbortedTxn::firstOffset));
        return found;
    }

    /** Entries are in the order of their markers: the first whose marker is at or above the offset. */
    private static int firstEndingAt(List<Aborted> entries, long offset) {
        int low = 0;
        int high = entries.size();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (entries.get(middle).lastOffset() < offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low;
    }

    @Override
    public int epochAt(long offset) {
        return epochs.epochAt(offset);
    }

    @Override
    public Optional<EpochEnd> endOfEpoch(int epoch) {
        return epochs.endOf(epoch, endOffset).map(end -> new EpochEnd(end.epoch(), end.endOffset()));
    }

    @Override
    public OptionalLong startOfEpoch(int epoch) {
        return epochs.startOf(epoch);
    }

    private int limit(int index) {
        int now = segments.get(index).size();
        return index == segments.count() - 1 ? Math.min(lastSegmentBytes, now) : now;
    }

    private void lease(Segment segment) {
        if (!segment.retain()) {
            throw new IllegalArgumentException("the segment with base offset " + segment.baseOffset() + " of " + name
                    + " was removed while it was looked for; ask a new view");
        }
    }

    private void release(Segment segment) {
        try {
            segment.release();
        } catch (IOException | InternalError e) {
            throw failed(e);
        }
    }

    private StorageFault failed(Throwable e) {
        return new StorageFault("cannot read log " + name + ": " + FileReason.of(e), e);
    }

    @Override
    public String toString() {
        return name + "[" + startOffset + ", " + endOffset + "), stable below " + lastStableOffset;
    }
}
