package io.kagami.cli.wire;

import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.DescribeLogDirsRequestData;
import org.apache.kafka.common.message.DescribeLogDirsRequestData.DescribableLogDirTopic;
import org.apache.kafka.common.message.DescribeLogDirsResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsTopic;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.protocol.ApiKeys;

/** Where partitions begin and end, and how many bytes they take; asked of every partition's leader, all partitions at once. */
public final class Offsets {
    private static final long EARLIEST = -2;
    private static final long LATEST = -1;

    private final Wire wire;

    public Offsets(Wire wire) {
        this.wire = wire;
    }

    public Map<TopicPartition, Long> starts(ClusterMetadata metadata) {
        return list(metadata, EARLIEST);
    }

    /** The end as a reader of uncommitted records sees it: the high watermark. */
    public Map<TopicPartition, Long> ends(ClusterMetadata metadata) {
        return list(metadata, LATEST);
    }

    /** Partitions without a leader, or whose leader refuses, are absent. */
    private Map<TopicPartition, Long> list(ClusterMetadata metadata, long timestamp) {
        Map<Integer, Map<String, List<ListOffsetsPartition>>> byLeader = new TreeMap<>();
        metadata.topics().values().forEach(topic -> topic.partitions().forEach(partition -> {
            if (partition.leader() >= 0) {
                byLeader.computeIfAbsent(partition.leader(), id -> new TreeMap<>())
                        .computeIfAbsent(topic.name(), name -> new ArrayList<>())
                        .add(new ListOffsetsPartition()
                                .setPartitionIndex(partition.partition())
                                .setTimestamp(timestamp));
            }
        }));
        Map<TopicPartition, Long> offsets = new HashMap<>();
        byLeader.forEach((leader, topics) -> {
            ListOffsetsRequestData request = new ListOffsetsRequestData().setReplicaId(-1);
            topics.forEach((name, partitions) ->
                    request.topics().add(new ListOffsetsTopic().setName(name).setPartitions(partitions)));
            offsets.putAll(wire.ask(leader, request, reply -> read((ListOffsetsResponseData) reply.body())));
        });
        return offsets;
    }

    private static Map<TopicPartition, Long> read(ListOffsetsResponseData answer) {
        Map<TopicPartition, Long> offsets = new HashMap<>();
        answer.topics().forEach(topic -> topic.partitions().forEach(partition -> {
            if (partition.errorCode() == 0) {
                offsets.put(new TopicPartition(topic.name(), partition.partitionIndex()), partition.offset());
            }
        }));
        return offsets;
    }

    /** Bytes of the leaders' log files; absent where the broker does not tell. */
    public Map<TopicPartition, Long> bytes(ClusterMetadata metadata) {
        Map<TopicPartition, Long> bytes = new HashMap<>();
        Map<Integer, Map<String, List<Integer>>> byLeader = new TreeMap<>();
        metadata.topics().values().forEach(topic -> topic.partitions().stream()
                .filter(partition -> partition.leader() >= 0)
                .forEach(partition -> add(byLeader, topic.name(), partition)));
        byLeader.forEach((leader, topics) -> {
            if (wire.version(leader, ApiKeys.DESCRIBE_LOG_DIRS.id).isEmpty()) {
                return;
            }
            DescribeLogDirsRequestData request = new DescribeLogDirsRequestData();
            topics.forEach((name, partitions) -> request.topics()
                    .add(new DescribableLogDirTopic().setTopic(name).setPartitions(partitions)));
            bytes.putAll(wire.ask(leader, request, reply -> read((DescribeLogDirsResponseData) reply.body())));
        });
        return bytes;
    }

    private static void add(Map<Integer, Map<String, List<Integer>>> byLeader, String topic, PartitionInfo partition) {
        byLeader.computeIfAbsent(partition.leader(), id -> new TreeMap<>())
                .computeIfAbsent(topic, name -> new ArrayList<>())
                .add(partition.partition());
    }

    private static Map<TopicPartition, Long> read(DescribeLogDirsResponseData answer) {
        Map<TopicPartition, Long> bytes = new HashMap<>();
        answer.results().forEach(dir -> dir.topics().forEach(topic -> topic.partitions().stream()
                .filter(partition -> !partition.isFutureKey())
                .forEach(partition -> bytes.put(
                        new TopicPartition(topic.name(), partition.partitionIndex()), partition.partitionSize()))));
        return bytes;
    }
}
