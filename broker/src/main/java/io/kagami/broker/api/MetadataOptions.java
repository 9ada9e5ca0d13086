package io.kagami.broker.api;

import java.util.Map;
import java.util.function.Function;

/**
 * What the metadata family needs of the broker's configuration.
 *
 * @param advertised address that clients of a listener are told, by listener name
 * @param autoCreateTopics {@code auto.create.topics.enable}
 * @param numPartitions partitions of a topic that is created without a count
 * @param defaultReplicationFactor replicas of a topic that is created without a count
 * @param topicDefaults topic-level keys that the broker's configuration sets; the rest has Kafka's defaults
 * @param brokerConfigs the broker's own settings as DescribeConfigs shows them; no secrets
 */
public record MetadataOptions(
        Function<String, HostPort> advertised,
        boolean autoCreateTopics,
        int numPartitions,
        short defaultReplicationFactor,
        Map<String, String> topicDefaults,
        Map<String, String> brokerConfigs) {

    public MetadataOptions {
        topicDefaults = Map.copyOf(topicDefaults);
        brokerConfigs = Map.copyOf(brokerConfigs);
        TopicConfigs.problem(topicDefaults).ifPresent(problem -> {
            throw new IllegalArgumentException(problem);
        });
        if (numPartitions < 1) {
            throw new IllegalArgumentException("num.partitions must be at least 1, not " + numPartitions);
        }
        if (defaultReplicationFactor < 1) {
            throw new IllegalArgumentException(
                    "default.replication.factor must be at least 1, not " + defaultReplicationFactor);
        }
    }

    public MetadataOptions(
            Function<String, HostPort> advertised,
            boolean autoCreateTopics,
            int numPartitions,
            short defaultReplicationFactor,
            Map<String, String> topicDefaults) {
        this(advertised, autoCreateTopics, numPartitions, defaultReplicationFactor, topicDefaults, Map.of());
    }
}
