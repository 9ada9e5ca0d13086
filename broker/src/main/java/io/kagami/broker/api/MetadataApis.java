package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import java.util.Map;
import java.util.function.BiPredicate;
import org.apache.kafka.common.protocol.ApiKeys;

/** The handlers that read and change the cluster's metadata, by api key. */
public final class MetadataApis {
    private MetadataApis() {}

    /** @param led whether a partition of this number has a log that can be read here; without one it has no leader */
    public static Map<Short, Handler> handlers(
            Cluster cluster, MetadataOptions options, BiPredicate<String, Integer> led) {
        MetadataHandler metadata = new MetadataHandler(cluster, options, led);
        TopicHandler topics = new TopicHandler(cluster, options);
        ConfigHandler configs = new ConfigHandler(cluster, options);
        return Map.of(
                ApiKeys.METADATA.id, metadata::metadata,
                ApiKeys.DESCRIBE_CLUSTER.id, metadata::describeCluster,
                ApiKeys.DESCRIBE_TOPIC_PARTITIONS.id, metadata::describeTopicPartitions,
                ApiKeys.CREATE_TOPICS.id, topics::create,
                ApiKeys.DELETE_TOPICS.id, topics::delete,
                ApiKeys.DESCRIBE_CONFIGS.id, configs::describe,
                ApiKeys.INCREMENTAL_ALTER_CONFIGS.id, configs::alterIncrementally);
    }
}
