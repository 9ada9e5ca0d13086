package io.kagami.broker.api;

import io.kagami.broker.coordinator.OffsetsTopic;
import io.kagami.broker.core.group.GroupLimits;
import java.util.function.Function;

/**
 * What the group family is told by the configuration.
 *
 * @param limits times and bounds of the groups
 * @param topic how {@code __consumer_offsets} is made
 * @param expiryMs offsets.retention.check.interval.ms
 * @param advertised by listener name, the host and port that its clients are sent to
 */
public record GroupOptions(
        GroupLimits limits, OffsetsTopic topic, long expiryMs, Function<String, HostPort> advertised) {
    private static final int PARTITIONS = 50;
    private static final int SEGMENT_BYTES = 100 << 20;
    private static final long EXPIRY_MS = 600_000;

    public GroupOptions {
        if (expiryMs < 1) {
            throw new IllegalArgumentException(
                    "offsets.retention.check.interval.ms must be at least 1, not " + expiryMs);
        }
    }

    /** Kafka's defaults. */
    public static GroupOptions defaults(Function<String, HostPort> advertised) {
        return new GroupOptions(
                GroupLimits.DEFAULT, new OffsetsTopic(PARTITIONS, SEGMENT_BYTES), EXPIRY_MS, advertised);
    }

    /** Every other time and bound as it is. */
    public GroupOptions with(GroupLimits other, int offsetsPartitions) {
        return new GroupOptions(other, new OffsetsTopic(offsetsPartitions, topic.segmentBytes()), expiryMs, advertised);
    }
}
