package io.kagami.cli.wire;

import io.kagami.protocol.client.Node;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.DescribeGroupsRequestData;
import org.apache.kafka.common.message.DescribeGroupsResponseData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.protocol.ApiKeys;

/** Consumer groups of a cluster: which there are, their state, and what they have committed. */
public final class Groups {
    private static final byte GROUP_KEY = 0;
    /** From this version on OffsetFetch asks for several groups at once. */
    private static final int GROUPED_FROM = 8;
    /** From this version on OffsetFetch names topics by id; names are wanted here. */
    private static final int IDS_FROM = 10;

    /** One group as its broker lists it. */
    public record Listed(String group, String protocolType, String state, int coordinator) {}

    /** A group's state and members, as far as its coordinator tells. */
    public record Described(String group, String state, int members, Node coordinator) {}

    private final Wire wire;

    public Groups(Wire wire) {
        this.wire = wire;
    }

    /** In order of name. */
    public List<Listed> list() {
        Map<String, Listed> groups = new TreeMap<>();
        for (int node : wire.metadata(List.of()).nodes().keySet()) {
            groups.putAll(wire.ask(node, new ListGroupsRequestData(), reply -> {
                ListGroupsResponseData answer = (ListGroupsResponseData) reply.body();
                wire.check(answer.errorCode(), null, "Cannot list the groups");
                Map<String, Listed> here = new HashMap<>();
                answer.groups()
                        .forEach(group -> here.put(
                                group.groupId(),
                                new Listed(
                                        group.groupId(),
                                        group.protocolType(),
                                        group.groupState().isEmpty() ? null : group.groupState(),
                                        node)));
                return here;
            }));
        }
        return new ArrayList<>(groups.values());
    }

    public Described describe(String group) {
        Node coordinator = wire.coordinator(GROUP_KEY, group);
        return wire.ask(coordinator.id(), new DescribeGroupsRequestData().setGroups(List.of(group)), reply -> {
            DescribeGroupsResponseData.DescribedGroup answer =
                    ((DescribeGroupsResponseData) reply.body()).groups().get(0);
            wire.check(answer.errorCode(), answer.errorMessage(), "Cannot describe group " + group);
            return new Described(group, answer.groupState(), answer.members().size(), coordinator);
        });
    }

    /** Committed offsets by partition, in order of topic and partition. */
    public Map<TopicPartition, Long> committed(String group) {
        Node coordinator = wire.coordinator(GROUP_KEY, group);
        int version = wire.version(coordinator.id(), ApiKeys.OFFSET_FETCH.id).orElse(0);
        OffsetFetchRequestData request = new OffsetFetchRequestData();
        if (version >= GROUPED_FROM) {
            request.setGroups(
                    List.of(new OffsetFetchRequestGroup().setGroupId(group).setTopics(null)));
        } else {
            request.setGroupId(group).setTopics(null);
        }
        return wire.read(
                wire.connection(coordinator.id()).send(request, IDS_FROM - 1),
                reply -> read((OffsetFetchResponseData) reply.body(), version, group));
    }

    private Map<TopicPartition, Long> read(OffsetFetchResponseData answer, int version, String group) {
        Map<TopicPartition, Long> offsets =
                new TreeMap<>(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition));
        String what = "Cannot read the offsets of group " + group;
        if (version >= GROUPED_FROM) {
            answer.groups().forEach(of -> {
                wire.check(of.errorCode(), null, what);
                of.topics().forEach(topic -> topic.partitions().forEach(partition -> {
                    if (partition.committedOffset() >= 0) {
                        offsets.put(
                                new TopicPartition(topic.name(), partition.partitionIndex()),
                                partition.committedOffset());
                    }
                }));
            });
        } else {
            wire.check(answer.errorCode(), null, what);
            answer.topics().forEach(topic -> topic.partitions().forEach(partition -> {
                if (partition.committedOffset() >= 0) {
                    offsets.put(
                            new TopicPartition(topic.name(), partition.partitionIndex()), partition.committedOffset());
                }
            }));
        }
        return offsets;
    }
}
