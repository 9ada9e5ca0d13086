package io.kagami.protocol.records;

import java.nio.ByteBuffer;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;

/** The raw batches of a received answer, without decoding them. */
public final class RecordSlices {
    private static final ByteBuffer EMPTY = ByteBuffer.allocate(0).asReadOnlyBuffer();

    private RecordSlices() {}

    /** A view of the receive buffer, between position and limit; valid as long as the answer is. Empty when there are no records. */
    public static ByteBuffer of(FetchResponseData.PartitionData data) {
        BaseRecords records = data.records();
        if (records == null) {
            return EMPTY.duplicate();
        }
        if (records instanceof MemoryRecords memory) {
            return memory.buffer();
        }
        throw new IllegalArgumentException("records of a received answer are bytes in memory, not "
                + records.getClass().getName());
    }
}
