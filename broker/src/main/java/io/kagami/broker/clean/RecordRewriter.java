package io.kagami.broker.clean;

import io.kagami.log.clean.BatchRewriter;
import io.kagami.protocol.records.BatchSubset;
import io.kagami.protocol.records.BatchView;
import io.kagami.protocol.records.MalformedRecords;
import io.kagami.protocol.records.RecordBatches;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.List;

/** Opens batches for compaction, with a bound on what they inflate to. Stateless. */
public final class RecordRewriter implements BatchRewriter {
    private final int inflatedBytesMax;

    public RecordRewriter(int inflatedBytesMax) {
        this.inflatedBytesMax = inflatedBytesMax;
    }

    @Override
    public void read(ByteBuffer batch, Sink sink) throws Unreadable {
        try {
            one(batch)
                    .forEach(
                            inflatedBytesMax,
                            record -> sink.onRecord(record.offset(), record.key(), record.value() != null));
        } catch (MalformedRecords e) {
            throw new Unreadable(e.getMessage(), e);
        }
    }

    @Override
    public ByteBuffer rewrite(ByteBuffer batch, BitSet kept, long deleteHorizonMs) throws Unreadable {
        try {
            return BatchSubset.of(one(batch), kept, deleteHorizonMs, inflatedBytesMax);
        } catch (MalformedRecords e) {
            throw new Unreadable(e.getMessage(), e);
        }
    }

    private static BatchView one(ByteBuffer batch) {
        List<BatchView> all = RecordBatches.of(batch);
        if (all.size() != 1) {
            throw new MalformedRecords(all.size() + " batches where one should be");
        }
        return all.get(0);
    }
}
