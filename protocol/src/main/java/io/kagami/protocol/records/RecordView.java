package io.kagami.protocol.records;

import java.nio.ByteBuffer;
import java.util.List;

/**
 * One record. Key, value and header values are views (of the batch, or of what it inflated to), null when the record has none.
 *
 * @param timestamp milliseconds; the batch's append time where its log stamps that
 */
public record RecordView(long offset, long timestamp, ByteBuffer key, ByteBuffer value, List<RecordHeader> headers) {
    /** Control record types of transactions. */
    public static final short ABORT = 0;

    public static final short COMMIT = 1;

    /**
     * The type in the key of a record of a control batch.
     *
     * @throws MalformedRecords when the key is too short for one
     */
    public short controlType() {
        if (key == null || key.remaining() < 2 * Short.BYTES) {
            throw new MalformedRecords("the control record at offset " + offset + " has a key of "
                    + (key == null ? 0 : key.remaining()) + " bytes");
        }
        return key.getShort(key.position() + Short.BYTES);
    }
}
