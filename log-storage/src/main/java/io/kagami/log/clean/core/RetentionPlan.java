package io.kagami.log.clean.core;

import java.util.List;

/**
 * Which of the oldest segments go, as Apache Kafka decides it: by log start, then by size, then by time. Only whole segments go, always
 * from the old end, and none that reaches above the bound (KAFKA-5634). A second look at what remains finds nothing (KAFKA-12177).
 *
 * @param segments number of oldest segments that go
 * @param bytes their size
 * @param startOffset where the log starts then
 * @param all whether no segment would remain, so that the active one is rolled first
 */
public record RetentionPlan(int segments, long bytes, long startOffset, boolean all) {

    /**
     * What limits a log.
     *
     * @param delete whether age and size count; a raised log start deletes regardless
     * @param ms largest age in ms of a segment, by its largest timestamp; negative for no limit
     * @param bytes least size in bytes that remains; negative for no limit
     */
    public record Limits(boolean delete, long ms, long bytes) {}

    /**
     * @param segments in order, the active one last
     * @param bound offset that no removed segment may reach beyond: high watermark, or less where less is known to be safe
     */
    public static RetentionPlan of(
            List<SegmentFacts> segments, long startOffset, long bound, Limits limits, long nowMs) {
        int gone = 0;
        while (gone + 1 < segments.size()
                && removable(segments, gone, bound)
                && segments.get(gone + 1).baseOffset() <= startOffset) {
            gone++;
        }
        if (limits.delete() && limits.bytes() >= 0) {
            gone = bySize(segments, gone, bound, limits.bytes());
        }
        if (limits.delete() && limits.ms() >= 0) {
            while (gone < segments.size()
                    && removable(segments, gone, bound)
                    && isOlder(segments.get(gone).largestTimestampMs(), nowMs, limits.ms())) {
                gone++;
            }
        }
        long bytes = 0;
        for (SegmentFacts segment : segments.subList(0, gone)) {
            bytes += segment.sizeInBytes();
        }
        long start = gone == 0
                ? startOffset
                : Math.max(startOffset, segments.get(gone - 1).endOffset());
        return new RetentionPlan(gone, bytes, start, gone == segments.size());
    }

    private static int bySize(List<SegmentFacts> segments, int from, long bound, long bytesMax) {
        long excess = -bytesMax;
        for (SegmentFacts segment : segments.subList(from, segments.size())) {
            excess += segment.sizeInBytes();
        }
        int gone = from;
        while (gone < segments.size()
                && removable(segments, gone, bound)
                && excess >= segments.get(gone).sizeInBytes()) {
            excess -= segments.get(gone).sizeInBytes();
            gone++;
        }
        return gone;
    }

    /** An empty active segment stays: removing it would only make another. */
    private static boolean removable(List<SegmentFacts> segments, int index, long bound) {
        SegmentFacts segment = segments.get(index);
        boolean emptyActive = index == segments.size() - 1 && segment.sizeInBytes() == 0;
        return segment.endOffset() <= bound && !emptyActive;
    }

    private static boolean isOlder(long timestampMs, long nowMs, long ms) {
        return timestampMs <= nowMs && nowMs - Math.max(0, timestampMs) > ms;
    }
}
