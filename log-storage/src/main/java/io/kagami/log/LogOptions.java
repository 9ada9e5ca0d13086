package io.kagami.log;

/**
 * Sizes, times and policies of one log; names and meanings are those of Apache Kafka's topic configs.
 *
 * @param segmentBytes a segment is rolled before it would grow beyond this (a single larger batch still fits)
 * @param segmentMs a segment is rolled when its first batch is older than this
 * @param segmentJitterMs at most this is taken off {@code segmentMs}, at random, so that logs do not roll all at once
 * @param indexIntervalBytes bytes of log between two entries of the sparse indexes
 * @param indexBytesMax size of one index file, at least one entry
 * @param preallocate whether a new segment file gets its full size at once
 * @param producerExpiryMs an idle producer is forgotten after this
 */
public record LogOptions(
        int segmentBytes,
        long segmentMs,
        long segmentJitterMs,
        int indexIntervalBytes,
        int indexBytesMax,
        boolean preallocate,
        long producerExpiryMs,
        Retention retention,
        Compaction compaction,
        Flush flush) {
    /** Never deletes, never compacts, leaves forcing to the operating system. */
    public static final LogOptions DEFAULT = new LogOptions(1 << 30, 7L * 24 * 3600 * 1000, 4096, 10 * 1024 * 1024);

    /**
     * Deleting the oldest segments.
     *
     * @param enabled whether {@code cleanup.policy} has {@code delete}; a raised log start deletes regardless
     * @param ms a segment whose largest timestamp is older goes; -1 for no limit
     * @param bytes the oldest segments go while the rest has at least this many; -1 for no limit
     * @param fileDeleteDelayMs how long the files of a removed segment stay, renamed
     */
    public record Retention(boolean enabled, long ms, long bytes, long fileDeleteDelayMs) {
        public static final Retention NONE = new Retention(false, -1, -1, 0);
    }

    /**
     * Keeping the last record of each key.
     *
     * @param enabled whether {@code cleanup.policy} has {@code compact}
     * @param deleteRetentionMs how long a tombstone or transaction marker stays after it was first seen by the cleaner
     * @param minLagMs records younger than this are left alone
     * @param maxLagMs a log that has older dirty records is cleaned whatever its ratio
     * @param minDirtyRatio dirty bytes over all bytes below which a log is left alone
     */
    public record Compaction(
            boolean enabled, long deleteRetentionMs, long minLagMs, long maxLagMs, double minDirtyRatio) {
        public static final Compaction NONE = new Compaction(false, 24L * 3600 * 1000, 0, Long.MAX_VALUE, 0.5);
    }

    /**
     * When appended data is forced to disk before the append is answered, or soon after.
     *
     * @param messages at the latest after this many records
     * @param ms at the latest after this time
     */
    public record Flush(long messages, long ms) {
        public static final Flush BY_SYSTEM = new Flush(Long.MAX_VALUE, Long.MAX_VALUE);
    }

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

    /** Sizes and times of segments; all else as {@link #DEFAULT}. */
    public LogOptions(int segmentBytes, long segmentMs, int indexIntervalBytes, int indexBytesMax) {
        this(
                segmentBytes,
                segmentMs,
                0,
                indexIntervalBytes,
                indexBytesMax,
                false,
                24L * 3600 * 1000,
                Retention.NONE,
                Compaction.NONE,
                Flush.BY_SYSTEM);
    }

    /**
     * After this a segment is rolled: {@code segment.ms}, or {@code max.compaction.lag.ms} where that is shorter (a record in the active segment
     * cannot be compacted), less a part of the jitter that depends on the segment.
     */
    public long rollMs(long baseOffset) {
        long ms = compaction.enabled() ? Math.max(1, Math.min(segmentMs, compaction.maxLagMs())) : segmentMs;
        long jitter = Math.min(segmentJitterMs, segmentMs);
        return jitter <= 0 ? ms : Math.max(0, ms - Math.floorMod(baseOffset * 0x9E3779B97F4A7C15L, jitter));
    }

    public LogOptions with(Retention changed) {
        return with(producerExpiryMs, changed, compaction, flush);
    }

    public LogOptions with(Compaction changed) {
        return with(producerExpiryMs, retention, changed, flush);
    }

    public LogOptions with(Flush changed) {
        return with(producerExpiryMs, retention, compaction, changed);
    }

    public LogOptions withProducerExpiryMs(long ms) {
        return with(ms, retention, compaction, flush);
    }

    private LogOptions with(long expiryMs, Retention kept, Compaction compacted, Flush forced) {
        return new LogOptions(
                segmentBytes,
                segmentMs,
                segmentJitterMs,
                indexIntervalBytes,
                indexBytesMax,
                preallocate,
                expiryMs,
                kept,
                compacted,
                forced);
    }
}
