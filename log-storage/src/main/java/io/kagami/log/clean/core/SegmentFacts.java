package io.kagami.log.clean.core;

/**
 * What cleaning needs to know of a segment.
 *
 * @param endOffset base offset of the next segment, of the last one the log end; exclusive
 * @param indexEntries entries of its larger index
 * @param firstTimestampMs of its first batch; -1 when there is none
 * @param largestTimestampMs of all batches, or of the file where the batches have none
 */
public record SegmentFacts(
        long baseOffset,
        long endOffset,
        int sizeInBytes,
        int indexEntries,
        long firstTimestampMs,
        long largestTimestampMs) {}
