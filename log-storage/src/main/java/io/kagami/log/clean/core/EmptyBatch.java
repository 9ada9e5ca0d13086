package io.kagami.log.clean.core;

import io.kagami.log.core.BatchHeader;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** A v2 batch without records: what remains of a batch for the sake of its offsets or its producer's sequence. */
public final class EmptyBatch {
    private static final int LOG_APPEND_TIME = 0x08;
    private static final int KEPT_ATTRIBUTES = LOG_APPEND_TIME | 0x10 | 0x20; // and transactional, control
    private static final int CHECKED_FROM = 21;

    private EmptyBatch() {}

    /**
     * A v2 header with the same offsets, epochs, producer, sequence and largest timestamp, and no record. In the place of a v0/v1 message,
     * which cannot be empty, there is one with its last offset and timestamp.
     */
    public static ByteBuffer of(ByteBuffer buf, int at) {
        ByteBuffer empty = ByteBuffer.allocate(BatchHeader.V2_HEADER);
        int attributes = BatchHeader.attributes(buf, at) & KEPT_ATTRIBUTES;
        empty.putLong(BatchHeader.baseOffset(buf, at)).putInt(BatchHeader.V2_HEADER - BatchHeader.LOG_OVERHEAD);
        empty.putInt(BatchHeader.leaderEpoch(buf, at)).put((byte) 2).putInt(0);
        empty.putShort((short) (BatchHeader.magic(buf, at) >= 2 ? attributes : attributes & LOG_APPEND_TIME));
        empty.putInt(BatchHeader.lastOffsetDelta(buf, at)).putLong(-1); // no base timestamp
        empty.putLong(BatchHeader.maxTimestamp(buf, at)).putLong(BatchHeader.producerId(buf, at));
        empty.putShort(BatchHeader.producerEpoch(buf, at)).putInt(BatchHeader.baseSequence(buf, at));
        empty.putInt(0);
        CRC32C crc = new CRC32C();
        crc.update(empty.slice(CHECKED_FROM, BatchHeader.V2_HEADER - CHECKED_FROM));
        return empty.putInt(CHECKED_FROM - Integer.BYTES, (int) crc.getValue()).rewind();
    }
}
