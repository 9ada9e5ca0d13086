package io.kagami.broker.core.adopt;

/**
 * A transaction without a marker in a partition: readers with {@code read_committed} see nothing from its first record on.
 *
 * @param producerEpoch newest one seen of the producer
 * @param coordinatorEpoch of the producer's last marker in the partition, -1 when there was none
 * @param sinceMs time of its first batch, -1 when that cannot be read
 */
public record OpenTransaction(
        long producerId, short producerEpoch, int coordinatorEpoch, long firstOffset, long sinceMs) {}
