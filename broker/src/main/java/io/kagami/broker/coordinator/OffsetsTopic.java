package io.kagami.broker.coordinator;

import java.util.Map;

/**
 * How {@code __consumer_offsets} is made when it is first needed.
 *
 * @param partitions offsets.topic.num.partitions
 * @param segmentBytes offsets.topic.segment.bytes
 */
public record OffsetsTopic(int partitions, int segmentBytes) {
    public static final String NAME = "__consumer_offsets";

    public OffsetsTopic {
        if (partitions < 1 || partitions > 10_000) {
            throw new IllegalArgumentException(
                    "offsets.topic.num.partitions must be between 1 and 10000, not " + partitions);
        }
        if (segmentBytes < 1 << 20) {
            throw new IllegalArgumentException(
                    "offsets.topic.segment.bytes must be at least 1048576, not " + segmentBytes);
        }
    }

    Map<String, String> configs() {
        return Map.of(
                "cleanup.policy", "compact",
                "segment.bytes", Integer.toString(segmentBytes),
                "compression.type", "producer");
    }

    /** As Kafka chooses it, so that a topic copied from there is read right. */
    public static int partitionOf(String groupId, int partitions) {
        int hash = groupId.hashCode();
        return (hash == Integer.MIN_VALUE ? 0 : Math.abs(hash)) % partitions;
    }
}
