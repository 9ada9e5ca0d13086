package io.kagami.log.clean.core;

import java.util.ArrayList;
import java.util.List;

/**
 * Which neighbouring segments become one when they are compacted: as many as fit, by their old sizes, in a segment's bytes, its indexes, and
 * the 2^31-1 offsets that an index can tell apart (KAFKA-2024).
 */
public final class SegmentGroups {
    private SegmentGroups() {}

    /** Indexes of the first segment and of the one behind the last. */
    public record Group(int from, int to) {}

    /**
     * An empty segment stands in front of a jump in the offsets; it stays as it is, and between groups.
     *
     * @param segments those to compact, in order
     */
    public static List<Group> of(List<SegmentFacts> segments, int bytesMax, int indexEntriesMax) {
        List<Group> groups = new ArrayList<>();
        int from = 0;
        while (from < segments.size()) {
            if (segments.get(from).sizeInBytes() == 0) {
                from++;
                continue;
            }
            long base = segments.get(from).baseOffset();
            long bytes = segments.get(from).sizeInBytes();
            long entries = segments.get(from).indexEntries() + 1L;
            int to = from + 1;
            while (to < segments.size()) {
                SegmentFacts next = segments.get(to);
                bytes += next.sizeInBytes();
                entries += next.indexEntries() + 1L;
                boolean fits = bytes <= bytesMax
                        && entries < indexEntriesMax
                        && next.endOffset() - 1 - base <= Integer.MAX_VALUE
                        && next.sizeInBytes() > 0;
                if (!fits) {
                    break;
                }
                to++;
            }
            groups.add(new Group(from, to));
            from = to;
        }
        return groups;
    }
}
