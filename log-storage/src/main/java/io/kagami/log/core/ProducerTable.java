package io.kagami.log.core;

import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * Learns from every batch, in log order, which transactions are open. Mutable, owned by the log's writer. Bounded by the number of
 * transactions open at once. Sequence numbers are not kept here yet: they are needed to refuse duplicates, not to read.
 */
public final class ProducerTable {
    private final Map<Long, Long> firstOffsetByProducer = new HashMap<>();
    private final TreeSet<Long> firstOffsets = new TreeSet<>();
    private long maxProducerId = -1;
    private long lastActivityOffset = -1;

    /**
     * A transaction that an ABORT marker ended.
     *
     * @param firstOffset its first offset in this partition
     * @param lastOffset offset of the marker
     * @param lastStableOffset first offset of the earliest transaction still open after it, or the offset behind the marker
     */
    public record Aborted(long producerId, long firstOffset, long lastOffset, long lastStableOffset) {}

    /**
     * Learns from one batch.
     *
     * @param controlType {@link ControlRecord#type} of a control batch; not looked at otherwise
     * @return the transaction it aborted, or null. A marker whose transaction is not known here (its batches are below the log
     *     start) yields one that begins at the marker: some clients fail on an ABORT marker whose producer the answer does not list.
     */
    public Aborted onBatch(ByteBuffer buf, int at, int controlType) {
        long producerId = BatchHeader.producerId(buf, at);
        if (producerId < 0) {
            return null;
        }
        maxProducerId = Math.max(maxProducerId, producerId);
        if (BatchHeader.control(buf, at)) {
            return onMarker(producerId, controlType, BatchHeader.lastOffset(buf, at));
        }
        if (BatchHeader.transactional(buf, at)) {
            lastActivityOffset = BatchHeader.lastOffset(buf, at);
            long first = BatchHeader.baseOffset(buf, at);
            if (firstOffsetByProducer.putIfAbsent(producerId, first) == null) {
                firstOffsets.add(first);
            }
        }
        return null;
    }

    private Aborted onMarker(long producerId, int controlType, long offset) {
        if (controlType != ControlRecord.ABORT && controlType != ControlRecord.COMMIT) {
            return null;
        }
        lastActivityOffset = offset;
        Long first = firstOffsetByProducer.remove(producerId);
        if (first != null) {
            firstOffsets.remove(first);
        }
        if (controlType == ControlRecord.COMMIT) {
            return null;
        }
        return new Aborted(producerId, first != null ? first : offset, offset, lastStableOffset(offset + 1));
    }

    /** First offset of the earliest open transaction, or the given end. */
    public long lastStableOffset(long endOffset) {
        return firstOffsets.isEmpty() ? endOffset : firstOffsets.first();
    }

    /** Producer ids with an open transaction and its first offset. */
    public Map<Long, Long> open() {
        return Map.copyOf(firstOffsetByProducer);
    }

    public long maxProducerId() {
        return maxProducerId;
    }

    /** Whether cutting the log at this end leaves the open transactions as they are, so that nothing need be read again. */
    public boolean unchangedBelow(long endOffset) {
        return lastActivityOffset < endOffset;
    }

    /** A producer id known from elsewhere, for instance from before a truncation: ids seen once must not be handed out. */
    public void atLeast(long producerId) {
        maxProducerId = Math.max(maxProducerId, producerId);
    }

    /** Forgets every producer and transaction (the producer reset of a mirror that becomes writable); ids seen stay seen. */
    public void reset() {
        firstOffsetByProducer.clear();
        firstOffsets.clear();
    }
}
