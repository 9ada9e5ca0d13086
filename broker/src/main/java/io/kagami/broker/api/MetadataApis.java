package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiKeys;

/** The handlers that read and change the cluster's metadata, by api key. */
public final class MetadataApis {
    private MetadataApis() {}

    public static Map<Short, Handler> handlers(Cluster cluster, MetadataOptions options) {
        MetadataHandler metadata = new MetadataHandler(cluster, options);
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
