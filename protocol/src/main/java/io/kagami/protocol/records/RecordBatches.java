package io.kagami.protocol.records;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;

/** Batches of a buffer in order. */
public final class RecordBatches {
    private static final int V2_BYTES_MIN = 61;
    private static final int LEGACY_BYTES_MIN = 26;

    private RecordBatches() {}

    /**
     * The whole batches between position and limit; a last one that is cut off is left out. Checksums are not verified.
     *
     * @throws MalformedRecords when a length or format version is impossible
     */
    public static List<BatchView> of(ByteBuffer batches) {
        ByteBuffer all = batches.slice();
        List<BatchView> views = new ArrayList<>();
        int at = 0;
        try {
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(all).batches()) {
                int size = batch.sizeInBytes();
                if (size < (batch.magic() == RecordBatch.MAGIC_VALUE_V2 ? V2_BYTES_MIN : LEGACY_BYTES_MIN)) {
                    throw new MalformedRecords(
                            "a batch of " + size + " bytes at byte " + at + ", shorter than its header");
                }
                views.add(new BatchView(batch, all.slice(at, size)));
                at += size;
            }
        } catch (KafkaException | IllegalArgumentException e) {
            throw new MalformedRecords("no batch at byte " + at + ": " + e.getMessage(), e);
        }
        return views;
    }

    /** Every record of every batch, control batches included; see {@link BatchView#forEach}. */
    public static void forEachRecord(ByteBuffer batches, int inflatedBytesMax, Consumer<RecordView> consumer) {
        for (BatchView batch : of(batches)) {
            batch.forEach(inflatedBytesMax, consumer);
        }
    }

    /** Batches as the records field of a Produce request or Fetch response; a view, not a copy. */
    public static BaseRecords toRecords(ByteBuffer batches) {
        return MemoryRecords.readableRecords(batches.slice());
    }

    /**
     * The bytes of a records field that was received; a view. Empty when the field is null.
     *
     * @throws IllegalArgumentException for records that are not in memory
     */
    public static ByteBuffer bytes(BaseRecords records) {
        if (records == null) {
            return ByteBuffer.allocate(0);
        }
        if (records instanceof MemoryRecords memory) {
            return memory.buffer().slice();
        }
        throw new IllegalArgumentException("records of " + records.getClass());
    }
}
