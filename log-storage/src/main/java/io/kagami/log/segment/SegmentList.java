package io.kagami.log.segment;

import java.util.ArrayList;
import java.util.List;

/** Segments sorted by base offset; immutable, replaced by the writer. */
public final class SegmentList {
    private final Segment[] segments;

    private SegmentList(Segment[] segments) {
        this.segments = segments;
    }

    public static SegmentList of(List<Segment> sorted) {
        return new SegmentList(sorted.toArray(new Segment[0]));
    }

    public int count() {
        return segments.length;
    }

    public Segment get(int index) {
        return segments[index];
    }

    /** The one that is appended to. */
    public Segment last() {
        return segments[segments.length - 1];
    }

    /** Index of the segment with the largest base offset not above the offset, 0 when all are above. */
    public int floor(long offset) {
        int low = 0;
        int high = segments.length;
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (segments[middle].baseOffset() <= offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return Math.max(0, low - 1);
    }

    public SegmentList plus(Segment segment) {
        List<Segment> all = new ArrayList<>(List.of(segments));
        all.add(segment);
        return of(all);
    }

    /** The first {@code count} segments. */
    public SegmentList first(int count) {
        return of(List.of(segments).subList(0, count));
    }

    /** All but the first {@code count} segments. */
    public SegmentList without(int count) {
        return of(List.of(segments).subList(count, segments.length));
    }

    public List<Segment> all() {
        return List.of(segments);
    }

    public long sizeInBytes() {
        long bytes = 0;
        for (Segment segment : segments) {
            bytes += segment.size();
        }
        return bytes;
    }
}
