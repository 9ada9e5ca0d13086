package io.kagami.log.core;

import java.nio.ByteBuffer;

/**
 * What the one record of a control batch says; such batches are never compressed. Layout of a v2 record: varint length, int8 attributes,
 * varlong timestamp delta, varint offset delta, varint key length, key, varint value length, value. The key is int16 version, int16 type;
 * the value of a transaction marker begins with int16 version, int32 coordinator epoch.
 *
 * @param type {@link #ABORT}, {@link #COMMIT}, {@link #MIRROR_PID_RESET} or another number; {@link #UNKNOWN} when it cannot be read
 * @param coordinatorEpoch epoch of the transaction coordinator that wrote a marker, -1 when there is none
 */
public record ControlRecord(int type, int coordinatorEpoch) {
    /** Not a control record, or not one we can read: such batches are passed over, as Kafka's clients do. */
    public static final int UNKNOWN = -1;

    public static final int ABORT = 0;
    public static final int COMMIT = 1;

    /**
     * A mirror became writable: every producer and open transaction of the partition is forgotten. The batch has no producer id. In
     * the number range of the private api keys, which Apache Kafka has not assigned; every client passes over it.
     */
    public static final int MIRROR_PID_RESET = 10_100;

    /** Of a batch that is no control batch, or one without a readable record. */
    public static final ControlRecord NONE = new ControlRecord(UNKNOWN, -1);

    private static final int VARINT_MAX = 5;
    private static final int VARLONG_MAX = 10;
    private static final int KEY_MIN = 4;
    private static final int KEY_USUAL = 4;
    private static final int VALUE_START = 6;

    /** Enough bytes behind the batch header to read the type, and the coordinator epoch behind a key of the usual size. */
    public static final int PREFIX_BYTES =
            VARINT_MAX + 1 + VARLONG_MAX + VARINT_MAX + VARINT_MAX + KEY_USUAL + VARINT_MAX + VALUE_START;

    /** Reads bytes that begin right behind the batch header; {@code end} is exclusive. */
    public static ControlRecord read(ByteBuffer buf, int from, int end) {
        int at = skipVarint(buf, from, end);
        at = at < 0 ? -1 : skipVarint(buf, at + 1, end);
        at = at < 0 ? -1 : skipVarint(buf, at, end);
        int key = at < 0 ? -1 : skipVarint(buf, at, end);
        if (key < 0 || key + KEY_MIN > end) {
            return NONE; // shorter keys than 4 bytes do not exist
        }
        int type = buf.getShort(key + 2);
        long value = key + zigzag(buf, at, key);
        int epochAt = value < key || value >= end ? -1 : skipVarint(buf, (int) value, end);
        boolean whole = epochAt >= 0 && epochAt + VALUE_START <= end;
        return new ControlRecord(type, whole ? buf.getInt(epochAt + 2) : -1);
    }

    /** The record of the batch at {@code at}, which lies in the buffer up to {@code end}; {@link #NONE} of any other batch. */
    public static ControlRecord of(ByteBuffer buf, int at, int end) {
        boolean has = BatchHeader.control(buf, at) && BatchHeader.recordCount(buf, at) > 0;
        return has ? read(buf, at + BatchHeader.V2_HEADER, end) : NONE;
    }

    public boolean endsTransaction() {
        return type == ABORT || type == COMMIT;
    }

    private static int skipVarint(ByteBuffer buf, int from, int end) {
        for (int at = from; at < end && at < from + VARLONG_MAX; at++) {
            if (buf.get(at) >= 0) {
                return at + 1;
            }
        }
        return -1;
    }

    private static long zigzag(ByteBuffer buf, int from, int end) {
        long raw = 0;
        for (int at = from, shift = 0; at < end && shift < Long.SIZE; at++, shift += 7) {
            raw |= (long) (buf.get(at) & 0x7F) << shift;
        }
        return (raw >>> 1) ^ -(raw & 1);
    }
}
