package io.kagami.log.core;

import io.kagami.log.core.ProducerEntry.Batch;
import io.kagami.log.core.ProducerFault.Reason;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;

/**
 * Whether the batches of one append may follow what their producers wrote before: sequences without gap, no older epoch, no batch twice.
 * Leaves the table as it is, since nothing is written yet (KAFKA-6683); the batches of one append are judged one after another. The
 * rules are Apache Kafka 4's.
 */
public final class ProducerCheck {
    private final ProducerTable table;
    private final Map<Long, ProducerEntry> ahead = new HashMap<>();

    public ProducerCheck(ProducerTable table) {
        this.table = table;
    }

    /**
     * @param control of a control batch; not looked at otherwise
     * @return the batch that was appended before with the same sequences, or null when this one is new
     * @throws ProducerFault when it may not be appended
     */
    public Batch onBatch(ByteBuffer buf, int at, ControlRecord control) {
        long producerId = BatchHeader.producerId(buf, at);
        if (producerId < 0) {
            return null;
        }
        ProducerEntry known = ahead.get(producerId);
        ProducerEntry before = known == null ? table.entry(producerId) : known;
        if (BatchHeader.control(buf, at)) {
            if (!control.endsTransaction()) {
                return null;
            }
            requireEpoch(before, BatchHeader.producerEpoch(buf, at));
            requireCoordinator(before, control);
        } else {
            Batch original = duplicate(before, buf, at);
            if (original != null) {
                return original;
            }
            requireEpoch(before, BatchHeader.producerEpoch(buf, at));
            if (BatchHeader.baseSequence(buf, at) >= 0) { // coordinators write without
                requireSequence(before, buf, at);
            }
            if (before.open() && !BatchHeader.transactional(buf, at)) {
                throw new ProducerFault(
                        Reason.INVALID_TXN_STATE,
                        "producer " + producerId + " has a transaction open since offset " + before.firstOffset()
                                + " and sent a batch that does not belong to it");
            }
        }
        ahead.put(producerId, ProducerTable.after(before, buf, at, control));
        return null;
    }

    private static Batch duplicate(ProducerEntry before, ByteBuffer buf, int at) {
        int first = BatchHeader.baseSequence(buf, at);
        if (first < 0) {
            return null;
        }
        return before.appended(BatchHeader.producerEpoch(buf, at), first, ProducerTable.lastSequence(buf, at));
    }

    private static void requireEpoch(ProducerEntry before, short epoch) {
        if (epoch < before.epoch()) {
            throw new ProducerFault(
                    Reason.INVALID_PRODUCER_EPOCH,
                    "epoch " + epoch + " of producer " + before.producerId() + " is over: epoch " + before.epoch()
                            + " has written here");
        }
    }

    private static void requireCoordinator(ProducerEntry before, ControlRecord marker) {
        if (marker.coordinatorEpoch() < before.coordinatorEpoch()) {
            throw new ProducerFault(
                    Reason.COORDINATOR_FENCED,
                    "the marker for producer " + before.producerId() + " is of coordinator epoch "
                            + marker.coordinatorEpoch() + ", but epoch " + before.coordinatorEpoch()
                            + " has written here");
        }
    }

    private static void requireSequence(ProducerEntry before, ByteBuffer buf, int at) {
        if (before.epoch() == ProducerEntry.NO_EPOCH) {
            return; // nothing is known, any more or yet: KIP-360
        }
        int first = BatchHeader.baseSequence(buf, at);
        short epoch = BatchHeader.producerEpoch(buf, at);
        if (epoch != before.epoch()) {
            if (first != 0) {
                throw new ProducerFault(
                        Reason.OUT_OF_ORDER_SEQUENCE,
                        "producer " + before.producerId() + " begins epoch " + epoch + " with sequence " + first
                                + " instead of 0; its last epoch here was " + before.epoch());
            }
            return;
        }
        int last = before.lastSequence();
        int next = last < 0 ? 0 : ProducerEntry.plus(last, 1);
        if (first != next) {
            throw new ProducerFault(
                    Reason.OUT_OF_ORDER_SEQUENCE,
                    "producer " + before.producerId() + " sent sequence " + first + " in epoch " + epoch + " where "
                            + next + " is due" + (last < 0 ? "" : "; the last one here was " + last));
        }
    }
}
