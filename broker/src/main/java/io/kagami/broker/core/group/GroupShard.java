package io.kagami.broker.core.group;

import io.kagami.broker.core.group.GroupRecord.Metadata;
import io.kagami.broker.core.group.GroupRecord.Offset;
import io.kagami.broker.core.group.Member.Protocol;
import io.kagami.broker.core.group.Outcome.Reply;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.message.DescribeGroupsResponseData.DescribedGroup;
import org.apache.kafka.common.message.HeartbeatRequestData;
import org.apache.kafka.common.message.HeartbeatResponseData;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupRequestData.MemberIdentity;
import org.apache.kafka.common.message.LeaveGroupResponseData;
import org.apache.kafka.common.message.LeaveGroupResponseData.MemberResponse;
import org.apache.kafka.common.message.ListGroupsResponseData.ListedGroup;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetDeleteRequestData;
import org.apache.kafka.common.message.OffsetFetchRequestData.OffsetFetchRequestGroup;
import org.apache.kafka.common.message.OffsetFetchResponseData.OffsetFetchResponseGroup;
import org.apache.kafka.common.message.SyncGroupRequestData;
import org.apache.kafka.common.message.SyncGroupRequestData.SyncGroupRequestAssignment;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;

/**
 * All groups of one partition of {@code __consumer_offsets}. Not thread-safe: one owner, one event at a time, and an event's outcome is
 * done (see {@link Outcome}) before the next one. The {@code on...} methods decide; {@link #replay} alone changes what the log holds,
 * at a load and at run time alike. Every token is answered exactly once. Source: Kafka's classic group protocol with KIP-62, 91, 345,
 * 394, 559, 800 and 814.
 */
public final class GroupShard {
    /** Longest part of a client or instance id that a member id starts with, in characters. */
    private static final int MEMBER_ID_PREFIX_MAX = 255;

    /** Protocols of one member; clients have one to three. They are compared with those of every other member. */
    private static final int PROTOCOLS_MAX = 100;

    /** First JoinGroup version whose clients know MEMBER_ID_REQUIRED. */
    private static final short MEMBER_ID_REQUIRED_FROM = 4;

    /** First JoinGroup version whose clients know that a leader may skip the assignment. */
    private static final short SKIP_ASSIGNMENT_FROM = 9;

    private final GroupLimits limits;
    private final Map<String, ClassicGroup> groups = new HashMap<>();
    private final Deadlines deadlines = new Deadlines();
    private final Rebalance rebalance;
    private final OffsetRules offsets;
    private boolean live;

    public GroupShard(GroupLimits limits) {
        this.limits = limits;
        this.rebalance = new Rebalance(limits, deadlines);
        this.offsets = new OffsetRules(limits, groups, rebalance);
    }

    /**
     * A JoinGroup with what the connection knows.
     *
     * @param clientHost as Kafka shows it, {@code /127.0.0.1}
     * @param uniqueSuffix end of the member id, should one be made
     */
    public record Join(
            JoinGroupRequestData request, short version, String clientId, String clientHost, String uniqueSuffix) {}

    /** The only writer of what the log holds. While loading no timers run. */
    public void replay(GroupRecord record) {
        ClassicGroup group = groups.computeIfAbsent(record.groupId(), ClassicGroup::new);
        if (record instanceof Offset offset) {
            group.offsets().put(offset.topic(), offset.partition(), offset.value());
        } else if (record instanceof Metadata metadata) {
            Set<String> gone = group.adopt(metadata.value(), live);
            gone.forEach(memberId -> deadlines.cancel(Rebalance.session(group, memberId)));
        } else {
            throw new AssertionError(record);
        }
        forgetIfVoid(group);
    }

    /** The log is read: members of the last generation have one session timeout to be heard of. */
    public void onLoaded(long nowMs) {
        live = true;
        for (ClassicGroup group : groups.values()) {
            group.members().forEach(member -> rebalance.heard(group, member, nowMs));
        }
    }

    /** When {@link #onTimer} has something to do. */
    public OptionalLong nextTimerMs() {
        return deadlines.next();
    }

    /** Deals with one due timer; empty outcome when it changes nothing. */
    public Outcome onTimer(long nowMs) {
        Deadlines.Key due = deadlines.takeDue(nowMs);
        Outcome.Builder out = new Outcome.Builder(due == null ? "" : due.groupId(), nowMs);
        ClassicGroup group = due == null ? null : groups.get(due.groupId());
        if (group != null) {
            switch (due.kind()) {
                case JOIN -> rebalance.onJoinTimer(group, out);
                case SYNC -> rebalance.onSyncTimer(group, out);
                case SESSION -> rebalance.onSessionTimer(group, due.memberId(), out);
                case PENDING -> rebalance.onPendingTimer(group, due.memberId(), out);
            }
            forgetIfVoid(group);
        }
        return out.build();
    }

    /** Replies with {@link JoinGroupResponseData}. */
    public Outcome onJoin(long token, Join join, long nowMs) {
        JoinGroupRequestData request = join.request();
        Outcome.Builder out = new Outcome.Builder(request.groupId(), nowMs);
        boolean unknown = request.memberId().isEmpty();
        if (request.groupId().isEmpty()) {
            return refuseJoin(token, request.memberId(), Errors.INVALID_GROUP_ID, out);
        }
        if (request.sessionTimeoutMs() < limits.sessionMinMs() || request.sessionTimeoutMs() > limits.sessionMaxMs()) {
            return refuseJoin(token, request.memberId(), Errors.INVALID_SESSION_TIMEOUT, out);
        }
        ClassicGroup group = groups.get(request.groupId());
        if (group == null) {
            if (!unknown) {
                return refuseJoin(token, request.memberId(), Errors.UNKNOWN_MEMBER_ID, out);
            }
            if (groups.size() >= limits.groupsMax()) {
                return refuseJoin(token, "", Errors.COORDINATOR_NOT_AVAILABLE, out);
            }
            group = new ClassicGroup(request.groupId());
        }
        List<Protocol> protocols = new ArrayList<>();
        request.protocols().forEach(p -> protocols.add(new Protocol(p.name(), p.metadata())));
        int rebalanceMs = request.rebalanceTimeoutMs() < 0 ? request.sessionTimeoutMs() : request.rebalanceTimeoutMs();
        JoinAsk ask = new JoinAsk(token, request.sessionTimeoutMs(), rebalanceMs, protocols);
        Errors bound = withinBounds(group, request.memberId(), protocols);
        if (bound != Errors.NONE) {
            return refuseJoin(token, unknown ? "" : request.memberId(), bound, out);
        }
        if (!group.accepts(request.protocolType(), protocols)) {
            return refuseJoin(token, request.memberId(), Errors.INCONSISTENT_GROUP_PROTOCOL, out);
        }
        if (unknown) {
            joinUnknown(group, join, ask, out);
        } else {
            joinKnown(group, join, ask, out);
        }
        if (!group.isVoid()) {
            groups.put(group.groupId(), group);
        }
        return out.build();
    }

    private Errors withinBounds(ClassicGroup group, String memberId, List<Protocol> protocols) {
        long bytes = Member.bytes(protocols);
        if (bytes > limits.memberBytesMax() || protocols.size() > PROTOCOLS_MAX) {
            return Errors.INVALID_REQUEST;
        }
        if (group.bytesWithout(memberId) + bytes > limits.groupBytesMax()) {
            return Errors.GROUP_MAX_SIZE_REACHED;
        }
        boolean counted = group.member(memberId) != null || group.isPending(memberId);
        int size = group.phase() == GroupPhase.PREPARING_REBALANCE && !group.initialJoin
                ? group.joiningCount() + group.pendingCount()
                : group.members().size() + group.pendingCount();
        return !counted && size >= limits.membersMax() ? Errors.GROUP_MAX_SIZE_REACHED : Errors.NONE;
    }

    private void joinUnknown(ClassicGroup group, Join join, JoinAsk ask, Outcome.Builder out) {
        JoinGroupRequestData request = join.request();
        String instanceId = request.groupInstanceId();
        String prefix = instanceId != null ? instanceId : join.clientId();
        String memberId =
                prefix.substring(0, Math.min(prefix.length(), MEMBER_ID_PREFIX_MAX)) + "-" + join.uniqueSuffix();
        Member old = instanceId == null ? null : group.staticMember(instanceId);
        if (instanceId == null && join.version() >= MEMBER_ID_REQUIRED_FROM) {
            group.addPending(memberId);
            deadlines.set(Rebalance.pending(group, memberId), out.nowMs + ask.sessionTimeoutMs());
            refuseJoin(ask.token(), memberId, Errors.MEMBER_ID_REQUIRED, out);
        } else if (old == null) {
            rebalance.add(group, member(memberId, join, ask), request.protocolType(), ask.token(), out);
        } else {
            joinReturning(group, old, member(memberId, join, ask), join, ask, out);
        }
    }

    /** A static member without its member id: it restarted. In a stable group nobody else needs to notice. */
    private void joinReturning(
            ClassicGroup group, Member old, Member next, Join join, JoinAsk ask, Outcome.Builder out) {
        List<Member> after = new ArrayList<>(group.members());
        after.remove(old);
        after.add(next);
        if (group.phase() != GroupPhase.STABLE
                || !Objects.equals(ClassicGroup.chooseProtocol(after), group.protocol())) {
            rebalance.replace(group, old, next, ask, out);
            return;
        }
        boolean leads = group.isLeader(old);
        Map<String, byte[]> assignments = group.assignments();
        assignments.put(next.id(), old.assignment);
        String leader = leads ? next.id() : group.leader();
        out.append(new Metadata(group.groupId(), group.snapshot(after, leader, assignments, group.stateTimestampMs())));
        Rebalance.answerSync(old, Errors.FENCED_INSTANCE_ID, out);
        group.incoming = next;
        rebalance.heard(group, next, out.nowMs);
        JoinGroupResponseData reply = Rebalance.joined(group, next.id(), List.of());
        if (join.version() >= SKIP_ASSIGNMENT_FROM) {
            reply.setLeader(leader).setSkipAssignment(leads);
            if (leads) {
                reply.setMembers(membersAfter(group, after));
            }
        }
        // Older clients must not take themselves for the leader: they are told the old leader's id (KIP-814).
        out.reply(ask.token(), reply);
    }

    private static List<JoinGroupResponseData.JoinGroupResponseMember> membersAfter(
            ClassicGroup group, List<Member> after) {
        List<JoinGroupResponseData.JoinGroupResponseMember> list = new ArrayList<>();
        for (Member member : after) {
            list.add(new JoinGroupResponseData.JoinGroupResponseMember()
                    .setMemberId(member.id())
                    .setGroupInstanceId(member.instanceId())
                    .setMetadata(member.metadata(group.protocol())));
        }
        return list;
    }

    private void joinKnown(ClassicGroup group, Join join, JoinAsk ask, Outcome.Builder out) {
        JoinGroupRequestData request = join.request();
        String memberId = request.memberId();
        if (group.isPending(memberId)) {
            if (request.groupInstanceId() != null) {
                // the id was given to a dynamic member
                refuseJoin(ask.token(), memberId, Errors.UNKNOWN_MEMBER_ID, out);
            } else {
                rebalance.add(group, member(memberId, join, ask), request.protocolType(), ask.token(), out);
            }
            return;
        }
        Errors error = group.check(memberId, request.groupInstanceId());
        if (error != Errors.NONE) {
            refuseJoin(ask.token(), memberId, error, out);
            return;
        }
        Member member = group.member(memberId);
        boolean same = member.matches(ask.protocols());
        switch (group.phase()) {
            case PREPARING_REBALANCE -> rebalance.rejoin(group, member, ask, "a member joins again", out);
            case COMPLETING_REBALANCE -> {
                if (same) {
                    // its answer got lost: the same again
                    out.reply(
                            ask.token(),
                            Rebalance.joined(
                                    group, memberId, group.isLeader(member) ? Rebalance.membersOf(group) : List.of()));
                } else {
                    rebalance.rejoin(group, member, ask, "a member joins with other protocols", out);
                }
            }
            case STABLE -> {
                if (group.isLeader(member)) {
                    rebalance.rejoin(group, member, ask, "the leader joins again", out);
                } else if (!same) {
                    rebalance.rejoin(group, member, ask, "a member joins with other protocols", out);
                } else {
                    out.reply(ask.token(), Rebalance.joined(group, memberId, List.of()));
                }
            }
            case EMPTY -> throw new IllegalStateException("an empty group has a member");
        }
    }

    private static Member member(String memberId, Join join, JoinAsk ask) {
        return new Member(
                memberId,
                join.request().groupInstanceId(),
                join.clientId(),
                join.clientHost(),
                ask.sessionTimeoutMs(),
                ask.rebalanceTimeoutMs(),
                ask.protocols());
    }

    private static Outcome refuseJoin(long token, String memberId, Errors error, Outcome.Builder out) {
        return out.reply(
                        token, new JoinGroupResponseData().setMemberId(memberId).setErrorCode(error.code()))
                .build();
    }

    /** Replies with {@link SyncGroupResponseData}. */
    public Outcome onSync(long token, SyncGroupRequestData request, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(request.groupId(), nowMs);
        ClassicGroup group = groups.get(request.groupId());
        Errors error = checkSync(group, request);
        if (error != Errors.NONE) {
            return out.reply(token, new SyncGroupResponseData().setErrorCode(error.code()))
                    .build();
        }
        Member member = group.member(request.memberId());
        rebalance.hasSynced(group, member);
        if (group.phase() == GroupPhase.STABLE) {
            rebalance.heard(group, member, nowMs);
            return out.reply(token, Rebalance.synced(group, member.assignment)).build();
        }
        Rebalance.answerSync(member, Errors.REBALANCE_IN_PROGRESS, out);
        member.syncToken = token;
        if (group.isLeader(member)) {
            Map<String, byte[]> assignments = new HashMap<>();
            long bytes = group.bytesWithout("");
            for (SyncGroupRequestAssignment assignment : request.assignments()) {
                if (group.member(assignment.memberId()) != null) {
                    assignments.put(assignment.memberId(), assignment.assignment());
                    bytes += assignment.assignment().length;
                }
            }
            if (bytes > limits.groupBytesMax()) {
                Rebalance.answerSync(member, Errors.INVALID_REQUEST, out);
                return out.build();
            }
            rebalance.assign(group, assignments, out);
        }
        return out.build();
    }

    private static Errors checkSync(ClassicGroup group, SyncGroupRequestData request) {
        if (request.groupId().isEmpty()) {
            return Errors.INVALID_GROUP_ID;
        }
        Errors error = group == null
                ? Errors.UNKNOWN_MEMBER_ID
                : check(group, request.memberId(), request.groupInstanceId(), request.generationId());
        if (error != Errors.NONE) {
            return error;
        }
        boolean otherType =
                request.protocolType() != null && !request.protocolType().equals(group.protocolType());
        boolean otherName =
                request.protocolName() != null && !request.protocolName().equals(group.protocol());
        if (otherType || otherName) {
            return Errors.INCONSISTENT_GROUP_PROTOCOL;
        }
        return group.phase() == GroupPhase.PREPARING_REBALANCE ? Errors.REBALANCE_IN_PROGRESS : Errors.NONE;
    }

    private static Errors check(ClassicGroup group, String memberId, String instanceId, int generation) {
        Errors error = group.check(memberId, instanceId);
        return error == Errors.NONE && generation != group.generation() ? Errors.ILLEGAL_GENERATION : error;
    }

    /** Replies with {@link HeartbeatResponseData}. */
    public Outcome onHeartbeat(long token, HeartbeatRequestData request, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(request.groupId(), nowMs);
        ClassicGroup group = groups.get(request.groupId());
        Errors error = request.groupId().isEmpty()
                ? Errors.INVALID_GROUP_ID
                : group == null
                        ? Errors.UNKNOWN_MEMBER_ID
                        : check(group, request.memberId(), request.groupInstanceId(), request.generationId());
        if (error == Errors.NONE) {
            rebalance.heard(group, group.member(request.memberId()), nowMs);
            if (group.phase() == GroupPhase.PREPARING_REBALANCE) {
                error = Errors.REBALANCE_IN_PROGRESS;
            }
        }
        return out.reply(token, new HeartbeatResponseData().setErrorCode(error.code()))
                .build();
    }

    /** Replies with {@link LeaveGroupResponseData} in the form of v3 and later: one row per member. */
    public Outcome onLeave(long token, String groupId, List<MemberIdentity> leaving, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(groupId, nowMs);
        LeaveGroupResponseData reply = new LeaveGroupResponseData();
        if (groupId.isEmpty()) {
            return out.reply(token, reply.setErrorCode(Errors.INVALID_GROUP_ID.code()))
                    .build();
        }
        ClassicGroup group = groups.get(groupId);
        boolean changed = false;
        for (MemberIdentity who : leaving) {
            Errors error = group == null ? Errors.UNKNOWN_MEMBER_ID : leave(group, who, out);
            changed |= error == Errors.NONE;
            reply.members()
                    .add(new MemberResponse()
                            .setMemberId(who.memberId())
                            .setGroupInstanceId(who.groupInstanceId())
                            .setErrorCode(error.code()));
        }
        if (changed) {
            rebalance.afterRemoval(group, "members leave", out);
            forgetIfVoid(group);
        }
        return out.reply(token, reply).build();
    }

    private Errors leave(ClassicGroup group, MemberIdentity who, Outcome.Builder out) {
        if (group.removePending(who.memberId())) {
            deadlines.cancel(Rebalance.pending(group, who.memberId()));
            return Errors.NONE;
        }
        Member member = group.member(who.memberId());
        if (who.memberId().isEmpty() && who.groupInstanceId() != null) {
            // an operator removes a static member by its instance id (KIP-345)
            member = group.staticMember(who.groupInstanceId());
            if (member == null) {
                return Errors.UNKNOWN_MEMBER_ID;
            }
        } else {
            Errors error = group.check(who.memberId(), who.groupInstanceId());
            if (error != Errors.NONE) {
                return error;
            }
        }
        rebalance.remove(group, member, Errors.UNKNOWN_MEMBER_ID, out);
        return Errors.NONE;
    }

    /**
     * Replies with an OffsetCommitResponseData that has a row for each partition of the request.
     *
     * @param request only partitions that exist, with names
     */
    public Outcome onCommit(long token, OffsetCommitRequestData request, short version, long nowMs) {
        return offsets.commit(token, request, version, nowMs);
    }

    /** Committed offsets of a group, all of them when the request names no topics; -1 where there is none. */
    public OffsetFetchResponseGroup fetchOffsets(OffsetFetchRequestGroup request) {
        return offsets.fetch(request);
    }

    /** Replies with an OffsetDeleteResponseData. */
    public Outcome onDeleteOffsets(long token, OffsetDeleteRequestData request, long nowMs) {
        return offsets.delete(token, request, nowMs);
    }

    /** Replies with a DeletableGroupResult. */
    public Outcome onDeleteGroup(long token, String groupId, long nowMs) {
        return offsets.deleteGroup(token, groupId, nowMs);
    }

    /** A topic is gone: so are the offsets committed for it. */
    public Outcome onTopicDeleted(String topic, long nowMs) {
        return offsets.topicDeleted(topic, nowMs);
    }

    /** Drops what offsets.retention.minutes allows to drop, of one group. */
    public Outcome onExpiry(String groupId, long nowMs) {
        return offsets.expire(groupId, nowMs);
    }

    public Collection<String> groupIds() {
        return List.copyOf(groups.keySet());
    }

    /** Sorted by id. */
    public List<ListedGroup> list() {
        List<ListedGroup> list = new ArrayList<>();
        for (ClassicGroup group : new TreeMap<>(groups).values()) {
            list.add(new ListedGroup()
                    .setGroupId(group.groupId())
                    .setProtocolType(group.protocolType())
                    .setGroupState(group.phase().kafkaName())
                    .setGroupType("classic"));
        }
        return list;
    }

    /** Null when there is no such group. */
    public DescribedGroup describe(String groupId) {
        ClassicGroup group = groups.get(groupId);
        if (group == null) {
            return null;
        }
        boolean stable = group.phase() == GroupPhase.STABLE;
        DescribedGroup described = new DescribedGroup()
                .setGroupId(groupId)
                .setGroupState(group.phase().kafkaName())
                .setProtocolType(group.protocolType())
                .setProtocolData(stable ? group.protocol() : "");
        for (Member member : group.members()) {
            described
                    .members()
                    .add(new org.apache.kafka.common.message.DescribeGroupsResponseData.DescribedGroupMember()
                            .setMemberId(member.id())
                            .setGroupInstanceId(member.instanceId())
                            .setClientId(member.clientId())
                            .setClientHost(member.clientHost())
                            .setMemberMetadata(stable ? member.metadata(group.protocol()) : Member.NOTHING)
                            .setMemberAssignment(stable ? member.assignment : Member.NOTHING));
        }
        return described;
    }

    /** The records of {@code failed} were not written; its replies must not be sent but those of the result. */
    public Outcome onRefused(Outcome failed, Errors why, long nowMs) {
        Outcome.Builder out = new Outcome.Builder(failed.groupId(), nowMs);
        for (Reply reply : failed.replies()) {
            out.reply(reply.token(), Refusals.instead(reply.body(), why));
        }
        ClassicGroup group = groups.get(failed.groupId());
        if (group != null) {
            rebalance.onRefused(group, out);
            forgetIfVoid(group);
        }
        return out.build();
    }

    private void forgetIfVoid(ClassicGroup group) {
        if (group.isVoid()) {
            groups.remove(group.groupId(), group);
        }
    }

    /** For tests of this package: the group, or null. */
    ClassicGroup group(String groupId) {
        return groups.get(groupId);
    }

    int timers() {
        return deadlines.size();
    }
}
