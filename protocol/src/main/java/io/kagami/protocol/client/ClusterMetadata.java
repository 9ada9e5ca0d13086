package io.kagami.protocol.client;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;

/**
 * One Metadata answer.
 *
 * @param clusterId null when the broker sends none
 * @param controllerId -1 when unknown
 */
public record ClusterMetadata(String clusterId, int controllerId, Map<Integer, Node> nodes, Map<String, Topic> topics) {
    /** @param topicId {@link Uuid#ZERO_UUID} when the broker has no ids */
    public record Topic(String name, Uuid topicId, boolean internal, short errorCode, List<PartitionInfo> partitions) {}

    /** @param leaderEpoch -1 when unknown; leader -1 when there is none */
    public record PartitionInfo(int partition, short errorCode, int leader, int leaderEpoch) {}

    public Optional<Node> node(int id) {
        return Optional.ofNullable(nodes.get(id));
    }
}
