package io.kagami.log;

/**
 * Sizes and times of one log.
 *
 * @param segmentBytes a segment is rolled before it would grow beyond this (a single larger batch still fits)
 * @param segmentMs a segment is rolled when its first batch is older than this
 * @param indexIntervalBytes bytes of log between two entries of the sparse indexes
 * @param indexBytesMax size of one index file, at least one entry
 */
public record LogOptions(int segmentBytes, long segmentMs, int indexIntervalBytes, int indexBytesMax) {
    public static final LogOptions DEFAULT = new LogOptions(1 << 30, 7L * 24 * 3600 * 1000, 4096, 10 * 1024 * 1024);

    public LogOptions {
        if (segmentBytes < 14) {
            throw new IllegalArgumentException("segment.bytes must be at least 14, not " + segmentBytes);
        }
        if (segmentMs < 1) {
            throw new IllegalArgumentException("segment.ms must be at least 1, not " + segmentMs);
        }
        if (indexIntervalBytes < 0) {
            throw new IllegalArgumentException("index.interval.bytes must not be negative: " + indexIntervalBytes);
        }
        if (indexBytesMax < 12) {
            throw new IllegalArgumentException("segment.index.bytes must be at least 12, not " + indexBytesMax);
        }
    }
}
