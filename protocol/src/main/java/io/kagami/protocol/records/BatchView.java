package io.kagami.protocol.records;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.RecordBatch;

/** One batch of any format version (for 0 and 1: one message with what it wraps) as a view of the bytes given. */
public final class BatchView {
    private static final int V2_ATTRIBUTES_LOW_AT = 22;
    private static final int LEGACY_ATTRIBUTES_AT = 17;
    private static final int CODEC_MASK = 7;

    private final RecordBatch batch;
    private final ByteBuffer bytes;

    BatchView(RecordBatch batch, ByteBuffer bytes) {
        this.batch = batch;
        this.bytes = bytes;
    }

    /** 0, 1 or 2. */
    public byte magic() {
        return batch.magic();
    }

    /** In versions 0 and 1 the offset of the message, which is that of the last one it wraps: only inflating tells the first. */
    public long baseOffset() {
        return bytes.getLong(0);
    }

    /** Inclusive. */
    public long lastOffset() {
        return batch.lastOffset();
    }

    public int leaderEpoch() {
        return batch.partitionLeaderEpoch();
    }

    /** As the header says; only reading the records proves it. */
    public long maxTimestamp() {
        return batch.maxTimestamp();
    }

    public boolean logAppendTime() {
        return batch.timestampType() == TimestampType.LOG_APPEND_TIME;
    }

    /** @throws MalformedRecords when the codec is unknown */
    public Codec codec() {
        int attributes = bytes.get(magic() == RecordBatch.MAGIC_VALUE_V2 ? V2_ATTRIBUTES_LOW_AT : LEGACY_ATTRIBUTES_AT);
        return Codec.of(attributes & CODEC_MASK);
    }

    public long producerId() {
        return batch.producerId();
    }

    public short producerEpoch() {
        return batch.producerEpoch();
    }

    public int baseSequence() {
        return batch.baseSequence();
    }

    public boolean transactional() {
        return batch.isTransactional();
    }

    public boolean control() {
        return batch.isControlBatch();
    }

    public int sizeInBytes() {
        return batch.sizeInBytes();
    }

    /** Whether the checksum matches. */
    public boolean valid() {
        return batch.isValid();
    }

    /** The whole batch, a view. */
    public ByteBuffer bytes() {
        return bytes.duplicate();
    }

    /**
     * Reads the records in order.
     *
     * @param inflatedBytesMax what compressed records may inflate to; without compression nothing is allocated
     * @throws MalformedRecords when a record does not fit its batch, counts or offsets disagree with the header, or the budget is
     *     exceeded; the consumer may have seen earlier records
     */
    public void forEach(int inflatedBytesMax, Consumer<RecordView> consumer) {
        forEach(new Budget(inflatedBytesMax, Integer.MAX_VALUE), consumer);
    }

    /** As {@link #forEach(int, Consumer)}, with a limit for each compressed record too; that one counts in format 2 alone. */
    public void forEach(Budget budget, Consumer<RecordView> consumer) {
        if (magic() == RecordBatch.MAGIC_VALUE_V2) {
            BatchRecords.read(this, budget, consumer);
        } else {
            LegacyRecords.read(this, budget.batchBytesMax(), consumer);
        }
    }

    /**
     * @param batchBytesMax what the records of a compressed batch may inflate to, all together
     * @param recordBytesMax the largest record of a compressed batch, without the bytes of its length
     */
    public record Budget(int batchBytesMax, int recordBytesMax) {}

    /** All records; see {@link #forEach}. */
    public List<RecordView> records(int inflatedBytesMax) {
        List<RecordView> records = new ArrayList<>();
        forEach(inflatedBytesMax, records::add);
        return records;
    }

    @Override
    public String toString() {
        return "batch " + baseOffset() + " to " + lastOffset();
    }
}
