package io.kagami.mirror.ports;

import org.apache.kafka.common.Uuid;

/** Names one mirror partition on this side; {@code topicId} is the local topic's id. */
public record MirrorPartition(String mirror, String topic, Uuid topicId, int partition) {
    @Override
    public String toString() {
        return topic + "-" + partition;
    }
}
