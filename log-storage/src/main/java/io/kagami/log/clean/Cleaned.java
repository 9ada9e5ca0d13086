package io.kagami.log.clean;

/**
 * What one compaction did.
 *
 * @param kind whether it was carried out
 * @param cleanedTo the log is compacted below this offset; where the next one begins
 * @param bytesBefore of the segments that were replaced
 * @param bytesAfter of those in their place
 * @param segmentsBefore number of segments that were replaced
 * @param segmentsAfter number of those in their place
 * @param keys distinct keys in the dirty part that was looked at
 * @param mapFull whether more dirty records are left because the keys did not fit in memory
 * @param keyless records without a key that were dropped
 */
public record Cleaned(
        Kind kind,
        long cleanedTo,
        long bytesBefore,
        long bytesAfter,
        int segmentsBefore,
        int segmentsAfter,
        int keys,
        boolean mapFull,
        long keyless) {
    /** How it ended. */
    public enum Kind {
        DONE,
        /** There was nothing to compact. */
        NOTHING,
        /** The log was cut, deleted or taken offline meanwhile; what was not swapped in yet is thrown away. */
        LOG_CHANGED
    }

    public static Cleaned nothing() {
        return new Cleaned(Kind.NOTHING, -1, 0, 0, 0, 0, 0, false, 0);
    }

    public static Cleaned logChanged() {
        return new Cleaned(Kind.LOG_CHANGED, -1, 0, 0, 0, 0, 0, false, 0);
    }
}
