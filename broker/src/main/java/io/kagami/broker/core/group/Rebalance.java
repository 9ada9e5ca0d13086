package io.kagami.broker.core.group;

import io.kagami.broker.core.group.Deadlines.Kind;
import io.kagami.broker.core.group.GroupRecord.Generation;
import io.kagami.broker.core.group.GroupRecord.Metadata;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;

/**
 * The way of a group from one generation to the next: EMPTY or STABLE, PREPARING_REBALANCE, COMPLETING_REBALANCE, STABLE. Every path
 * that ends a member's wait answers it, and every phase that waits has a timer, so a group cannot stand still.
 */
final class Rebalance {
    private final GroupLimits limits;
    private final Deadlines deadlines;

    Rebalance(GroupLimits limits, Deadlines deadlines) {
        this.limits = limits;
        this.deadlines = deadlines;
    }

    static Deadlines.Key join(ClassicGroup group) {
        return new Deadlines.Key(group.groupId(), Kind.JOIN, "");
    }

    static Deadlines.Key sync(ClassicGroup group) {
        return new Deadlines.Key(group.groupId(), Kind.SYNC, "");
    }

    static Deadlines.Key session(ClassicGroup group, String memberId) {
        return new Deadlines.Key(group.groupId(), Kind.SESSION, memberId);
    }

    static Deadlines.Key pending(ClassicGroup group, String memberId) {
        return new Deadlines.Key(group.groupId(), Kind.PENDING, memberId);
    }

    /** The member was heard of. */
    void heard(ClassicGroup group, Member member, long nowMs) {
        deadlines.set(session(group, member.id()), nowMs + member.sessionTimeoutMs);
    }

    /** A new member joins; answered when the rebalance that it causes is complete. */
    void add(ClassicGroup group, Member member, String protocolType, long token, Outcome.Builder out) {
        member.fresh = true;
        member.joinToken = token;
        if (group.phase() == GroupPhase.PREPARING_REBALANCE && group.initialJoin) {
            group.memberAddedInDelay = true;
        }
        deadlines.cancel(pending(group, member.id()));
        group.add(member, protocolType);
        deadlines.set(session(group, member.id()), out.nowMs + limits.newMemberMs());
        prepareOrComplete(group, "a member joins", out);
    }

    /** A member joins again, maybe with other protocols. */
    void rejoin(ClassicGroup group, Member member, JoinAsk ask, String reason, Outcome.Builder out) {
        update(group, member, ask, out);
        prepareOrComplete(group, reason, out);
    }

    /** A static member that came back under a new id while a rebalance is under way, or that changes the protocol. */
    void replace(ClassicGroup group, Member old, Member next, JoinAsk ask, Outcome.Builder out) {
        answerJoin(old, Errors.FENCED_INSTANCE_ID, out);
        answerSync(old, Errors.FENCED_INSTANCE_ID, out);
        deadlines.cancel(session(group, old.id()));
        next.assignment = old.assignment;
        next.fresh = old.fresh;
        group.replace(old, next);
        update(group, next, ask, out);
        heard(group, next, out.nowMs);
        if (group.phase() == GroupPhase.PREPARING_REBALANCE) {
            completeIfAllJoined(group, out);
        } else {
            prepare(group, "a static member came back", out);
        }
    }

    private void update(ClassicGroup group, Member member, JoinAsk ask, Outcome.Builder out) {
        // The earlier request of the same member is overtaken; its connection, if it still exists, may try again.
        answerJoin(member, Errors.REBALANCE_IN_PROGRESS, out);
        member.protocols = ask.protocols();
        member.sessionTimeoutMs = ask.sessionTimeoutMs();
        member.rebalanceTimeoutMs = ask.rebalanceTimeoutMs();
        member.joinToken = ask.token();
        if (!member.fresh) {
            heard(group, member, out.nowMs);
        }
    }

    void prepareOrComplete(ClassicGroup group, String reason, Outcome.Builder out) {
        if (group.phase() == GroupPhase.PREPARING_REBALANCE) {
            completeIfAllJoined(group, out);
        } else {
            prepare(group, reason, out);
        }
    }

    private void prepare(ClassicGroup group, String reason, Outcome.Builder out) {
        GroupPhase from = group.phase();
        if (from == GroupPhase.COMPLETING_REBALANCE) {
            group.members().forEach(member -> answerSync(member, Errors.REBALANCE_IN_PROGRESS, out));
        }
        deadlines.cancel(sync(group));
        group.unsynced().clear();
        group.initialJoin = from == GroupPhase.EMPTY;
        group.memberAddedInDelay = false;
        group.phase(GroupPhase.PREPARING_REBALANCE);
        out.moved(group, from, GroupPhase.PREPARING_REBALANCE, group.generation(), reason);
        if (group.initialJoin) {
            group.initialRemainingMs = Math.max(group.rebalanceTimeoutMs() - limits.initialDelayMs(), 0);
            deadlines.set(join(group), out.nowMs + limits.initialDelayMs());
        } else if (group.allJoined()) {
            complete(group, out);
        } else {
            deadlines.set(join(group), out.nowMs + group.rebalanceTimeoutMs());
        }
    }

    /** Ends the join phase early; the initial delay is always waited for. */
    void completeIfAllJoined(ClassicGroup group, Outcome.Builder out) {
        if (group.phase() == GroupPhase.PREPARING_REBALANCE && !group.initialJoin && group.allJoined()) {
            complete(group, out);
        }
    }

    void onJoinTimer(ClassicGroup group, Outcome.Builder out) {
        if (group.phase() != GroupPhase.PREPARING_REBALANCE) {
            return;
        }
        if (group.initialJoin && group.memberAddedInDelay && group.initialRemainingMs > 0) {
            int delay = Math.min(limits.initialDelayMs(), group.initialRemainingMs);
            group.memberAddedInDelay = false;
            group.initialRemainingMs = Math.max(group.initialRemainingMs - Math.max(delay, 1), 0);
            deadlines.set(join(group), out.nowMs + delay);
            return;
        }
        complete(group, out);
    }

    private void complete(ClassicGroup group, Outcome.Builder out) {
        deadlines.cancel(join(group));
        for (Member member : List.copyOf(group.members())) {
            if (!member.joining() && !member.isStatic()) {
                remove(group, member, Errors.UNKNOWN_MEMBER_ID, out);
            }
        }
        if (group.members().isEmpty()) {
            becomeEmpty(group, out);
        } else if (!group.electJoinedLeader()) {
            // only static members that are away: their sessions end one day, until then ask again
            deadlines.set(join(group), out.nowMs + Math.max(group.rebalanceTimeoutMs(), 1));
        } else {
            beginGeneration(group, out);
        }
    }

    private void becomeEmpty(ClassicGroup group, Outcome.Builder out) {
        Generation empty =
                new Generation(group.protocolType(), group.nextGeneration(), null, null, out.nowMs, List.of());
        out.append(new Metadata(group.groupId(), empty));
        out.moved(group, group.phase(), GroupPhase.EMPTY, empty.generation(), "the last member is gone");
    }

    private void beginGeneration(ClassicGroup group, Outcome.Builder out) {
        group.beginGeneration();
        group.initialJoin = false;
        out.moved(
                group,
                GroupPhase.PREPARING_REBALANCE,
                GroupPhase.COMPLETING_REBALANCE,
                group.generation(),
                "the members have joined");
        for (Member member : group.members()) {
            if (member.joining()) {
                out.reply(
                        takeJoin(member),
                        joined(group, member.id(), group.isLeader(member) ? membersOf(group) : List.of()));
            }
            member.fresh = false;
            heard(group, member, out.nowMs);
        }
        deadlines.set(sync(group), out.nowMs + Math.max(group.rebalanceTimeoutMs(), 1));
    }

    /** The leader's assignments: appended, and the waiting members answered once that is safe. */
    void assign(ClassicGroup group, Map<String, byte[]> assignments, Outcome.Builder out) {
        Generation next = group.snapshot(group.members(), group.leader(), assignments, out.nowMs);
        out.append(new Metadata(group.groupId(), next));
        out.moved(group, group.phase(), GroupPhase.STABLE, group.generation(), "the leader has sent the assignments");
        for (Member member : group.members()) {
            if (member.syncing()) {
                out.reply(takeSync(member), synced(group, assignments.getOrDefault(member.id(), Member.NOTHING)));
                heard(group, member, out.nowMs);
            }
        }
    }

    void hasSynced(ClassicGroup group, Member member) {
        group.unsynced().remove(member.id());
        if (group.unsynced().isEmpty()) {
            deadlines.cancel(sync(group));
        }
    }

    void onSyncTimer(ClassicGroup group, Outcome.Builder out) {
        if (group.phase() != GroupPhase.COMPLETING_REBALANCE && group.phase() != GroupPhase.STABLE) {
            return;
        }
        List<String> late = new ArrayList<>(group.unsynced());
        for (String memberId : late) {
            Member member = group.member(memberId);
            if (member != null) {
                remove(group, member, Errors.UNKNOWN_MEMBER_ID, out);
            }
        }
        if (!late.isEmpty()) {
            prepare(group, "members did not ask for their assignment in time", out);
        }
    }

    void onSessionTimer(ClassicGroup group, String memberId, Outcome.Builder out) {
        Member member = group.member(memberId);
        if (member == null) {
            return;
        }
        if (!member.fresh && (member.joining() || member.syncing())) {
            heard(group, member, out.nowMs);
            return;
        }
        remove(group, member, Errors.UNKNOWN_MEMBER_ID, out);
        afterRemoval(group, "a member was not heard of in its session timeout", out);
    }

    void onPendingTimer(ClassicGroup group, String memberId, Outcome.Builder out) {
        if (group.removePending(memberId)) {
            completeIfAllJoined(group, out);
        }
    }

    /** Takes a member out and ends its waits; the caller decides what happens to the group. */
    void remove(ClassicGroup group, Member member, Errors why, Outcome.Builder out) {
        answerJoin(member, why, out);
        answerSync(member, why, out);
        deadlines.cancel(session(group, member.id()));
        group.remove(member);
    }

    void afterRemoval(ClassicGroup group, String reason, Outcome.Builder out) {
        switch (group.phase()) {
            case STABLE, COMPLETING_REBALANCE -> prepare(group, reason, out);
            case PREPARING_REBALANCE -> completeIfAllJoined(group, out);
            case EMPTY -> {}
        }
    }

    /** The record of this group could not be written: what waits was answered by the caller, the group tries again. */
    void onRefused(ClassicGroup group, Outcome.Builder out) {
        if (group.incoming != null) {
            deadlines.cancel(session(group, group.incoming.id()));
            group.incoming = null;
        }
        if (group.phase() == GroupPhase.COMPLETING_REBALANCE) {
            prepare(group, "the generation could not be stored", out);
        } else if (group.phase() == GroupPhase.PREPARING_REBALANCE
                && group.members().isEmpty()) {
            // Safe without a record: after a restart the older generation comes back and its members time out.
            group.initialJoin = false;
            group.phase(GroupPhase.EMPTY);
            out.moved(group, GroupPhase.PREPARING_REBALANCE, GroupPhase.EMPTY, group.generation(), "empty, not stored");
        }
    }

    static JoinGroupResponseData joined(ClassicGroup group, String memberId, List<JoinGroupResponseMember> members) {
        return new JoinGroupResponseData()
                .setMemberId(memberId)
                .setGenerationId(group.generation())
                .setProtocolType(group.protocolType())
                .setProtocolName(group.protocol())
                .setLeader(group.leader())
                .setMembers(members);
    }

    static List<JoinGroupResponseMember> membersOf(ClassicGroup group) {
        List<JoinGroupResponseMember> list = new ArrayList<>();
        for (Member member : group.members()) {
            list.add(new JoinGroupResponseMember()
                    .setMemberId(member.id())
                    .setGroupInstanceId(member.instanceId())
                    .setMetadata(member.metadata(group.protocol())));
        }
        return list;
    }

    static SyncGroupResponseData synced(ClassicGroup group, byte[] assignment) {
        return new SyncGroupResponseData()
                .setProtocolType(group.protocolType())
                .setProtocolName(group.protocol())
                .setAssignment(assignment);
    }

    private static void answerJoin(Member member, Errors why, Outcome.Builder out) {
        if (member.joining()) {
            out.reply(
                    takeJoin(member),
                    new JoinGroupResponseData().setMemberId(member.id()).setErrorCode(why.code()));
        }
    }

    static void answerSync(Member member, Errors why, Outcome.Builder out) {
        if (member.syncing()) {
            out.reply(takeSync(member), new SyncGroupResponseData().setErrorCode(why.code()));
        }
    }

    private static long takeJoin(Member member) {
        long token = member.joinToken;
        member.joinToken = Member.NO_TOKEN;
        return token;
    }

    private static long takeSync(Member member) {
        long token = member.syncToken;
        member.syncToken = Member.NO_TOKEN;
        return token;
    }
}
