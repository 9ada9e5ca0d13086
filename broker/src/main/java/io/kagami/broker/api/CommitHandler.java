package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.coordinator.GroupCoordinator;
import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.net.Session;
import io.kagami.protocol.Request;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponsePartition;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponseTopic;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestPartition;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestTopic;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestTopicCollection;
import org.apache.kafka.common.message.OffsetDeleteResponseData;
import org.apache.kafka.common.message.OffsetDeleteResponseData.OffsetDeleteResponsePartition;
import org.apache.kafka.common.message.OffsetDeleteResponseData.OffsetDeleteResponseTopic;
import org.apache.kafka.common.message.OffsetFetchRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponsePartition;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponsePartitions;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseTopic;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseTopics;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/**
 * OffsetCommit 2-10, OffsetFetch 1-10, OffsetDelete 0. Topic ids (version 10) become names here and ids again in the answer; the shards
 * know names. Mirror topics may be committed for: reading them is what they are for.
 */
final class CommitHandler {
    private static final short TOPIC_IDS_FROM = 10;
    private static final short GROUPS_FROM = 8;
    private static final short TOP_LEVEL_ERROR_FROM = 2;

    private final Cluster cluster;
    private final GroupCoordinator coordinator;

    CommitHandler(Cluster cluster, GroupCoordinator coordinator) {
        this.cluster = cluster;
        this.coordinator = coordinator;
    }

    CompletionStage<ApiMessage> commit(Request request, Session session) {
        OffsetCommitRequestData body = (OffsetCommitRequestData) request.body();
        boolean byId = request.version() >= TOPIC_IDS_FROM;
        ClusterImage image = cluster.image();
        OffsetCommitRequestData known = body.duplicate().setTopics(new ArrayList<>());
        OffsetCommitResponseData refused = new OffsetCommitResponseData();
        for (OffsetCommitRequestTopic topic : body.topics()) {
            Optional<TopicImage> found = byId
                    ? image.topic(topic.topicId())
                    : Optional.ofNullable(image.topics().get(topic.name()));
            List<OffsetCommitRequestPartition> good = topic.partitions().stream()
                    .filter(p -> found.isPresent()
                            && p.partitionIndex() >= 0
                            && p.partitionIndex() < found.get().partitions())
                    .toList();
            if (!good.isEmpty()) {
                known.topics()
                        .add(new OffsetCommitRequestTopic()
                                .setName(found.orElseThrow().name())
                                .setTopicId(topic.topicId())
                                .setPartitions(good));
            }
            List<OffsetCommitRequestPartition> bad = new ArrayList<>(topic.partitions());
            bad.removeAll(good);
            Errors why = byId && found.isEmpty() ? Errors.UNKNOWN_TOPIC_ID : Errors.UNKNOWN_TOPIC_OR_PARTITION;
            if (!bad.isEmpty() || topic.partitions().isEmpty()) {
                refused.topics().add(refusal(topic, bad, why));
            }
        }
        if (known.topics().isEmpty()) {
            return CompletableFuture.completedFuture(refused);
        }
        short version = request.version();
        return GroupHandler.orElse(
                        GroupHandler.atShard(
                                coordinator,
                                body.groupId(),
                                GroupHandler.host(
                                        OffsetCommitResponseData.class,
                                        (shard, token, now) -> shard.onCommit(token, known, version, now))),
                        error -> refusal(known, error))
                .thenApply(reply -> merge((OffsetCommitResponseData) reply, refused));
    }

    private static OffsetCommitResponseTopic refusal(
            OffsetCommitRequestTopic topic, List<OffsetCommitRequestPartition> partitions, Errors why) {
        OffsetCommitResponseTopic row =
                new OffsetCommitResponseTopic().setName(topic.name()).setTopicId(topic.topicId());
        partitions.forEach(partition -> row.partitions()
                .add(new OffsetCommitResponsePartition()
                        .setPartitionIndex(partition.partitionIndex())
                        .setErrorCode(why.code())));
        return row;
    }

    private static OffsetCommitResponseData refusal(OffsetCommitRequestData request, Errors why) {
        OffsetCommitResponseData reply = new OffsetCommitResponseData();
        request.topics().forEach(topic -> reply.topics().add(refusal(topic, topic.partitions(), why)));
        return reply;
    }

    /** One row per topic, also where some of its partitions were known and some not. */
    private static OffsetCommitResponseData merge(OffsetCommitResponseData reply, OffsetCommitResponseData refused) {
        for (OffsetCommitResponseTopic topic : refused.topics()) {
            Optional<OffsetCommitResponseTopic> same = reply.topics().stream()
                    .filter(row ->
                            row.name().equals(topic.name()) && row.topicId().equals(topic.topicId()))
                    .findFirst();
            if (same.isPresent()) {
                same.get().partitions().addAll(topic.partitions());
            } else {
                reply.topics().add(topic);
            }
        }
        return reply;
    }

    CompletionStage<ApiMessage> fetch(Request request, Session session) {
        OffsetFetchRequestData body = (OffsetFetchRequestData) request.body();
        short version = request.version();
        if (version < GROUPS_FROM) {
            return fetchOne(oneGroup(body), version).thenApply(group -> oneGroup(group, body, version));
        }
        List<CompletableFuture<OffsetFetchResponseGroup>> parts = body.groups().stream()
                .map(group -> fetchOne(group, version).toCompletableFuture())
                .toList();
        return GroupHandler.join(parts).thenApply(all -> new OffsetFetchResponseData().setGroups(all));
    }

    private CompletionStage<OffsetFetchResponseGroup> fetchOne(OffsetFetchRequestGroup asked, short version) {
        ClusterImage image = cluster.image();
        boolean byId = version >= TOPIC_IDS_FROM;
        List<OffsetFetchResponseTopics> unknown = new ArrayList<>();
        OffsetFetchRequestGroup named = byId && asked.topics() != null ? withNames(asked, image, unknown) : asked;
        return GroupHandler.atShard(
                        coordinator,
                        asked.groupId(),
                        host -> host.read(OffsetFetchResponseGroup.class, shard -> shard.fetchOffsets(named)))
                .thenApply(reply -> byId ? withIds(reply, image, unknown) : reply)
                .exceptionally(failure -> new OffsetFetchResponseGroup()
                        .setGroupId(asked.groupId())
                        .setErrorCode(GroupHandler.errorOf(failure).code()));
    }

    private static OffsetFetchRequestGroup withNames(
            OffsetFetchRequestGroup asked, ClusterImage image, List<OffsetFetchResponseTopics> unknown) {
        OffsetFetchRequestGroup named =
                new OffsetFetchRequestGroup().setGroupId(asked.groupId()).setTopics(new ArrayList<>());
        for (OffsetFetchRequestTopics topic : asked.topics()) {
            Optional<TopicImage> found = image.topic(topic.topicId());
            if (found.isPresent()) {
                named.topics()
                        .add(new OffsetFetchRequestTopics()
                                .setName(found.get().name())
                                .setTopicId(topic.topicId())
                                .setPartitionIndexes(topic.partitionIndexes()));
                continue;
            }
            OffsetFetchResponseTopics row = new OffsetFetchResponseTopics().setTopicId(topic.topicId());
            topic.partitionIndexes().forEach(partition -> row.partitions()
                    .add(new OffsetFetchResponsePartitions()
                            .setPartitionIndex(partition)
                            .setCommittedOffset(-1)
                            .setMetadata("")
                            .setErrorCode(Errors.UNKNOWN_TOPIC_ID.code())));
            unknown.add(row);
        }
        return named;
    }

    /** Topics that are gone have no id and are left out. */
    private static OffsetFetchResponseGroup withIds(
            OffsetFetchResponseGroup reply, ClusterImage image, List<OffsetFetchResponseTopics> unknown) {
        List<OffsetFetchResponseTopics> rows = new ArrayList<>();
        for (OffsetFetchResponseTopics row : reply.topics()) {
            TopicImage topic = image.topics().get(row.name());
            if (topic != null) {
                rows.add(row.setTopicId(topic.id()));
            }
        }
        rows.addAll(unknown);
        return reply.setTopics(rows);
    }

    private static OffsetFetchRequestGroup oneGroup(OffsetFetchRequestData body) {
        OffsetFetchRequestGroup group = new OffsetFetchRequestGroup().setGroupId(body.groupId());
        return body.topics() == null
                ? group.setTopics(null)
                : group.setTopics(body.topics().stream()
                        .map(topic -> new OffsetFetchRequestTopics()
                                .setName(topic.name())
                                .setPartitionIndexes(topic.partitionIndexes()))
                        .toList());
    }

    /** Version 1 has no error of the group: it goes on every partition, or consumers would begin anew. */
    private static OffsetFetchResponseData oneGroup(
            OffsetFetchResponseGroup group, OffsetFetchRequestData body, short version) {
        OffsetFetchResponseData reply = new OffsetFetchResponseData();
        if (group.errorCode() != 0 && version < TOP_LEVEL_ERROR_FROM && body.topics() != null) {
            body.topics().forEach(topic -> {
                OffsetFetchResponseTopic row = new OffsetFetchResponseTopic().setName(topic.name());
                topic.partitionIndexes().forEach(partition -> row.partitions()
                        .add(new OffsetFetchResponsePartition()
                                .setPartitionIndex(partition)
                                .setCommittedOffset(-1)
                                .setMetadata("")
                                .setErrorCode(group.errorCode())));
                reply.topics().add(row);
            });
            return reply;
        }
        for (OffsetFetchResponseTopics topic : group.topics()) {
            OffsetFetchResponseTopic row = new OffsetFetchResponseTopic().setName(topic.name());
            topic.partitions().forEach(partition -> row.partitions()
                    .add(new OffsetFetchResponsePartition()
                            .setPartitionIndex(partition.partitionIndex())
                            .setCommittedOffset(partition.committedOffset())
                            .setCommittedLeaderEpoch(partition.committedLeaderEpoch())
                            .setMetadata(partition.metadata())
                            .setErrorCode(partition.errorCode())));
            reply.topics().add(row);
        }
        return reply.setErrorCode(group.errorCode());
    }

    CompletionStage<ApiMessage> delete(Request request, Session session) {
        OffsetDeleteRequestData body = (OffsetDeleteRequestData) request.body();
        ClusterImage image = cluster.image();
        OffsetDeleteRequestTopicCollection known = new OffsetDeleteRequestTopicCollection();
        List<OffsetDeleteResponseTopic> unknown = new ArrayList<>();
        for (OffsetDeleteRequestTopic topic : body.topics()) {
            TopicImage found = image.topics().get(topic.name());
            OffsetDeleteRequestTopic good = new OffsetDeleteRequestTopic().setName(topic.name());
            OffsetDeleteResponseTopic bad = new OffsetDeleteResponseTopic().setName(topic.name());
            for (OffsetDeleteRequestPartition partition : topic.partitions()) {
                if (found != null
                        && partition.partitionIndex() >= 0
                        && partition.partitionIndex() < found.partitions()) {
                    good.partitions().add(partition.duplicate());
                } else {
                    bad.partitions()
                            .add(new OffsetDeleteResponsePartition()
                                    .setPartitionIndex(partition.partitionIndex())
                                    .setErrorCode(Errors.UNKNOWN_TOPIC_OR_PARTITION.code()));
                }
            }
            if (!good.partitions().isEmpty()) {
                known.add(good);
            }
            if (!bad.partitions().isEmpty()) {
                unknown.add(bad);
            }
        }
        OffsetDeleteRequestData filtered =
                new OffsetDeleteRequestData().setGroupId(body.groupId()).setTopics(known);
        return GroupHandler.orElse(
                GroupHandler.atShard(
                                coordinator,
                                body.groupId(),
                                GroupHandler.host(
                                        OffsetDeleteResponseData.class,
                                        (shard, token, now) -> shard.onDeleteOffsets(token, filtered, now)))
                        .thenApply(reply -> merge(reply, unknown)),
                error -> new OffsetDeleteResponseData().setErrorCode(error.code()));
    }

    private static OffsetDeleteResponseData merge(
            OffsetDeleteResponseData reply, List<OffsetDeleteResponseTopic> unknown) {
        if (reply.errorCode() != 0) {
            return reply;
        }
        for (OffsetDeleteResponseTopic topic : unknown) {
            OffsetDeleteResponseTopic same = reply.topics().find(topic.name());
            if (same == null) {
                reply.topics().add(topic);
            } else {
                topic.partitions().forEach(row -> same.partitions().add(row.duplicate()));
            }
        }
        return reply;
    }
}
