package io.kagami.log.segment;

/**
 * Where the largest timestamp of a segment is.
 *
 * @param timestampMs -1 when there is none
 * @param baseOffset of its batch
 * @param lastOffset of its batch
 */
public record TimeMark(long timestampMs, long baseOffset, long lastOffset) {
    public static final TimeMark NONE = new TimeMark(-1, -1, -1);
}
