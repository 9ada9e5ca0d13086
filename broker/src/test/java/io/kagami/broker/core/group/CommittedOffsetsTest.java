package io.kagami.broker.core.group;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.kafka.common.message.DeleteGroupsResponseData.DeletableGroupResult;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestPartition;
import org.apache.kafka.common.message.OffsetDeleteRequestData.OffsetDeleteRequestTopic;
import org.apache.kafka.common.message.OffsetDeleteResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CommittedOffsetsTest {
    private final ShardDriver group = new ShardDriver();

    @Test
    void aCommitIsReadBackWithEpochAndMetadataAlsoAfterARestart() {
        assertThat(group.askCommit(ShardDriver.commit("g", "", -1, 42), 9)).isEqualTo(Errors.NONE);
        group.restart();
        assertThat(group.committed("g").committedOffset()).isEqualTo(42);
        assertThat(group.committed("g").committedLeaderEpoch()).isEqualTo(7);
        assertThat(group.committed("g").metadata()).isEqualTo("m");
    }

    @Test
    void whatWasNeverCommittedIsMinusOne() {
        assertThat(group.committed("nobody").committedOffset()).isEqualTo(-1);
        assertThat(group.committed("nobody").committedLeaderEpoch()).isEqualTo(-1);
        assertThat(group.committed("nobody").metadata()).isEmpty();
        assertThat(group.committed("nobody").errorCode()).isZero();
    }

    @ParameterizedTest
    @CsvSource({"2,ILLEGAL_GENERATION", "8,ILLEGAL_GENERATION", "9,GROUP_ID_NOT_FOUND", "10,GROUP_ID_NOT_FOUND"})
    void aGenerationOfAnUnknownGroupIsRefusedByVersion(int version, Errors expected) {
        assertThat(group.askCommit(ShardDriver.commit("nobody", "m", 1, 42), version))
                .isEqualTo(expected);
    }

    @Test
    void onlyMembersOfTheGenerationCommitToALiveGroup() {
        String id = group.stable("g", 1).get(0);
        assertThat(group.askCommit(ShardDriver.commit("g", id, 1, 1), 9)).isEqualTo(Errors.NONE);
        assertThat(group.askCommit(ShardDriver.commit("g", "", -1, 2), 9)).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(group.askCommit(ShardDriver.commit("g", "ghost", 1, 2), 9)).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(group.askCommit(ShardDriver.commit("g", id, 2, 2), 9)).isEqualTo(Errors.ILLEGAL_GENERATION);
        assertThat(group.committed("g").committedOffset()).isEqualTo(1);
    }

    @Test
    void aCommitBetweenJoinAndSyncIsPutOff() {
        String id = group.newId("g");
        group.sendJoin(ShardDriver.join("g", id), 9);
        group.advance(3_000);
        assertThat(group.askCommit(ShardDriver.commit("g", id, 1, 1), 9)).isEqualTo(Errors.REBALANCE_IN_PROGRESS);
    }

    @Test
    void aCommitDuringTheJoinPhaseIsTakenAndCountsAsASignOfLife() {
        List<String> ids = group.stable("g", 2);
        group.sendJoin(ShardDriver.join("g", ids.get(0)), 9);
        for (int i = 0; i < 3; i++) {
            group.advance(9_000);
            assertThat(group.askCommit(ShardDriver.commit("g", ids.get(1), 1, i), 9))
                    .isEqualTo(Errors.NONE);
        }
    }

    @Test
    void metadataHasALimit() {
        OffsetCommitRequestData request = ShardDriver.commit("g", "", -1, 1);
        request.topics().get(0).partitions().get(0).setCommittedMetadata("x".repeat(4096));
        assertThat(group.askCommit(request, 9)).isEqualTo(Errors.NONE);
        request.topics().get(0).partitions().get(0).setCommittedMetadata("x".repeat(4097));
        assertThat(group.askCommit(request, 9)).isEqualTo(Errors.OFFSET_METADATA_TOO_LARGE);
    }

    @Test
    void offsetsOfAnEmptyGroupExpireAndTheGroupWithThem() {
        String id = group.stable("g", 1).get(0);
        group.askCommit(ShardDriver.commit("g", id, 1, 1), 9);
        expireAt(30L * 24 * 3_600_000, id);
        assertThat(group.committed("g").committedOffset())
                .as("never of a live group")
                .isEqualTo(1);
        group.leave("g", id, null);
        expireAt(7L * 24 * 3_600_000 - 1, null);
        assertThat(group.committed("g").committedOffset()).isEqualTo(1);
        group.restart();
        expireAt(1, null);
        assertThat(group.committed("g").committedOffset()).isEqualTo(-1);
        assertThat(group.shard.groupIds()).isEmpty();
        group.restart();
        assertThat(group.shard.groupIds()).isEmpty();
    }

    private void expireAt(long ms, String alive) {
        for (long left = ms; alive != null && left > 0; left -= 3_600_000) {
            group.shard.onHeartbeat(
                    0,
                    new org.apache.kafka.common.message.HeartbeatRequestData()
                            .setGroupId("g")
                            .setMemberId(alive)
                            .setGenerationId(1),
                    group.nowMs + 3_600_000);
            group.advance(3_600_000);
        }
        if (alive == null) {
            group.advance(ms);
        }
        group.carryOut(group.shard.onExpiry("g", group.nowMs));
    }

    @Test
    void anExplicitRetentionOfOldClientsIsKept() {
        group.askCommit(ShardDriver.commit("g", "", -1, 1).setRetentionTimeMs(5_000), 2);
        group.restart();
        expireAt(4_999, null);
        assertThat(group.committed("g").committedOffset()).isEqualTo(1);
        expireAt(1, null);
        assertThat(group.committed("g").committedOffset()).isEqualTo(-1);
    }

    @Test
    void theOffsetsOfADeletedTopicGoWithIt() {
        group.askCommit(ShardDriver.commit("g", "", -1, 1), 9);
        group.carryOut(group.shard.onTopicDeleted("other", group.nowMs));
        assertThat(group.committed("g").committedOffset()).isEqualTo(1);
        group.carryOut(group.shard.onTopicDeleted("t", group.nowMs));
        assertThat(group.committed("g").committedOffset()).isEqualTo(-1);
    }

    private Errors deleteOffsets(String groupId) {
        OffsetDeleteRequestData request = new OffsetDeleteRequestData().setGroupId(groupId);
        OffsetDeleteRequestTopic topic = new OffsetDeleteRequestTopic().setName("t");
        topic.partitions().add(new OffsetDeleteRequestPartition().setPartitionIndex(0));
        request.topics().add(topic);
        OffsetDeleteResponseData reply =
                group.ask(OffsetDeleteResponseData.class, (s, token, now) -> s.onDeleteOffsets(token, request, now));
        return Errors.forCode(
                reply.errorCode() != 0
                        ? reply.errorCode()
                        : reply.topics().find("t").partitions().find(0).errorCode());
    }

    @Test
    void offsetsAreDeletedUnlessSomebodyReadsTheTopic() {
        assertThat(deleteOffsets("")).isEqualTo(Errors.INVALID_GROUP_ID);
        assertThat(deleteOffsets("nobody")).isEqualTo(Errors.GROUP_ID_NOT_FOUND);
        group.askCommit(ShardDriver.commit("g", "", -1, 1), 9);
        assertThat(deleteOffsets("g")).isEqualTo(Errors.NONE);
        assertThat(group.committed("g").committedOffset()).isEqualTo(-1);
        String id = group.stable("live", 1).get(0);
        group.askCommit(ShardDriver.commit("live", id, 1, 1), 9);
        assertThat(deleteOffsets("live")).isEqualTo(Errors.GROUP_SUBSCRIBED_TO_TOPIC);
    }

    private Errors delete(String groupId) {
        return Errors.forCode(
                group.ask(DeletableGroupResult.class, (s, token, now) -> s.onDeleteGroup(token, groupId, now))
                        .errorCode());
    }

    @Test
    void onlyEmptyGroupsAreDeleted() {
        assertThat(delete("nobody")).isEqualTo(Errors.GROUP_ID_NOT_FOUND);
        String id = group.stable("g", 1).get(0);
        group.askCommit(ShardDriver.commit("g", id, 1, 1), 9);
        assertThat(delete("g")).isEqualTo(Errors.NON_EMPTY_GROUP);
        group.leave("g", id, null);
        assertThat(delete("g")).isEqualTo(Errors.NONE);
        assertThat(delete("g")).isEqualTo(Errors.GROUP_ID_NOT_FOUND);
        group.restart();
        assertThat(group.shard.groupIds()).isEmpty();
    }
}
