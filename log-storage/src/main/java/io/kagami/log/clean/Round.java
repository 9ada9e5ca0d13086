package io.kagami.log.clean;

import io.kagami.log.clean.core.DirtyRange;
import io.kagami.log.clean.core.SegmentFacts;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.Disk;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentSettings;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Set;

/**
 * What one compaction works on: a picture of a log, taken by its writer.
 *
 * @param sealed all segments but the active one, in order
 * @param facts one for each of them
 * @param aborted all aborted transactions with a marker in the log
 * @param producers ids of active ones
 * @param segmentBytes a new segment is made of old ones with at most so many
 */
public record Round(
        Disk disk,
        Path directory,
        List<Segment> sealed,
        List<SegmentFacts> facts,
        DirtyRange dirty,
        Collection<Aborted> aborted,
        Set<Long> producers,
        SegmentSettings settings,
        int segmentBytes,
        long deleteRetentionMs,
        long nowMs,
        Swap swap) {

    /** The way back into the log. */
    public interface Swap {
        /** False once the log was cut, deleted or taken offline since the picture was taken. Any thread. */
        boolean valid();

        /**
         * Puts a new segment in the place of old ones, if the log has not changed in a way that makes it wrong; returns when that is done.
         *
         * @param roundEnd records below this offset were looked at to decide what survives
         * @return false when the log did change: the new segment must be thrown away
         */
        boolean replace(List<Segment> old, Segment cleaned, long roundEnd) throws IOException, Pace.Stopped;
    }
}
