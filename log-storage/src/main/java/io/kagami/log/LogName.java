package io.kagami.log;

/** Names the log of one partition; its directory is called {@code topic-partition}, as in Apache Kafka. */
public record LogName(String topic, int partition) {
    @Override
    public String toString() {
        return topic + "-" + partition;
    }
}
