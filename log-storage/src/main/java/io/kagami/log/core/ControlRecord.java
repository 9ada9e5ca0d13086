package io.kagami.log.core;

import java.nio.ByteBuffer;

/**
 * Type of the one record of a control batch, which is never compressed. Layout of a v2 record: varint length, int8 attributes, varlong
 * timestamp delta, varint offset delta, varint key length, key; the key is int16 version, int16 type.
 */
public final class ControlRecord {
    /** Not a control record, or not one we can read: such batches are passed over, as Kafka's clients do. */
    public static final int UNKNOWN = -1;

    public static final int ABORT = 0;
    public static final int COMMIT = 1;

    /** Enough bytes behind the batch header to read any key version. */
    public static final int PREFIX_BYTES = 5 + 1 + 10 + 5 + 5 + 4;

    private ControlRecord() {}

    /** Reads the type from bytes that begin right behind the batch header; {@code end} is exclusive. */
    public static int type(ByteBuffer buf, int from, int end) {
        int at = skipVarint(buf, from, end);
        at = at < 0 ? -1 : skipVarint(buf, at + 1, end);
        at = at < 0 ? -1 : skipVarint(buf, at, end);
        at = at < 0 ? -1 : skipVarint(buf, at, end); // the key's length: shorter keys than 4 bytes do not exist
        return at < 0 || at + 4 > end ? UNKNOWN : buf.getShort(at + 2);
    }

    private static int skipVarint(ByteBuffer buf, int from, int end) {
        for (int at = from; at < end && at < from + 10; at++) {
            if (buf.get(at) >= 0) {
                return at + 1;
            }
        }
        return -1;
    }
}
