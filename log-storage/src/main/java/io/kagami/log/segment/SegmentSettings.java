package io.kagami.log.segment;

/**
 * @param indexIntervalBytes bytes of log between two index entries
 * @param indexBytesMax size of one index file
 */
public record SegmentSettings(int indexIntervalBytes, int indexBytesMax) {}
