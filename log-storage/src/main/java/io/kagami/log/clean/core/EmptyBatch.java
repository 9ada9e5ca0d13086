package io.kagami.log.clean.core;

import io.kagami.log.core.BatchHeader;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;

/** A v2 batch without records: what remains of one for the sake of its offsets or its producer's sequence. */
public final class EmptyBatch {
    private static final short KEPT_ATTRIBUTES = 0x08 | 0x10 | 0x20; // log append time, transactional, control

    private EmptyBatch() {}

    /** The header of a v2 batch with the same offsets, epochs, producer, sequence and largest timestamp, and no record. */
    public static ByteBuffer of(ByteBuffer buf, int at) {
        if (BatchHeader.magic(buf, at) < 2) {
            throw new IllegalArgumentException("a v" + BatchHeader.magic(buf, at) + " message cannot be empty");
        }
        ByteBuffer empty = ByteBuffer.allocate(BatchHeader.V2_HEADER);
        empty.put(buf.slice(at, BatchHeader.V2_HEADER));
        empty.putInt(8, BatchHeader.V2_HEADER - BatchHeader.LOG_OVERHEAD);
        empty.putShort(21, (short) (BatchHeader.attributes(buf, at) & KEPT_ATTRIBUTES));
        empty.putLong(27, -1); // no base timestamp
        empty.putInt(57, 0);
        CRC32C crc = new CRC32C();
        crc.update(empty.slice(21, BatchHeader.V2_HEADER - 21));
        empty.putInt(17, (int) crc.getValue());
        return empty.rewind();
    }
}
