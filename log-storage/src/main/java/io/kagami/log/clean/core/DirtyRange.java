package io.kagami.log.clean.core;

import java.util.List;

/**
 * What of a log there is to compact, as Apache Kafka sees it.
 *
 * @param firstDirtyOffset all below was compacted before
 * @param uncleanableOffset nothing from here on may be compacted now
 * @param cleanBytes of the segments below the first dirty one
 * @param cleanableBytes of the dirty segments that may be compacted as a whole
 * @param overdue whether a dirty record has waited longer than {@code max.compaction.lag.ms}
 */
public record DirtyRange(
        long firstDirtyOffset, long uncleanableOffset, long cleanBytes, long cleanableBytes, boolean overdue) {

    /**
     * When records are compacted.
     *
     * @param minLagMs a segment with a record younger than this, in ms, and all after it, is left alone
     * @param maxLagMs a log with an older dirty record is compacted whatever its ratio
     */
    public record Lags(long minLagMs, long maxLagMs) {}

    /**
     * @param segments in order, the active one last
     * @param cleanedTo end of the last compaction; negative when there was none. Not believed outside of the log (KAFKA-3330)
     * @param bound offset that compaction may not reach beyond: last stable offset, or less where less is known to be safe
     */
    public static DirtyRange of(
            List<SegmentFacts> segments, long startOffset, long cleanedTo, long bound, Lags lags, long nowMs) {
        SegmentFacts active = segments.get(segments.size() - 1);
        List<SegmentFacts> sealed = segments.subList(0, segments.size() - 1);
        // not from the log start on: a tombstone below it must not go before what it deletes, or that is back if a
        // crash
        // takes the start back to what was last written down
        long first = segments.get(0).baseOffset();
        long firstDirty = cleanedTo < first || cleanedTo > active.endOffset() ? first : cleanedTo;
        // nothing is settled when the bound is no higher than the start: a transaction may be open from below it
        long uncleanable = bound <= startOffset ? firstDirty : Math.min(bound, active.baseOffset());
        for (SegmentFacts segment : sealed) {
            boolean young = lags.minLagMs() > 0 && segment.largestTimestampMs() > nowMs - lags.minLagMs();
            if (young && segment.endOffset() > firstDirty) {
                uncleanable = Math.min(uncleanable, segment.baseOffset());
                break;
            }
        }
        uncleanable = Math.max(firstDirty, uncleanable);
        long clean = 0;
        long cleanable = 0;
        boolean overdue = false;
        for (SegmentFacts segment : sealed) {
            if (segment.endOffset() <= firstDirty) {
                clean += segment.sizeInBytes();
            } else if (segment.endOffset() <= uncleanable) {
                cleanable += segment.sizeInBytes();
                overdue |= segment.firstTimestampMs() > 0
                        && nowMs - segment.firstTimestampMs() > lags.maxLagMs()
                        && segment.sizeInBytes() > 0;
            }
        }
        return new DirtyRange(firstDirty, uncleanable, clean, cleanable, overdue);
    }

    /** Part of the log, without what may not be compacted yet, that is dirty: 0 to 1. */
    public double ratio() {
        return cleanableBytes == 0 ? 0 : (double) cleanableBytes / (cleanBytes + cleanableBytes);
    }

    public boolean isDue(double minRatio) {
        return firstDirtyOffset < uncleanableOffset && cleanableBytes > 0 && (overdue || ratio() > minRatio);
    }
}
