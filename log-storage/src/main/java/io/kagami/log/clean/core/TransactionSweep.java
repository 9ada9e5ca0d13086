package io.kagami.log.clean.core;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.ProducerTable.Aborted;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * Follows the transactions while the batches of a log go by in order, from the beginning of a segment on: which batches are aborted, and of which markers
 * the transaction has no batch left (KAFKA-5490, KAFKA-8351). One thread.
 */
public final class TransactionSweep {
    private final PriorityQueue<Aborted> ahead = new PriorityQueue<>(Comparator.comparingLong(Aborted::firstOffset));
    /** Aborted transactions that have begun, and whether a batch of theirs went by. */
    private final Map<Long, Boolean> aborted = new HashMap<>();
    /** Producers of which batches went by whose transaction is not known to be aborted. */
    private final Set<Long> committing = new HashSet<>();

    /**
     * @param all every aborted transaction with a marker in the log
     * @param from offset of the first batch that will be taken: transactions that ended before it are over
     */
    public TransactionSweep(Collection<Aborted> all, long from) {
        for (Aborted each : all) {
            if (each.lastOffset() >= from) {
                ahead.add(each);
            }
        }
    }

    /** Takes the next batch that is no control batch; true when its transaction was aborted. */
    public boolean onData(ByteBuffer buf, int at) {
        begin(BatchHeader.lastOffset(buf, at));
        if (!BatchHeader.transactional(buf, at)) {
            return false;
        }
        long producerId = BatchHeader.producerId(buf, at);
        if (aborted.containsKey(producerId)) {
            aborted.put(producerId, true);
            return true;
        }
        committing.add(producerId);
        return false;
    }

    /**
     * Takes the next control batch.
     *
     * @param type of its record, see {@link ControlRecord#type()}
     * @return whether it ended a transaction of which nothing is left, or has no record any more; false for other control batches
     */
    public boolean onControl(ByteBuffer buf, int at, int type) {
        begin(BatchHeader.lastOffset(buf, at));
        if (BatchHeader.recordCount(buf, at) == 0) {
            return true;
        }
        long producerId = BatchHeader.producerId(buf, at);
        if (type == ControlRecord.ABORT) {
            Boolean seen = aborted.remove(producerId);
            return seen == null || !seen;
        }
        return type == ControlRecord.COMMIT && !committing.remove(producerId);
    }

    private void begin(long upTo) {
        while (!ahead.isEmpty() && ahead.peek().firstOffset() <= upTo) {
            aborted.putIfAbsent(ahead.poll().producerId(), false);
        }
    }
}
