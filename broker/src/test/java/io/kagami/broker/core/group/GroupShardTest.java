package io.kagami.broker.core.group;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.apache.kafka.common.message.DescribeGroupsResponseData.DescribedGroup;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class GroupShardTest {
    private final ShardDriver group = new ShardDriver();

    private static Errors error(JoinGroupResponseData reply) {
        return Errors.forCode(reply.errorCode());
    }

    private static Errors error(SyncGroupResponseData reply) {
        return Errors.forCode(reply.errorCode());
    }

    // ---- joining

    @ParameterizedTest
    @CsvSource({"3,NONE", "4,MEMBER_ID_REQUIRED", "9,MEMBER_ID_REQUIRED"})
    void anIdIsHandedOutFirstFromVersion4On(int version, Errors expected) {
        long token = group.sendJoin(ShardDriver.join("g", ""), version);
        group.advance(60_000);
        JoinGroupResponseData reply = group.answer(JoinGroupResponseData.class, token);
        assertThat(error(reply)).isEqualTo(expected);
        assertThat(reply.memberId()).startsWith("client-uuid");
    }

    @Test
    void joinsThatCannotBeAreRefused() {
        JoinGroupRequestData noGroup = ShardDriver.join("", "");
        JoinGroupRequestData shortSession = ShardDriver.join("g", "").setSessionTimeoutMs(5_999);
        JoinGroupRequestData longSession = ShardDriver.join("g", "").setSessionTimeoutMs(1_800_001);
        JoinGroupRequestData noType = ShardDriver.join("g", "").setProtocolType("");
        JoinGroupRequestData noProtocols = ShardDriver.join("g", "");
        noProtocols.protocols().clear();
        assertThat(error(group.askJoin(noGroup, 9))).isEqualTo(Errors.INVALID_GROUP_ID);
        assertThat(error(group.askJoin(shortSession, 9))).isEqualTo(Errors.INVALID_SESSION_TIMEOUT);
        assertThat(error(group.askJoin(longSession, 9))).isEqualTo(Errors.INVALID_SESSION_TIMEOUT);
        assertThat(error(group.askJoin(noType, 9))).isEqualTo(Errors.INCONSISTENT_GROUP_PROTOCOL);
        assertThat(error(group.askJoin(noProtocols, 9))).isEqualTo(Errors.INCONSISTENT_GROUP_PROTOCOL);
        assertThat(error(group.askJoin(ShardDriver.join("g", "ghost"), 9))).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(group.shard.groupIds()).as("nothing is kept of them").isEmpty();
    }

    @Test
    void aMemberWithoutACommonProtocolIsRefused() {
        group.stable("g", 2);
        assertThat(error(group.askJoin(ShardDriver.join("g", "", "sticky"), 9)))
                .isEqualTo(Errors.INCONSISTENT_GROUP_PROTOCOL);
        assertThat(error(group.askJoin(ShardDriver.join("g", "").setProtocolType("connect"), 9)))
                .isEqualTo(Errors.INCONSISTENT_GROUP_PROTOCOL);
    }

    @Test
    void anUnknownMemberOfAKnownGroupIsUnknown() {
        group.stable("g", 1);
        assertThat(error(group.askJoin(ShardDriver.join("g", "ghost"), 9))).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
    }

    @Test
    void aFullGroupTakesNobodyElse() {
        List<String> ids = group.stable("g", 5);
        JoinGroupResponseData reply = group.askJoin(ShardDriver.join("g", ""), 9);
        assertThat(error(reply)).isEqualTo(Errors.GROUP_MAX_SIZE_REACHED);
        assertThat(reply.memberId()).isEmpty();
        assertThat(group.heartbeat("g", ids.get(4), group.generation("g"))).isEqualTo(Errors.NONE);
    }

    @Test
    void oversizedMetadataIsRefused() {
        JoinGroupRequestData large = ShardDriver.join("g", "");
        large.protocols().find("range").setMetadata(new byte[1_001]);
        assertThat(error(group.askJoin(large, 9))).isEqualTo(Errors.INVALID_REQUEST);
        String[] many =
                java.util.stream.IntStream.range(0, 101).mapToObj(i -> "p" + i).toArray(String[]::new);
        assertThat(error(group.askJoin(ShardDriver.join("g", "", many), 9))).isEqualTo(Errors.INVALID_REQUEST);
    }

    @Test
    void theInitialDelayWaitsForMoreMembersAndIsExtendedByThem() {
        String a = group.newId("g");
        long first = group.sendJoin(ShardDriver.join("g", a), 9);
        group.advance(2_999);
        long second = group.sendJoin(ShardDriver.join("g", group.newId("g")), 9);
        group.advance(3_000);
        assertThat(group.open).contains(first, second);
        group.advance(1);
        JoinGroupResponseData leader = group.answer(JoinGroupResponseData.class, first);
        JoinGroupResponseData follower = group.answer(JoinGroupResponseData.class, second);
        assertThat(leader.leader()).isEqualTo(a);
        assertThat(leader.members()).hasSize(2);
        assertThat(leader.generationId()).isEqualTo(1);
        assertThat(leader.protocolType()).isEqualTo("consumer");
        assertThat(leader.skipAssignment()).isFalse();
        assertThat(follower.members()).isEmpty();
        assertThat(follower.leader()).isEqualTo(a);
    }

    @Test
    void aStreamOfNewMembersCannotDelayTheFirstRebalanceForEver() {
        long first = group.sendJoin(ShardDriver.join("g", "").setRebalanceTimeoutMs(10_000), 0);
        for (int i = 0; i < 4; i++) {
            group.advance(2_900);
            group.sendJoin(ShardDriver.join("g", "").setRebalanceTimeoutMs(10_000), 0);
        }
        group.advance(2_900);
        assertThat(group.open).doesNotContain(first);
    }

    @Test
    void aProtocolThatAllKnowIsVotedFor() {
        long a = group.sendJoin(ShardDriver.join("g", "", "range", "roundrobin", "sticky"), 0);
        long b = group.sendJoin(ShardDriver.join("g", "", "sticky", "roundrobin"), 0);
        long c = group.sendJoin(ShardDriver.join("g", "", "sticky", "roundrobin", "range"), 0);
        group.advance(60_000);
        for (long token : List.of(a, b, c)) {
            assertThat(group.answer(JoinGroupResponseData.class, token).protocolName())
                    .isEqualTo("sticky");
        }
    }

    @Test
    void aNewMemberCausesARebalanceThatTheOthersHearOf() {
        List<String> ids = group.stable("g", 2);
        int generation = group.generation("g");
        long joined = group.sendJoin(ShardDriver.join("g", group.newId("g")), 9);
        assertThat(group.heartbeat("g", ids.get(0), generation)).isEqualTo(Errors.REBALANCE_IN_PROGRESS);
        group.sendJoin(ShardDriver.join("g", ids.get(1)), 9);
        assertThat(group.open).contains(joined);
        long leader = group.sendJoin(ShardDriver.join("g", ids.get(0)), 9);
        assertThat(group.answer(JoinGroupResponseData.class, joined).generationId())
                .isEqualTo(generation + 1);
        assertThat(group.answer(JoinGroupResponseData.class, leader).members()).hasSize(3);
    }

    @Test
    void whoDoesNotJoinInTimeIsOut() {
        List<String> ids = group.stable("g", 2);
        long joined = group.sendJoin(ShardDriver.join("g", ids.get(0)), 9);
        for (int i = 0; i < 12; i++) {
            assertThat(group.open).contains(joined);
            group.heartbeat("g", ids.get(1), group.generation("g"));
            group.advance(5_000);
        }
        assertThat(group.answer(JoinGroupResponseData.class, joined).members())
                .extracting(JoinGroupResponseMember::memberId)
                .containsExactly(ids.get(0));
        assertThat(group.heartbeat("g", ids.get(1), group.generation("g"))).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
    }

    @Test
    void aFollowerThatJoinsAgainUnchangedDisturbsNobody() {
        List<String> ids = group.stable("g", 2);
        JoinGroupResponseData reply = group.askJoin(ShardDriver.join("g", ids.get(1)), 9);
        assertThat(reply.generationId()).isEqualTo(group.generation("g"));
        assertThat(reply.leader()).isEqualTo(ids.get(0));
        assertThat(group.phase("g")).isEqualTo(GroupPhase.STABLE);
        group.sendJoin(ShardDriver.join("g", ids.get(1), "range", "sticky"), 9);
        assertThat(group.phase("g")).isEqualTo(GroupPhase.PREPARING_REBALANCE);
    }

    @Test
    void aSecondJoinOfTheSameMemberAnswersTheFirst() {
        List<String> ids = group.stable("g", 2);
        long first = group.sendJoin(ShardDriver.join("g", ids.get(0)), 9);
        long second = group.sendJoin(ShardDriver.join("g", ids.get(0)), 9);
        assertThat(error(group.answer(JoinGroupResponseData.class, first))).isEqualTo(Errors.REBALANCE_IN_PROGRESS);
        assertThat(group.open).contains(second);
    }

    @Test
    void anIdThatNobodyJoinsWithIsForgotten() {
        String id = group.newId("g");
        group.advance(10_000);
        assertThat(error(group.askJoin(ShardDriver.join("g", id), 9))).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(group.shard.groupIds()).isEmpty();
        assertThat(group.shard.timers()).isZero();
    }

    @Test
    void theNumberOfGroupsHasABound() {
        for (int i = 0; i < 8; i++) {
            group.newId("g" + i);
        }
        assertThat(error(group.askJoin(ShardDriver.join("one more", ""), 9)))
                .isEqualTo(Errors.COORDINATOR_NOT_AVAILABLE);
        assertThat(group.askCommit(ShardDriver.commit("one more", "", -1, 5), 9))
                .isEqualTo(Errors.COORDINATOR_NOT_AVAILABLE);
    }

    // ---- sync and heartbeat

    @Test
    void everyMemberGetsItsOwnAssignment() {
        List<String> ids = group.stable("g", 3);
        for (String id : ids) {
            SyncGroupResponseData reply = group.askSync("g", id, 1);
            assertThat(error(reply)).isEqualTo(Errors.NONE);
            assertThat(reply.assignment()).isEqualTo(ShardDriver.assignment(id));
            assertThat(reply.protocolName()).isEqualTo("range");
        }
    }

    @Test
    void syncsThatCannotBeAreRefused() {
        List<String> ids = group.stable("g", 2);
        String id = ids.get(1);
        assertThat(error(group.askSync("", id, 1))).isEqualTo(Errors.INVALID_GROUP_ID);
        assertThat(error(group.askSync("other", id, 1))).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(error(group.askSync("g", "ghost", 1))).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(error(group.askSync("g", id, 2))).isEqualTo(Errors.ILLEGAL_GENERATION);
        for (SyncGroupRequestData wrong : List.of(
                new SyncGroupRequestData().setProtocolName("sticky").setProtocolType("consumer"),
                new SyncGroupRequestData().setProtocolName("range").setProtocolType("connect"))) {
            wrong.setGroupId("g").setMemberId(id).setGenerationId(1);
            assertThat(error(group.ask(SyncGroupResponseData.class, (s, t, now) -> s.onSync(t, wrong, now))))
                    .isEqualTo(Errors.INCONSISTENT_GROUP_PROTOCOL);
        }
        group.sendJoin(ShardDriver.join("g", ids.get(0)), 9);
        assertThat(error(group.askSync("g", id, 1))).isEqualTo(Errors.REBALANCE_IN_PROGRESS);
    }

    @Test
    void heartbeatsThatCannotBeAreRefused() {
        String id = group.stable("g", 1).get(0);
        assertThat(group.heartbeat("", id, 1)).isEqualTo(Errors.INVALID_GROUP_ID);
        assertThat(group.heartbeat("other", id, 1)).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(group.heartbeat("g", "ghost", 1)).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(group.heartbeat("g", id, 0)).isEqualTo(Errors.ILLEGAL_GENERATION);
        assertThat(group.heartbeat("g", id, 1)).isEqualTo(Errors.NONE);
    }

    @Test
    void aGroupWhoseMembersNeverSyncDoesNotHang() {
        String a = group.newId("g");
        group.sendJoin(ShardDriver.join("g", a), 9);
        String b = group.newId("g");
        group.sendJoin(ShardDriver.join("g", b), 9);
        group.advance(6_000);
        long follower = group.sendSync("g", b, 1);
        for (int i = 0; i < 7; i++) {
            group.heartbeat("g", a, 1);
            group.advance(9_000);
        }
        assertThat(error(group.answer(SyncGroupResponseData.class, follower))).isEqualTo(Errors.REBALANCE_IN_PROGRESS);
        assertThat(group.heartbeat("g", a, 1)).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
    }

    @Test
    void aSilentMemberIsDroppedAndTheOthersRebalance() {
        List<String> ids = group.stable("g", 2);
        group.advance(9_000);
        assertThat(group.heartbeat("g", ids.get(0), 1)).isEqualTo(Errors.NONE);
        group.advance(1_000);
        assertThat(group.heartbeat("g", ids.get(0), 1)).isEqualTo(Errors.REBALANCE_IN_PROGRESS);
        assertThat(group.heartbeat("g", ids.get(1), 1)).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
    }

    @Test
    void membersThatWaitForAnAnswerAreNotTimedOut() {
        List<String> ids = group.stable("g", 2);
        long waiting = group.sendJoin(ShardDriver.join("g", ids.get(0)).setRebalanceTimeoutMs(300_000), 9);
        for (int i = 0; i < 10; i++) {
            group.advance(9_000);
            assertThat(group.heartbeat("g", ids.get(1), 1)).isEqualTo(Errors.REBALANCE_IN_PROGRESS);
        }
        assertThat(group.open).contains(waiting);
    }

    // ---- leaving

    @Test
    void theLastOneOutLeavesAnEmptyGroup() {
        String id = group.stable("g", 1).get(0);
        LeaveGroupResponseData reply = group.leave("g", id, null);
        assertThat(reply.errorCode()).isZero();
        assertThat(reply.members().get(0).errorCode()).isZero();
        assertThat(group.phase("g")).isEqualTo(GroupPhase.EMPTY);
        assertThat(group.generation("g")).isEqualTo(2);
        assertThat(group.shard.timers()).isZero();
    }

    @Test
    void leavesOfTheUnknownAreRefusedPerMember() {
        group.stable("g", 1);
        assertThat(group.leave("", "x", null).errorCode()).isEqualTo(Errors.INVALID_GROUP_ID.code());
        for (LeaveGroupResponseData reply :
                List.of(group.leave("other", "x", null), group.leave("g", "x", null), group.leave("g", "", "i"))) {
            assertThat(reply.errorCode()).isZero();
            assertThat(reply.members().get(0).errorCode()).isEqualTo(Errors.UNKNOWN_MEMBER_ID.code());
        }
        assertThat(group.phase("g")).isEqualTo(GroupPhase.STABLE);
    }

    @Test
    void aPendingIdCanLeave() {
        String id = group.newId("g");
        assertThat(group.leave("g", id, null).members().get(0).errorCode()).isZero();
        assertThat(group.shard.groupIds()).isEmpty();
    }

    // ---- static members

    private String staticStable(String instance) {
        long token = group.sendJoin(ShardDriver.join("s", "").setGroupInstanceId(instance), 9);
        group.untilJoined("s");
        JoinGroupResponseData reply = group.answer(JoinGroupResponseData.class, token);
        group.askSync("s", reply.memberId(), reply.generationId(), reply.memberId());
        return reply.memberId();
    }

    @ParameterizedTest
    @CsvSource({"9,true", "8,false"})
    void aStaticLeaderThatRestartsIsTakenBackWithoutARebalance(int version, boolean skips) {
        String old = staticStable("i");
        JoinGroupRequestData again = ShardDriver.join("s", "")
                .setGroupInstanceId("i")
                .setSessionTimeoutMs(20_000)
                .setRebalanceTimeoutMs(70_000);
        JoinGroupResponseData reply = group.askJoin(again, version);
        assertThat(error(reply)).isEqualTo(Errors.NONE);
        assertThat(reply.memberId()).isNotEqualTo(old).startsWith("i-");
        assertThat(reply.generationId()).isEqualTo(1);
        assertThat(reply.skipAssignment()).isEqualTo(skips);
        assertThat(reply.leader()).isEqualTo(skips ? reply.memberId() : old);
        assertThat(reply.members()).hasSize(skips ? 1 : 0);
        assertThat(group.phase("s")).isEqualTo(GroupPhase.STABLE);
        assertThat(group.askSync("s", reply.memberId(), 1).assignment()).isEqualTo(ShardDriver.assignment(old));
        Member member = group.shard.group("s").member(reply.memberId());
        assertThat(member.sessionTimeoutMs).isEqualTo(20_000);
        assertThat(member.rebalanceTimeoutMs).isEqualTo(70_000);
        assertThat(group.shard.group("s").leader()).isEqualTo(reply.memberId());
    }

    @Test
    void theOldIdOfAStaticMemberIsFenced() {
        String old = staticStable("i");
        group.askJoin(ShardDriver.join("s", "").setGroupInstanceId("i"), 9);
        assertThat(error(group.askJoin(ShardDriver.join("s", old).setGroupInstanceId("i"), 9)))
                .isEqualTo(Errors.FENCED_INSTANCE_ID);
        SyncGroupRequestData sync = new SyncGroupRequestData()
                .setGroupId("s")
                .setMemberId(old)
                .setGenerationId(1)
                .setGroupInstanceId("i");
        assertThat(error(group.ask(SyncGroupResponseData.class, (s, t, now) -> s.onSync(t, sync, now))))
                .isEqualTo(Errors.FENCED_INSTANCE_ID);
        assertThat(group.askCommit(ShardDriver.commit("s", old, 1, 3).setGroupInstanceId("i"), 9))
                .isEqualTo(Errors.FENCED_INSTANCE_ID);
        assertThat(group.leave("s", old, "i").members().get(0).errorCode()).isEqualTo(Errors.FENCED_INSTANCE_ID.code());
    }

    @Test
    void aStaticMemberThatReturnsBeforeTheAssignmentCausesARebalance() {
        long token = group.sendJoin(ShardDriver.join("s", "").setGroupInstanceId("i"), 9);
        group.untilJoined("s");
        String old = group.answer(JoinGroupResponseData.class, token).memberId();
        assertThat(group.phase("s")).isEqualTo(GroupPhase.COMPLETING_REBALANCE);
        JoinGroupResponseData reply = group.askJoin(ShardDriver.join("s", "").setGroupInstanceId("i"), 9);
        assertThat(reply.generationId()).isEqualTo(2);
        assertThat(reply.memberId()).isNotEqualTo(old);
    }

    @Test
    void aWaitingStaticMemberThatIsReplacedIsToldSo() {
        long first = group.sendJoin(ShardDriver.join("s", "").setGroupInstanceId("i"), 9);
        long second = group.sendJoin(ShardDriver.join("s", "").setGroupInstanceId("i"), 9);
        assertThat(error(group.answer(JoinGroupResponseData.class, first))).isEqualTo(Errors.FENCED_INSTANCE_ID);
        group.advance(60_000);
        assertThat(error(group.answer(JoinGroupResponseData.class, second))).isEqualTo(Errors.NONE);
    }

    @Test
    void aStaticMemberIsRemovedByItsInstanceIdAlone() {
        staticStable("i");
        assertThat(group.leave("s", "", "i").members().get(0).errorCode()).isZero();
        assertThat(group.phase("s")).isEqualTo(GroupPhase.EMPTY);
    }

    @Test
    void aRebalanceWaitsForAnAbsentStaticMemberUntilItsSessionEnds() {
        staticStable("i");
        long other = group.sendJoin(ShardDriver.join("s", group.newId("s")), 9);
        group.advance(9_000);
        assertThat(group.open).contains(other);
        group.advance(1_000);
        assertThat(group.answer(JoinGroupResponseData.class, other).members()).hasSize(1);
    }

    // ---- looking at groups

    @Test
    void aGroupIsDescribedWithItsMembersWhenStable() {
        String id = group.stable("g", 1).get(0);
        DescribedGroup stable = group.shard.describe("g");
        assertThat(stable.groupState()).isEqualTo("Stable");
        assertThat(stable.protocolData()).isEqualTo("range");
        assertThat(stable.members().get(0).memberAssignment()).isEqualTo(ShardDriver.assignment(id));
        assertThat(stable.members().get(0).clientHost()).isEqualTo("/127.0.0.1");
        group.sendJoin(ShardDriver.join("g", group.newId("g")), 9);
        DescribedGroup moving = group.shard.describe("g");
        assertThat(moving.groupState()).isEqualTo("PreparingRebalance");
        assertThat(moving.protocolData()).isEmpty();
        assertThat(moving.members().get(0).memberMetadata()).isEmpty();
        assertThat(group.shard.describe("nobody")).isNull();
    }

    @Test
    void groupsAreListed() {
        group.stable("b", 1);
        group.askCommit(ShardDriver.commit("a", "", -1, 1), 9);
        assertThat(group.shard.list())
                .extracting(g -> g.groupId() + " " + g.groupState() + " " + g.protocolType() + " " + g.groupType())
                .containsExactly("a Empty  classic", "b Stable consumer classic");
    }

    // ---- restarts and refused appends

    @Test
    void aStableGroupGoesOnAfterARestart() {
        List<String> ids = group.stable("g", 2);
        group.restart();
        assertThat(group.heartbeat("g", ids.get(0), 1)).isEqualTo(Errors.NONE);
        assertThat(group.askSync("g", ids.get(1), 1).assignment()).isEqualTo(ShardDriver.assignment(ids.get(1)));
        group.advance(10_000);
        assertThat(group.heartbeat("g", ids.get(0), 1)).isEqualTo(Errors.UNKNOWN_MEMBER_ID);
        assertThat(group.phase("g")).isEqualTo(GroupPhase.EMPTY);
    }

    @Test
    void aCommitThatIsNotWrittenIsNotAnswered() {
        group.refuseAppends = Errors.KAFKA_STORAGE_ERROR;
        assertThat(group.askCommit(ShardDriver.commit("g", "", -1, 1), 9)).isEqualTo(Errors.NOT_COORDINATOR);
        group.refuseAppends = Errors.MESSAGE_TOO_LARGE;
        assertThat(group.askCommit(ShardDriver.commit("g", "", -1, 1), 9)).isEqualTo(Errors.INVALID_COMMIT_OFFSET_SIZE);
        assertThat(group.committed("g").committedOffset()).isEqualTo(-1);
    }

    @Test
    void assignmentsThatAreNotWrittenAreTriedAgain() {
        String a = group.newId("g");
        group.sendJoin(ShardDriver.join("g", a), 9);
        group.advance(3_000);
        group.refuseAppends = Errors.KAFKA_STORAGE_ERROR;
        assertThat(error(group.askSync("g", a, 1, a))).isEqualTo(Errors.NOT_COORDINATOR);
        group.refuseAppends = Errors.NONE;
        JoinGroupResponseData again = group.askJoin(ShardDriver.join("g", a), 9);
        assertThat(again.generationId()).isEqualTo(2);
        assertThat(error(group.askSync("g", a, 2, a))).isEqualTo(Errors.NONE);
    }

    @Test
    void aStaticMemberWhoseReturnIsNotWrittenKeepsItsOldId() {
        String old = staticStable("i");
        group.refuseAppends = Errors.KAFKA_STORAGE_ERROR;
        assertThat(error(group.askJoin(ShardDriver.join("s", "").setGroupInstanceId("i"), 9)))
                .isEqualTo(Errors.NOT_COORDINATOR);
        assertThat(group.heartbeat("s", old, 1)).isEqualTo(Errors.NONE);
        assertThat(group.shard.timers()).isEqualTo(1);
    }
}
