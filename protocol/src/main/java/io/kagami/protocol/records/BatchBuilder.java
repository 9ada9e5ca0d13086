package io.kagami.protocol.records;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.EndTransactionMarker;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.apache.kafka.common.utils.internals.ByteBufferOutputStream;

/** Builds one batch of format version 2. Not thread-safe; one batch per builder. */
public final class BatchBuilder {
    private static final int FIRST_STEP_BYTES = 512;

    private final Compression compression;
    private final List<SimpleRecord> records = new ArrayList<>();
    private long baseOffset;
    private int leaderEpoch = RecordBatch.NO_PARTITION_LEADER_EPOCH;
    private long producerId = RecordBatch.NO_PRODUCER_ID;
    private short producerEpoch = RecordBatch.NO_PRODUCER_EPOCH;
    private int baseSequence = RecordBatch.NO_SEQUENCE;
    private boolean transactional;
    private boolean control;

    /** With the usual level of the codec. */
    public BatchBuilder(Codec codec) {
        this.compression = codec.compression();
    }

    /** @param level as the codec counts; codecs without levels do not look at it */
    public BatchBuilder(Codec codec, int level) {
        this.compression = codec.compression(level);
    }

    public BatchBuilder baseOffset(long offset) {
        baseOffset = offset;
        return this;
    }

    public BatchBuilder leaderEpoch(int epoch) {
        leaderEpoch = epoch;
        return this;
    }

    /** An idempotent producer; sequence -1 where the batch has none. */
    public BatchBuilder producer(long id, short epoch, int sequence) {
        producerId = id;
        producerEpoch = epoch;
        baseSequence = sequence;
        return this;
    }

    /** Needs {@link #producer}. */
    public BatchBuilder transactional() {
        transactional = true;
        return this;
    }

    public BatchBuilder control() {
        control = true;
        return this;
    }

    /** @param timestamp milliseconds; key and value may be null */
    public BatchBuilder append(long timestamp, byte[] key, byte[] value) {
        return append(timestamp, wrap(key), wrap(value), List.of());
    }

    /** Buffers are read when the batch is built and not moved. */
    public BatchBuilder append(long timestamp, ByteBuffer key, ByteBuffer value, List<RecordHeader> headers) {
        Header[] array = headers.stream()
                .map(header -> new org.apache.kafka.common.header.internals.RecordHeader(
                        header.key(), header.value() == null ? null : copy(header.value())))
                .toArray(Header[]::new);
        records.add(new SimpleRecord(timestamp, duplicate(key), duplicate(value), array));
        return this;
    }

    public int recordCount() {
        return records.size();
    }

    /**
     * The batch: offsets count up from the base, the maximum timestamp and the checksum are set.
     *
     * @throws IllegalStateException when there are no records
     */
    public ByteBuffer build() {
        if (records.isEmpty()) {
            throw new IllegalStateException("a batch without records");
        }
        try (MemoryRecordsBuilder builder = new MemoryRecordsBuilder(
                new ByteBufferOutputStream(FIRST_STEP_BYTES),
                RecordBatch.MAGIC_VALUE_V2,
                compression,
                TimestampType.CREATE_TIME,
                baseOffset,
                RecordBatch.NO_TIMESTAMP,
                producerId,
                producerEpoch,
                baseSequence,
                transactional,
                control,
                leaderEpoch,
                Integer.MAX_VALUE)) {
            long offset = baseOffset;
            for (SimpleRecord record : records) {
                // unchecked, because control batches may carry types that the library does not know
                builder.appendUncheckedWithOffset(offset++, record);
            }
            return builder.build().buffer().slice();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The batch with the one control record that ends a producer's transaction. */
    public static ByteBuffer endTxnMarker(
            long offset,
            long timestamp,
            int leaderEpoch,
            long producerId,
            short producerEpoch,
            boolean commit,
            int coordinatorEpoch) {
        ControlRecordType type = commit ? ControlRecordType.COMMIT : ControlRecordType.ABORT;
        return MemoryRecords.withEndTransactionMarker(
                        offset,
                        timestamp,
                        leaderEpoch,
                        producerId,
                        producerEpoch,
                        new EndTransactionMarker(type, coordinatorEpoch))
                .buffer()
                .slice();
    }

    private static ByteBuffer wrap(byte[] bytes) {
        return bytes == null ? null : ByteBuffer.wrap(bytes);
    }

    private static ByteBuffer duplicate(ByteBuffer bytes) {
        return bytes == null ? null : bytes.duplicate();
    }

    private static byte[] copy(ByteBuffer bytes) {
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return copy;
    }
}
