package io.kagami.broker.core.group;

import io.kagami.broker.core.group.GroupRecord.Commit;
import io.kagami.broker.core.group.GroupRecord.Metadata;
import io.kagami.broker.core.group.GroupRecord.Offset;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.DeleteGroupsResponseData.DeletableGroupResult;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponsePartition;
import org.apache.kafka.common.message.OffsetCommitResponseData.OffsetCommitResponseTopic;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestPartition;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestTopic;
import org.apache.kafka.common.message.OffsetDeleteResponseData;
import org.apache.kafka.common.message.OffsetDeleteResponseData.OffsetDeleteResponsePartition;
import org.apache.kafka.common.message.OffsetDeleteResponseData.OffsetDeleteResponseTopic;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponsePartitions;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseTopics;
import org.apache.kafka.common.protocol.Errors;

/** Who may commit, what is answered, when committed offsets and groups end. */
final class OffsetRules {
    /** First OffsetCommit version whose clients know GROUP_ID_NOT_FOUND. */
    private static final short GROUP_ID_NOT_FOUND_FROM = 9;

    private final GroupLimits limits;
    private final Map<String, ClassicGroup> groups;
    private final Rebalance rebalance;

    OffsetRules(GroupLimits limits, Map<String, ClassicGroup> groups, Rebalance rebalance) {
        this.limits = limits;
        this.groups = groups;
        this.rebalance = rebalance;
    }

    Outcome commit(long token, OffsetCommitRequestData request, short version, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(request.groupId(), nowMs);
        ClassicGroup group = groups.get(request.groupId());
        Errors error = mayCommit(group, request, version);
        if (error == Errors.NONE && group != null && group.member(request.memberId()) != null) {
            rebalance.heard(group, group.member(request.memberId()), nowMs);
        }
        OffsetCommitResponseData reply = new OffsetCommitResponseData();
        for (OffsetCommitRequestTopic topic : request.topics()) {
            OffsetCommitResponseTopic answered =
                    new OffsetCommitResponseTopic().setName(topic.name()).setTopicId(topic.topicId());
            reply.topics().add(answered);
            for (OffsetCommitRequestPartition partition : topic.partitions()) {
                Errors own = error != Errors.NONE ? error : mayStore(partition);
                answered.partitions()
                        .add(new OffsetCommitResponsePartition()
                                .setPartitionIndex(partition.partitionIndex())
                                .setErrorCode(own.code()));
                if (own == Errors.NONE) {
                    out.append(record(request, topic, partition, nowMs));
                }
            }
        }
        return out.reply(token, reply).build();
    }

    private Errors mayCommit(ClassicGroup group, OffsetCommitRequestData request, short version) {
        int generation = request.generationIdOrMemberEpoch();
        if (group == null) {
            if (generation < 0) {
                return groups.size() < limits.groupsMax() ? Errors.NONE : Errors.COORDINATOR_NOT_AVAILABLE;
            }
            return version >= GROUP_ID_NOT_FOUND_FROM ? Errors.GROUP_ID_NOT_FOUND : Errors.ILLEGAL_GENERATION;
        }
        if (generation < 0 && group.phase() == GroupPhase.EMPTY) {
            return Errors.NONE;
        }
        if (generation >= 0 || !request.memberId().isEmpty() || request.groupInstanceId() != null) {
            Errors error = group.check(request.memberId(), request.groupInstanceId());
            if (error != Errors.NONE) {
                return error;
            }
            if (generation != group.generation()) {
                return Errors.ILLEGAL_GENERATION;
            }
        } else if (group.phase() != GroupPhase.EMPTY) {
            return Errors.UNKNOWN_MEMBER_ID;
        }
        return group.phase() == GroupPhase.COMPLETING_REBALANCE ? Errors.REBALANCE_IN_PROGRESS : Errors.NONE;
    }

    private Errors mayStore(OffsetCommitRequestPartition partition) {
        String metadata = partition.committedMetadata();
        return metadata != null && metadata.length() > limits.commitMetadataMax()
                ? Errors.OFFSET_METADATA_TOO_LARGE
                : Errors.NONE;
    }

    private static Offset record(
            OffsetCommitRequestData request,
            OffsetCommitRequestTopic topic,
            OffsetCommitRequestPartition partition,
            long nowMs) {
        String metadata = partition.committedMetadata() == null ? "" : partition.committedMetadata();
        long retentionMs = request.retentionTimeMs();
        long expireMs = retentionMs < 0 ? -1 : Math.max(nowMs, nowMs + retentionMs);
        int epoch = Math.max(partition.committedLeaderEpoch(), -1);
        return new Offset(
                request.groupId(),
                topic.name(),
                partition.partitionIndex(),
                new Commit(partition.committedOffset(), epoch, metadata, nowMs, expireMs));
    }

    OffsetFetchResponseGroup fetch(OffsetFetchRequestGroup request) {
        OffsetFetchResponseGroup reply = new OffsetFetchResponseGroup().setGroupId(request.groupId());
        ClassicGroup group = groups.get(request.groupId());
        if (request.topics() == null) {
            if (group != null) {
                group.offsets().all().forEach((topic, partitions) -> {
                    OffsetFetchResponseTopics row = new OffsetFetchResponseTopics().setName(topic);
                    partitions.forEach((partition, commit) -> row.partitions().add(row(partition, commit)));
                    reply.topics().add(row);
                });
            }
            return reply;
        }
        for (OffsetFetchRequestTopics topic : request.topics()) {
            OffsetFetchResponseTopics row =
                    new OffsetFetchResponseTopics().setName(topic.name()).setTopicId(topic.topicId());
            for (int partition : topic.partitionIndexes()) {
                row.partitions()
                        .add(row(
                                partition,
                                group == null ? null : group.offsets().get(topic.name(), partition)));
            }
            reply.topics().add(row);
        }
        return reply;
    }

    private static OffsetFetchResponsePartitions row(int partition, Commit commit) {
        OffsetFetchResponsePartitions row = new OffsetFetchResponsePartitions().setPartitionIndex(partition);
        return commit == null
                ? row.setCommittedOffset(-1).setCommittedLeaderEpoch(-1).setMetadata("")
                : row.setCommittedOffset(commit.offset())
                        .setCommittedLeaderEpoch(commit.leaderEpoch())
                        .setMetadata(commit.metadata());
    }

    Outcome delete(long token, OffsetDeleteRequestData request, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(request.groupId(), nowMs);
        OffsetDeleteResponseData reply = new OffsetDeleteResponseData();
        ClassicGroup group = groups.get(request.groupId());
        Errors error = request.groupId().isEmpty()
                ? Errors.INVALID_GROUP_ID
                : group == null ? Errors.GROUP_ID_NOT_FOUND : mayDeleteOffsets(group);
        if (error != Errors.NONE) {
            return out.reply(token, reply.setErrorCode(error.code())).build();
        }
        for (OffsetDeleteRequestTopic topic : request.topics()) {
            boolean inUse = group.subscribes(topic.name());
            OffsetDeleteResponseTopic row = new OffsetDeleteResponseTopic().setName(topic.name());
            for (OffsetDeleteRequestPartition partition : topic.partitions()) {
                Errors own = inUse ? Errors.GROUP_SUBSCRIBED_TO_TOPIC : Errors.NONE;
                row.partitions()
                        .add(new OffsetDeleteResponsePartition()
                                .setPartitionIndex(partition.partitionIndex())
                                .setErrorCode(own.code()));
                if (!inUse && group.offsets().get(topic.name(), partition.partitionIndex()) != null) {
                    out.append(new Offset(request.groupId(), topic.name(), partition.partitionIndex(), null));
                }
            }
            reply.topics().add(row);
        }
        return out.reply(token, reply).build();
    }

    private static Errors mayDeleteOffsets(ClassicGroup group) {
        boolean consumers = ClassicGroup.CONSUMER_TYPE.equals(group.protocolType());
        return group.phase() == GroupPhase.EMPTY || consumers ? Errors.NONE : Errors.NON_EMPTY_GROUP;
    }

    Outcome deleteGroup(long token, String groupId, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(groupId, nowMs);
        ClassicGroup group = groups.get(groupId);
        Errors error = group == null
                ? Errors.GROUP_ID_NOT_FOUND
                : group.phase() == GroupPhase.EMPTY ? Errors.NONE : Errors.NON_EMPTY_GROUP;
        if (error == Errors.NONE) {
            end(group, out);
        }
        return out.reply(token, new DeletableGroupResult().setGroupId(groupId).setErrorCode(error.code()))
                .build();
    }

    /** All offsets first: a log cut in between still knows the group. */
    private static void end(ClassicGroup group, Outcome.Builder out) {
        group.offsets().tombstones(group.groupId(), (topic, commit) -> true).forEach(out::append);
        if (group.isStored()) {
            out.append(new Metadata(group.groupId(), null));
        }
    }

    Outcome topicDeleted(String topic, long nowMs) {
        Outcome.Builder out = new Outcome.Builder("", nowMs);
        for (ClassicGroup group : groups.values()) {
            group.offsets()
                    .tombstones(group.groupId(), (name, commit) -> name.equals(topic))
                    .forEach(out::append);
        }
        return out.build();
    }

    Outcome expire(String groupId, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(groupId, nowMs);
        ClassicGroup group = groups.get(groupId);
        if (group == null) {
            return out.build();
        }
        List<GroupRecord> old = expired(group, nowMs);
        old.forEach(out::append);
        int kept = group.offsets().all().values().stream().mapToInt(Map::size).sum() - old.size();
        if (group.phase() == GroupPhase.EMPTY && kept == 0 && group.isStored() && group.pendingCount() == 0) {
            out.append(new Metadata(groupId, null));
        }
        return out.build();
    }

    private List<GroupRecord> expired(ClassicGroup group, long nowMs) {
        boolean simple = group.protocolType().isEmpty();
        boolean empty = group.phase() == GroupPhase.EMPTY;
        if (!simple && !empty && group.phase() != GroupPhase.STABLE) {
            return List.of();
        }
        return new ArrayList<>(group.offsets().tombstones(group.groupId(), (topic, commit) -> {
            if (!simple && !empty) {
                // a live group keeps what it reads
                if (!ClassicGroup.CONSUMER_TYPE.equals(group.protocolType()) || group.subscribes(topic)) {
                    return false;
                }
            }
            if (commit.expireTimestampMs() >= 0) {
                return nowMs >= commit.expireTimestampMs();
            }
            long since = !simple && empty && group.stateTimestampMs() >= 0
                    ? Math.max(group.stateTimestampMs(), commit.commitTimestampMs())
                    : commit.commitTimestampMs();
            return nowMs - since >= limits.offsetsRetentionMs();
        }));
    }
}
