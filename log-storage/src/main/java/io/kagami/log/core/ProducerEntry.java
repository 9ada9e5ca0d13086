package io.kagami.log.core;

import java.util.List;

/**
 * What is remembered of one producer id in one partition. A value of bounded size: a change yields a new one.
 *
 * @param epoch largest or last seen epoch of the producer, -1 when none has been seen
 * @param coordinatorEpoch of the last transaction marker, -1 when there was none
 * @param lastTimestampMs largest timestamp of its last batch or marker; expiry goes by it
 * @param firstOffset where its open transaction begins, -1 when none is open
 * @param batches the last batches of the current epoch, oldest first, at most {@link #BATCHES_MAX}
 */
public record ProducerEntry(
        long producerId,
        short epoch,
        int coordinatorEpoch,
        long lastTimestampMs,
        long firstOffset,
        List<Batch> batches) {
    /** Clients have at most so many batches on the way to one partition. */
    public static final int BATCHES_MAX = 5;

    public static final int NO_SEQUENCE = -1;
    public static final short NO_EPOCH = -1;

    /**
     * A batch that was appended.
     *
     * @param lastSequence {@link #NO_SEQUENCE} when it had none
     * @param offsetDelta last offset minus first offset
     * @param timestampMs its largest timestamp
     */
    public record Batch(int lastSequence, long lastOffset, int offsetDelta, long timestampMs) {
        public int firstSequence() {
            return lastSequence < 0 ? NO_SEQUENCE : minus(lastSequence, offsetDelta);
        }

        public long firstOffset() {
            return lastOffset - offsetDelta;
        }
    }

    /** Of a producer that was not heard of. */
    public static ProducerEntry unknown(long producerId) {
        return new ProducerEntry(producerId, NO_EPOCH, -1, -1, -1, List.of());
    }

    /** Sequences run from 0 to 2^31-1 and begin at 0 again. */
    public static int plus(int sequence, int count) {
        return (sequence + count) & Integer.MAX_VALUE;
    }

    /** The reverse of {@link #plus}. */
    public static int minus(int sequence, int count) {
        return (sequence - count) & Integer.MAX_VALUE;
    }

    public boolean open() {
        return firstOffset >= 0;
    }

    /** Last sequence of the current epoch, {@link #NO_SEQUENCE} when it has no batch. */
    public int lastSequence() {
        return batches.isEmpty() ? NO_SEQUENCE : batches.get(batches.size() - 1).lastSequence();
    }

    /** The batch that was appended with exactly these sequences, or null. */
    Batch appended(short batchEpoch, int firstSequence, int lastSequence) {
        if (batchEpoch != epoch) {
            return null;
        }
        for (Batch batch : batches) {
            if (batch.lastSequence() == lastSequence && batch.firstSequence() == firstSequence) {
                return batch;
            }
        }
        return null;
    }

    /** After one more batch; another epoch starts a new list. */
    ProducerEntry withBatch(short batchEpoch, Batch batch, boolean transactional) {
        boolean same = batchEpoch == epoch;
        int kept = same ? Math.min(batches.size(), BATCHES_MAX - 1) : 0;
        Batch[] last = new Batch[kept + 1];
        for (int i = 0; i < kept; i++) {
            last[i] = batches.get(batches.size() - kept + i);
        }
        last[kept] = batch;
        long first = transactional && !open() ? batch.firstOffset() : firstOffset;
        return new ProducerEntry(producerId, batchEpoch, coordinatorEpoch, batch.timestampMs(), first, List.of(last));
    }

    /** After a marker ended its transaction. */
    ProducerEntry withMarker(short markerEpoch, int markerCoordinatorEpoch, long timestampMs) {
        List<Batch> kept = markerEpoch == epoch ? batches : List.of();
        return new ProducerEntry(producerId, markerEpoch, markerCoordinatorEpoch, timestampMs, -1, kept);
    }
}
