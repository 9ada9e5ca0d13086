package io.kagami.log.clean.core;

import io.kagami.log.core.BatchHeader;
import java.nio.ByteBuffer;
import java.util.BitSet;
import java.util.Map;

/**
 * Decides what of a log survives one compaction. Batches are told in order: {@link #begin}, its records with {@link #onRecord} when that asks for
 * them, {@link #end}. The rules are Apache Kafka's (KIP-354, KIP-534) with two exceptions on the safe side: tombstones in v0/v1
 * messages, which have no place for a delete horizon, stay; and the last batch of a segment stays (as an empty v2 batch when it has no record
 * left), so that segments go on to meet without a gap. A superseded record never stays: its tombstone may go first. One thread.
 */
public final class Survivors {
    private final OffsetMap last;
    private final long roundEnd;
    private final Map<Long, ProducerEnd> producers;
    private final TransactionSweep sweep;
    private final long nowMs;
    private final long deleteRetentionMs;
    private final BitSet kept = new BitSet();
    private boolean all;
    private boolean none;
    private boolean keepEmpty;
    private boolean legacy;
    private boolean setHorizon;
    private long horizonMs;
    private int records;

    /** What becomes of a batch. */
    public enum Fate {
        /** Byte for byte as it is. */
        COPY,
        /** Gone. */
        DROP,
        /** Its header alone. */
        EMPTY,
        /** With the records in {@link #kept()}, and a delete horizon if {@link #newHorizonMs()} says so. */
        REWRITE
    }

    /**
     * @param last of the dirty part; complete below {@code roundEnd}
     * @param roundEnd nothing at or above this offset is touched
     * @param producers active ones, by id
     */
    public Survivors(
            OffsetMap last,
            long roundEnd,
            Map<Long, ProducerEnd> producers,
            TransactionSweep sweep,
            long nowMs,
            long deleteRetentionMs) {
        this.last = last;
        this.roundEnd = roundEnd;
        this.producers = producers;
        this.sweep = sweep;
        this.nowMs = nowMs;
        this.deleteRetentionMs = deleteRetentionMs;
    }

    /**
     * @param controlType of a control batch
     * @param lastOfSegment whether it ends the segment that is being written
     * @return whether its records must be shown
     */
    public boolean begin(ByteBuffer buf, int at, int controlType, boolean lastOfSegment) {
        kept.clear();
        records = 0;
        none = false;
        setHorizon = false;
        horizonMs = BatchHeader.deleteHorizonMs(buf, at);
        legacy = BatchHeader.magic(buf, at) < 2;
        long lastOffset = BatchHeader.lastOffset(buf, at);
        all = !legacy && BatchHeader.baseOffset(buf, at) >= roundEnd;
        keepEmpty = lastOfSegment || lastOffset == roundEnd - 1 || isLastOfProducer(buf, at);
        if (all) {
            return false;
        }
        if (BatchHeader.control(buf, at)) {
            beginControl(buf, at, controlType);
            return false;
        }
        none = sweep.onData(buf, at);
        return !none;
    }

    /** A marker stays until nothing is left of its transaction, and from then on for the delete retention. */
    private void beginControl(ByteBuffer buf, int at, int controlType) {
        boolean superfluous = sweep.onControl(buf, at, controlType);
        boolean empty = BatchHeader.recordCount(buf, at) == 0;
        if (!superfluous) {
            all = true;
        } else if (empty) {
            none = true;
        } else if (horizonMs < 0) {
            setHorizon = true;
            kept.set(0);
            records = 1;
        } else {
            // the marker itself tells the epoch of its producer; an empty batch would not
            all = horizonMs > nowMs || isLastOfProducer(buf, at);
            none = !all;
        }
    }

    private boolean isLastOfProducer(ByteBuffer buf, int at) {
        long producerId = BatchHeader.producerId(buf, at);
        ProducerEnd end = producerId < 0 ? null : producers.get(producerId);
        if (end == null) {
            return false;
        }
        return end.lastDataOffset() >= 0
                ? BatchHeader.lastOffset(buf, at) == end.lastDataOffset()
                : BatchHeader.control(buf, at) && BatchHeader.producerEpoch(buf, at) == end.epoch();
    }

    /** @param key null when it has none */
    public void onRecord(long offset, ByteBuffer key, boolean hasValue) {
        if (survives(offset, key, hasValue)) {
            kept.set(records);
            setHorizon |= !hasValue && !legacy && horizonMs < 0;
        }
        records++;
    }

    private boolean survives(long offset, ByteBuffer key, boolean hasValue) {
        if (offset >= roundEnd) {
            return true;
        }
        if (key == null || last.get(key) > offset) {
            return false;
        }
        return hasValue || legacy || horizonMs < 0 || nowMs < horizonMs;
    }

    public Fate end() {
        if (all) {
            return Fate.COPY;
        }
        int count = none ? 0 : kept.cardinality();
        if (count == 0 && !(records == 0 && !none && keepEmpty)) {
            return keepEmpty ? Fate.EMPTY : Fate.DROP;
        }
        return count == records && !setHorizon ? Fate.COPY : Fate.REWRITE;
    }

    /** Indexes of the records that stay; valid until the next {@link #begin}. */
    public BitSet kept() {
        return kept;
    }

    /** The delete horizon that a batch gets when it is rewritten, in ms; -1 when it keeps what it has. */
    public long newHorizonMs() {
        return setHorizon ? nowMs + Math.max(0, Math.min(deleteRetentionMs, Long.MAX_VALUE - nowMs)) : -1;
    }
}
