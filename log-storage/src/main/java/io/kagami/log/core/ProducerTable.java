package io.kagami.log.core;

import io.kagami.log.core.ProducerEntry.Batch;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;

/**
 * Learns from every batch, in log order, what its producer did: last sequences, epochs, open transactions (KIP-98, KIP-360). Refuses
 * nothing: {@link ProducerCheck} does, for batches of clients. Mutable, owned by the log's writer; one bounded entry per producer id
 * until it expires.
 */
public final class ProducerTable {
    private final Map<Long, ProducerEntry> entries = new HashMap<>();
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
     * Learns from one batch that is in the log.
     *
     * @param control of a control batch; not looked at otherwise
     * @return the transaction it aborted, or null. A marker whose transaction is not known here (its batches are below the log
     *     start) yields one that begins at the marker: some clients fail on an ABORT marker whose producer the answer does not list.
     */
    public Aborted onBatch(ByteBuffer buf, int at, ControlRecord control) {
        long producerId = BatchHeader.producerId(buf, at);
        boolean isControl = BatchHeader.control(buf, at);
        long lastOffset = BatchHeader.lastOffset(buf, at);
        if (producerId < 0) {
            if (isControl && control.type() == ControlRecord.MIRROR_PID_RESET) {
                lastActivityOffset = lastOffset;
                reset();
            }
            return null;
        }
        maxProducerId = Math.max(maxProducerId, producerId);
        if (isControl && !control.endsTransaction()) {
            return null;
        }
        lastActivityOffset = lastOffset;
        ProducerEntry before = entry(producerId);
        ProducerEntry after = after(before, buf, at, control);
        put(before, after);
        if (!isControl || control.type() == ControlRecord.COMMIT) {
            return null;
        }
        long first = before.open() ? before.firstOffset() : lastOffset;
        return new Aborted(producerId, first, lastOffset, lastStableOffset(lastOffset + 1));
    }

    /** What a batch makes of its producer's entry. */
    static ProducerEntry after(ProducerEntry before, ByteBuffer buf, int at, ControlRecord control) {
        short epoch = BatchHeader.producerEpoch(buf, at);
        long timestampMs = BatchHeader.maxTimestamp(buf, at);
        if (BatchHeader.control(buf, at)) {
            return before.withMarker(epoch, control.coordinatorEpoch(), timestampMs);
        }
        int delta = BatchHeader.lastOffsetDelta(buf, at);
        Batch batch = new Batch(lastSequence(buf, at), BatchHeader.lastOffset(buf, at), delta, timestampMs);
        return before.withBatch(epoch, batch, BatchHeader.transactional(buf, at));
    }

    static int lastSequence(ByteBuffer buf, int at) {
        int first = BatchHeader.baseSequence(buf, at);
        return first < 0 ? first : ProducerEntry.plus(first, BatchHeader.lastOffsetDelta(buf, at));
    }

    private void put(ProducerEntry before, ProducerEntry after) {
        if (before.firstOffset() != after.firstOffset()) {
            firstOffsets.remove(before.firstOffset());
            if (after.open()) {
                firstOffsets.add(after.firstOffset());
            }
        }
        entries.put(after.producerId(), after);
    }

    /** What is known of a producer. */
    ProducerEntry entry(long producerId) {
        ProducerEntry entry = entries.get(producerId);
        return entry == null ? ProducerEntry.unknown(producerId) : entry;
    }

    /** Every producer, in no order; a view of the table. */
    public Collection<ProducerEntry> entries() {
        return Collections.unmodifiableCollection(entries.values());
    }

    /** Puts back what a snapshot said of a producer. */
    void restore(ProducerEntry entry) {
        put(entry(entry.producerId()), entry);
        maxProducerId = Math.max(maxProducerId, entry.producerId());
    }

    /** The table is that of the log up to this offset: a cut below it changes it, for all that is known. */
    void restoredAt(long offset) {
        lastActivityOffset = Math.max(lastActivityOffset, offset - 1);
    }

    /** First offset of the earliest open transaction, or the given end. */
    public long lastStableOffset(long endOffset) {
        return firstOffsets.isEmpty() ? endOffset : firstOffsets.first();
    }

    /** Producer ids with an open transaction and its first offset. */
    public Map<Long, Long> open() {
        Map<Long, Long> open = new HashMap<>();
        for (ProducerEntry entry : entries.values()) {
            if (entry.open()) {
                open.put(entry.producerId(), entry.firstOffset());
            }
        }
        return open;
    }

    public long maxProducerId() {
        return maxProducerId;
    }

    /** Whether cutting the log at this end leaves the table as it is, so that nothing need be read again. */
    public boolean unchangedBelow(long endOffset) {
        return lastActivityOffset < endOffset;
    }

    /** A producer id known from elsewhere, for instance from before a truncation: ids seen once must not be handed out. */
    public void atLeast(long producerId) {
        maxProducerId = Math.max(maxProducerId, producerId);
    }

    /**
     * Forgets producers whose last batch is old; never one with an open transaction.
     *
     * @param expiryMs an entry whose last timestamp is at least this far in the past goes
     * @return how many went
     */
    public int expire(long nowMs, long expiryMs) {
        int before = entries.size();
        entries.values().removeIf(entry -> !entry.open() && isOld(entry.lastTimestampMs(), nowMs, expiryMs));
        return before - entries.size();
    }

    private static boolean isOld(long timestampMs, long nowMs, long expiryMs) {
        // a timestamp is whatever a client wrote: saturating, not overflowing
        long age = nowMs - timestampMs;
        boolean overflow = ((nowMs ^ timestampMs) & (nowMs ^ age)) < 0;
        return overflow ? timestampMs < nowMs : age >= expiryMs;
    }

    /** Forgets every producer and transaction (the producer reset of a mirror that becomes writable); ids seen stay seen. */
    public void reset() {
        entries.clear();
        firstOffsets.clear();
    }

    /** Same producers, transactions and largest id. */
    @Override
    public boolean equals(Object other) {
        return other instanceof ProducerTable table
                && entries.equals(table.entries)
                && maxProducerId == table.maxProducerId;
    }

    @Override
    public int hashCode() {
        return entries.hashCode();
    }

    @Override
    public String toString() {
        return "producers up to id " + maxProducerId + ": " + entries.values();
    }
}
