package io.kagami.log.clean.core;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/**
 * What the batches below an offset say for themselves of transactions and producers. Compaction goes by nothing else: a marker or a later
 * batch above the offset may still be cut, and then what was dropped on the strength of it would be missing. Batches come in
 * log order, twice: first all for {@link #onTransaction}, then, up to {@link #stableEnd}, for {@link #onProducer}. Mutable, one thread.
 */
public final class BelowBound {
    private final Map<Long, Long> open = new HashMap<>();
    private final Map<Long, ProducerEnd> ends = new HashMap<>();

    /** @param controlType of a control batch */
    public void onTransaction(ByteBuffer buf, int at, int controlType) {
        long producerId = BatchHeader.producerId(buf, at);
        if (BatchHeader.control(buf, at)) {
            if (controlType == ControlRecord.MIRROR_PID_RESET) {
                open.clear();
            } else if (controlType == ControlRecord.ABORT || controlType == ControlRecord.COMMIT) {
                open.remove(producerId);
            }
        } else if (producerId >= 0 && BatchHeader.transactional(buf, at)) {
            open.putIfAbsent(producerId, BatchHeader.baseOffset(buf, at));
        }
    }

    /** First offset of the earliest transaction without a marker, or the bound. */
    public long stableEnd(long bound) {
        long end = bound;
        for (long first : open.values()) {
            end = Math.min(end, first);
        }
        return end;
    }

    /** @param controlType of a control batch */
    public void onProducer(ByteBuffer buf, int at, int controlType) {
        long producerId = BatchHeader.producerId(buf, at);
        boolean control = BatchHeader.control(buf, at);
        if (control && controlType == ControlRecord.MIRROR_PID_RESET) {
            ends.clear();
            return;
        }
        if (producerId < 0) {
            return;
        }
        short epoch = BatchHeader.producerEpoch(buf, at);
        ProducerEnd before = ends.get(producerId);
        if (!control) {
            ends.put(producerId, new ProducerEnd(BatchHeader.lastOffset(buf, at), epoch));
        } else if (before == null || before.epoch() != epoch) {
            ends.put(producerId, new ProducerEnd(-1, epoch));
        }
    }

    /** Where each of the active producers stands. */
    public Map<Long, ProducerEnd> endsOf(Iterable<Long> active) {
        Map<Long, ProducerEnd> found = new HashMap<>();
        for (long producerId : active) {
            ProducerEnd end = ends.get(producerId);
            if (end != null) {
                found.put(producerId, end);
            }
        }
        return found;
    }
}
