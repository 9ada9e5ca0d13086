package io.kagami.broker.core.group;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupRequestData.JoinGroupRequestProtocol;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestTopics;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponsePartitions;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;

/** Does for a shard what its host does, with a log in memory and a clock that the test moves. */
final class ShardDriver {
    static final GroupLimits LIMITS =
            new GroupLimits(6_000, 1_800_000, 3_000, 300_000, 5, 1_000, 4_000, 8, 4096, 7L * 24 * 3_600_000);

    /** One event of the shard. */
    interface Event {
        Outcome apply(GroupShard shard, long token, long nowMs);
    }

    final GroupLimits limits;
    final List<byte[][]> log = new ArrayList<>();
    final Set<Long> open = new HashSet<>();
    final Map<Long, Object> replies = new HashMap<>();
    GroupShard shard;
    long nowMs = 1_000_000;
    Errors refuseAppends = Errors.NONE;
    private long lastToken;
    private int lastSuffix;

    ShardDriver() {
        this(LIMITS);
    }

    ShardDriver(GroupLimits limits) {
        this.limits = limits;
        restart();
    }

    /** As after a crash: the log is all there is. Open requests die with the connections. */
    void restart() {
        open.clear();
        shard = replayed();
        shard.onLoaded(nowMs);
    }

    GroupShard replayed() {
        GroupShard fresh = new GroupShard(limits);
        for (byte[][] row : log) {
            GroupRecords.decode(ByteBuffer.wrap(row[0]), row[1] == null ? null : ByteBuffer.wrap(row[1]))
                    .ifPresent(fresh::replay);
        }
        return fresh;
    }

    long send(Event event) {
        long token = ++lastToken;
        open.add(token);
        carryOut(event.apply(shard, token, nowMs));
        runDueTimers();
        return token;
    }

    /** Sends and expects the answer at once. */
    <T> T ask(Class<T> type, Event event) {
        return answer(type, send(event));
    }

    <T> T answer(Class<T> type, long token) {
        assertThat(replies).as("answer to %d", token).containsKey(token);
        return type.cast(replies.get(token));
    }

    void carryOut(Outcome outcome) {
        Outcome result = outcome;
        if (!outcome.records().isEmpty()) {
            if (refuseAppends == Errors.NONE) {
                outcome.records().forEach(r -> log.add(new byte[][] {GroupRecords.key(r), GroupRecords.value(r)}));
                outcome.records().forEach(shard::replay);
            } else {
                result = shard.onRefused(outcome, refuseAppends, nowMs);
                assertThat(result.records()).isEmpty();
            }
        }
        for (Outcome.Reply reply : result.replies()) {
            assertThat(open.remove(reply.token()))
                    .as("token %d answered once, now with %s", reply.token(), reply.body())
                    .isTrue();
            replies.put(reply.token(), reply.body());
        }
    }

    /** Moves the clock, running each timer at its time. */
    void advance(long ms) {
        long end = nowMs + ms;
        while (shard.nextTimerMs().isPresent() && shard.nextTimerMs().getAsLong() <= end) {
            nowMs = Math.max(nowMs, shard.nextTimerMs().getAsLong());
            carryOut(shard.onTimer(nowMs));
        }
        nowMs = end;
    }

    /** Moves the clock until the members have joined. */
    void untilJoined(String groupId) {
        for (int i = 0; i < 400 && phase(groupId) != GroupPhase.COMPLETING_REBALANCE; i++) {
            advance(500);
        }
        assertThat(phase(groupId)).isEqualTo(GroupPhase.COMPLETING_REBALANCE);
    }

    private void runDueTimers() {
        advance(0);
    }

    GroupPhase phase(String groupId) {
        ClassicGroup group = shard.group(groupId);
        return group == null ? null : group.phase();
    }

    static JoinGroupRequestData join(String groupId, String memberId, String... protocols) {
        JoinGroupRequestData request = new JoinGroupRequestData()
                .setGroupId(groupId)
                .setMemberId(memberId)
                .setProtocolType("consumer")
                .setSessionTimeoutMs(10_000)
                .setRebalanceTimeoutMs(60_000);
        for (String protocol : protocols.length == 0 ? new String[] {"range"} : protocols) {
            request.protocols()
                    .add(new JoinGroupRequestProtocol().setName(protocol).setMetadata(new byte[] {1, 2, 3}));
        }
        return request;
    }

    long sendJoin(JoinGroupRequestData request, int version) {
        String suffix = "uuid" + ++lastSuffix;
        return send((s, token, now) ->
                s.onJoin(token, new GroupShard.Join(request, (short) version, "client", "/127.0.0.1", suffix), now));
    }

    JoinGroupResponseData askJoin(JoinGroupRequestData request, int version) {
        return answer(JoinGroupResponseData.class, sendJoin(request, version));
    }

    /** An id, as a client with JoinGroup v4 and later gets it. */
    String newId(String groupId) {
        JoinGroupResponseData reply = askJoin(join(groupId, ""), 9);
        assertThat(Errors.forCode(reply.errorCode())).isEqualTo(Errors.MEMBER_ID_REQUIRED);
        return reply.memberId();
    }

    SyncGroupResponseData askSync(String groupId, String memberId, int generation, String... assignTo) {
        return answer(SyncGroupResponseData.class, sendSync(groupId, memberId, generation, assignTo));
    }

    long sendSync(String groupId, String memberId, int generation, String... assignTo) {
        SyncGroupRequestData request = new SyncGroupRequestData()
                .setGroupId(groupId)
                .setMemberId(memberId)
                .setGenerationId(generation)
                .setProtocolType("consumer")
                .setProtocolName("range");
        for (String member : assignTo) {
            request.assignments()
                    .add(new SyncGroupRequestAssignment().setMemberId(member).setAssignment(assignment(member)));
        }
        return send((s, token, now) -> s.onSync(token, request, now));
    }

    static byte[] assignment(String member) {
        return ("for " + member).getBytes(java.nio.charset.StandardCharsets.UTF_8);
    }

    Errors heartbeat(String groupId, String memberId, int generation) {
        return Errors.forCode(ask(
                        HeartbeatResponseData.class,
                        (s, token, now) -> s.onHeartbeat(
                                token,
                                new HeartbeatRequestData()
                                        .setGroupId(groupId)
                                        .setMemberId(memberId)
                                        .setGenerationId(generation),
                                now))
                .errorCode());
    }

    LeaveGroupResponseData leave(String groupId, String memberId, String instanceId) {
        return ask(
                LeaveGroupResponseData.class,
                (s, token, now) -> s.onLeave(
                        token,
                        groupId,
                        List.of(new MemberIdentity().setMemberId(memberId).setGroupInstanceId(instanceId)),
                        now));
    }

    static OffsetCommitRequestData commit(String groupId, String memberId, int generation, long offset) {
        OffsetCommitRequestPartition partition = new OffsetCommitRequestPartition()
                .setPartitionIndex(0)
                .setCommittedOffset(offset)
                .setCommittedLeaderEpoch(7)
                .setCommittedMetadata("m");
        return new OffsetCommitRequestData()
                .setGroupId(groupId)
                .setMemberId(memberId)
                .setGenerationIdOrMemberEpoch(generation)
                .setTopics(new ArrayList<>(List.of(new OffsetCommitRequestTopic()
                        .setName("t")
                        .setPartitions(new ArrayList<>(List.of(partition))))));
    }

    Errors askCommit(OffsetCommitRequestData request, int version) {
        OffsetCommitResponseData reply = ask(
                OffsetCommitResponseData.class, (s, token, now) -> s.onCommit(token, request, (short) version, now));
        return Errors.forCode(reply.topics().get(0).partitions().get(0).errorCode());
    }

    OffsetFetchResponsePartitions committed(String groupId) {
        OffsetFetchRequestGroup request = new OffsetFetchRequestGroup()
                .setGroupId(groupId)
                .setTopics(List.of(new OffsetFetchRequestTopics().setName("t").setPartitionIndexes(List.of(0))));
        return shard.fetchOffsets(request).topics().get(0).partitions().get(0);
    }

    /** A group of members with these ids in order, STABLE; the first is the leader. */
    List<String> stable(String groupId, int members) {
        List<Long> joins = new ArrayList<>();
        List<String> ids = new ArrayList<>();
        for (int i = 0; i < members; i++) {
            ids.add(newId(groupId));
            joins.add(sendJoin(join(groupId, ids.get(i)), 9));
        }
        untilJoined(groupId);
        int generation = answer(JoinGroupResponseData.class, joins.get(0)).generationId();
        for (int i = members - 1; i > 0; i--) {
            sendSync(groupId, ids.get(i), generation);
        }
        sendSync(groupId, ids.get(0), generation, ids.toArray(String[]::new));
        assertThat(phase(groupId)).isEqualTo(GroupPhase.STABLE);
        return ids;
    }

    int generation(String groupId) {
        return shard.group(groupId).generation();
    }

    /** What the log must say of a shard, as text: offsets, and groups that rest. */
    static Map<String, String> durable(GroupShard shard) {
        Map<String, String> map = new TreeMap<>();
        for (String groupId : shard.groupIds()) {
            ClassicGroup group = shard.group(groupId);
            group.offsets()
                    .all()
                    .forEach((topic, partitions) -> partitions.forEach((partition, commit) ->
                            map.put(groupId + " " + topic + "-" + partition, commit.toString())));
        }
        return map;
    }

    /** Generation, leader, members and assignments of a group that rests; empty while it moves or was never stored. */
    static String resting(ClassicGroup group) {
        if (group == null || !group.isStored()) {
            return "";
        }
        StringBuilder text = new StringBuilder();
        text.append(group.phase())
                .append(' ')
                .append(group.generation())
                .append(' ')
                .append(group.protocolType());
        text.append(' ').append(group.protocol()).append(' ').append(group.leader());
        group.members().forEach(m -> text.append("; ")
                .append(m.id())
                .append(' ')
                .append(m.instanceId())
                .append(' ')
                .append(m.sessionTimeoutMs)
                .append(' ')
                .append(m.rebalanceTimeoutMs)
                .append(' ')
                .append(java.util.Arrays.toString(m.metadata(group.protocol())))
                .append(java.util.Arrays.toString(m.assignment)));
        return text.toString();
    }
}
