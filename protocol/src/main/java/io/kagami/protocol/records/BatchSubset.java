package io.kagami.protocol.records;

import java.nio.ByteBuffer;
import java.util.BitSet;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecords.RecordFilter;
import org.apache.kafka.common.record.internal.MemoryRecords.RecordFilter.BatchRetention;
import org.apache.kafka.common.record.internal.MemoryRecords.RecordFilter.BatchRetentionResult;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.internals.BufferSupplier;

/** A batch of any format version with some of its records left out, as compaction writes it. */
public final class BatchSubset {
    private BatchSubset() {}

    /**
     * Keeps offsets, timestamps, epochs, producer, sequence and codec. A v2 batch keeps its base and last offset as well.
     *
     * @param kept indexes of the records to keep, in the order of {@link BatchView#forEach}; at least one
     * @param deleteHorizonMs put into a v2 batch that has none, with records that are tombstones or a control record; -1 for none
     * @param inflatedBytesMax what compressed records may inflate to
     * @throws MalformedRecords when the batch cannot be read
     */
    public static ByteBuffer of(BatchView batch, BitSet kept, long deleteHorizonMs, int inflatedBytesMax) {
        ByteBuffer out = ByteBuffer.allocate(batch.sizeInBytes());
        try {
            ByteBuffer result = MemoryRecords.readableRecords(batch.bytes())
                    .filterTo(
                            new Filter(kept, deleteHorizonMs, batch.control()),
                            out,
                            BufferSupplier.NO_CACHING,
                            inflatedBytesMax)
                    .outputBuffer();
            result.flip();
            if (!result.hasRemaining()) {
                throw new MalformedRecords("nothing is left of " + batch);
            }
            return result.slice();
        } catch (KafkaException | IllegalArgumentException e) {
            throw new MalformedRecords(batch + " cannot be written anew: " + e.getMessage(), e);
        }
    }

    private static final class Filter extends RecordFilter {
        private final BitSet kept;
        private final boolean markHorizon;
        private int index;

        Filter(BitSet kept, long deleteHorizonMs, boolean control) {
            super(deleteHorizonMs, 0);
            this.kept = kept;
            this.markHorizon = control && deleteHorizonMs >= 0;
        }

        @Override
        protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
            return new BatchRetentionResult(BatchRetention.DELETE_EMPTY, markHorizon);
        }

        @Override
        protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
            return kept.get(index++);
        }
    }
}
