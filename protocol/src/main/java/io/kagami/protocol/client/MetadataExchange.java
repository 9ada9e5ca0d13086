package io.kagami.protocol.client;

import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import io.kagami.protocol.client.ClusterMetadata.Topic;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataRequestData.MetadataRequestTopic;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.protocol.Errors;

/** Metadata of every version, asked so that no topic is ever created by asking; pure. */
final class MetadataExchange {
    static final short KEY = 3;

    /** Before it the broker creates the topics it is asked for whenever its configuration lets it. */
    private static final short NO_CREATE_FROM = 4;

    private static final short NONE_IS_EMPTY_FROM = 1;

    // A source is not trusted: what no real cluster has is refused.
    private static final int BROKERS_MAX = 1_000;
    private static final int PARTITIONS_MAX = 200_000;

    private MetadataExchange() {}

    /** @param topics null means all, empty means none */
    static MetadataRequestData request(Collection<String> topics, int version) {
        MetadataRequestData request = new MetadataRequestData().setAllowAutoTopicCreation(version < NO_CREATE_FROM);
        boolean none = topics != null && topics.isEmpty();
        if (none && version >= NONE_IS_EMPTY_FROM) {
            return request.setTopics(new ArrayList<>());
        }
        if (topics == null || version < NO_CREATE_FROM) {
            return request.setTopics(version < NONE_IS_EMPTY_FROM ? new ArrayList<>() : null);
        }
        List<MetadataRequestTopic> names = new ArrayList<>(topics.size());
        for (String name : new HashSet<>(topics)) {
            names.add(new MetadataRequestTopic().setName(name));
        }
        return request.setTopics(names);
    }

    /** @throws RuntimeException when the answer is an error or larger than any real cluster */
    static ClusterMetadata read(MetadataResponseData answer, Collection<String> topics) {
        Errors error = Errors.forCode(answer.errorCode());
        if (error != Errors.NONE) {
            throw error.exception();
        }
        if (answer.brokers().size() > BROKERS_MAX) {
            throw new IllegalStateException("Metadata lists " + answer.brokers().size() + " brokers");
        }
        Map<Integer, Node> nodes = new LinkedHashMap<>();
        for (MetadataResponseData.MetadataResponseBroker broker : answer.brokers()) {
            if (HostPort.usable(broker.host(), broker.port())) {
                nodes.put(broker.nodeId(), new Node(broker.nodeId(), broker.host(), broker.port()));
            }
        }
        Set<String> wanted = topics == null ? null : new HashSet<>(topics);
        Map<String, Topic> found = new LinkedHashMap<>();
        int partitions = 0;
        for (MetadataResponseData.MetadataResponseTopic topic : answer.topics()) {
            partitions += topic.partitions().size();
            if (partitions > PARTITIONS_MAX) {
                throw new IllegalStateException("Metadata lists more than " + PARTITIONS_MAX + " partitions");
            }
            if (topic.name() != null && (wanted == null || wanted.contains(topic.name()))) {
                found.put(topic.name(), topic(topic));
            }
        }
        return new ClusterMetadata(answer.clusterId(), answer.controllerId(), Map.copyOf(nodes), Map.copyOf(found));
    }

    private static Topic topic(MetadataResponseData.MetadataResponseTopic topic) {
        List<PartitionInfo> partitions = new ArrayList<>(topic.partitions().size());
        for (MetadataResponseData.MetadataResponsePartition partition : topic.partitions()) {
            partitions.add(new PartitionInfo(
                    partition.partitionIndex(), partition.errorCode(), partition.leaderId(), partition.leaderEpoch()));
        }
        return new Topic(topic.name(), topic.topicId(), topic.isInternal(), topic.errorCode(), List.copyOf(partitions));
    }
}
