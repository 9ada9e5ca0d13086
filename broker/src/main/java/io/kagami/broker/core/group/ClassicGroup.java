package io.kagami.broker.core.group;

import io.kagami.broker.core.group.GroupRecord.Generation;
import io.kagami.broker.core.group.GroupRecord.StoredMember;
import io.kagami.broker.core.group.Member.Protocol;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.message.ConsumerProtocolSubscription;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;

/**
 * A group of the classic protocol: what it is, not what it does next (that is {@link Rebalance}). Two kinds of state: what the log
 * holds (offsets; generation, protocol, leader, members with assignments of the last completed rebalance), written only by
 * {@link #adopt} and the shard's replay; and what lives in memory alone (who has joined, who waits), lost with the process as in Kafka.
 */
final class ClassicGroup {
    static final String CONSUMER_TYPE = "consumer";

    private final String groupId;
    private final CommittedOffsets offsets = new CommittedOffsets();
    private final Map<String, Member> members = new LinkedHashMap<>();
    private final Map<String, String> staticIds = new HashMap<>();
    /** Ids handed out, with their session timeout, not yet joined with. */
    private final Set<String> pendingIds = new LinkedHashSet<>();

    private final Set<String> unsynced = new LinkedHashSet<>();

    private GroupPhase phase = GroupPhase.EMPTY;
    private String protocolType = "";
    private String protocol;
    private String leader;
    private int generation;
    private long stateTimestampMs = -1;
    /** Whether the log holds a value for this group. */
    private boolean stored;

    /** In PREPARING_REBALANCE: came from EMPTY, so the initial delay runs. */
    boolean initialJoin;
    /** A member came while the initial delay ran: it is run once more. */
    boolean memberAddedInDelay;
    /** How much longer the initial delay may be extended. */
    int initialRemainingMs;
    /** A member that becomes one when the record about to be appended is replayed; null otherwise. */
    Member incoming;

    ClassicGroup(String groupId) {
        this.groupId = groupId;
    }

    String groupId() {
        return groupId;
    }

    CommittedOffsets offsets() {
        return offsets;
    }

    GroupPhase phase() {
        return phase;
    }

    void phase(GroupPhase next) {
        phase = next;
    }

    /** Empty for a group that only holds offsets. */
    String protocolType() {
        return protocolType;
    }

    /** Null when no generation was completed. */
    String protocol() {
        return protocol;
    }

    /** Null without members. */
    String leader() {
        return leader;
    }

    boolean isLeader(Member member) {
        return member.id().equals(leader);
    }

    int generation() {
        return generation;
    }

    long stateTimestampMs() {
        return stateTimestampMs;
    }

    boolean isStored() {
        return stored;
    }

    Collection<Member> members() {
        return Collections.unmodifiableCollection(members.values());
    }

    /** Null when unknown. */
    Member member(String memberId) {
        return members.get(memberId);
    }

    /** Null when no member has this instance id. */
    Member staticMember(String instanceId) {
        String id = staticIds.get(instanceId);
        return id == null ? null : members.get(id);
    }

    boolean isPending(String memberId) {
        return pendingIds.contains(memberId);
    }

    int pendingCount() {
        return pendingIds.size();
    }

    void addPending(String memberId) {
        pendingIds.add(memberId);
    }

    boolean removePending(String memberId) {
        return pendingIds.remove(memberId);
    }

    Set<String> unsynced() {
        return unsynced;
    }

    /** Nothing that the log or a client would miss. */
    boolean isVoid() {
        return !stored && offsets.isEmpty() && members.isEmpty() && pendingIds.isEmpty() && phase == GroupPhase.EMPTY;
    }

    /** Whether a request of this member is acceptable: NONE, UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID. */
    Errors check(String memberId, String instanceId) {
        if (instanceId != null) {
            String current = staticIds.get(instanceId);
            if (current == null) {
                return Errors.UNKNOWN_MEMBER_ID;
            }
            return current.equals(memberId) ? Errors.NONE : Errors.FENCED_INSTANCE_ID;
        }
        return members.containsKey(memberId) ? Errors.NONE : Errors.UNKNOWN_MEMBER_ID;
    }

    /** Whether a member with these protocols can share one with all current members. */
    boolean accepts(String type, List<Protocol> protocols) {
        if (type.isEmpty() || protocols.isEmpty()) {
            return false;
        }
        if (members.isEmpty()) {
            return true;
        }
        return type.equals(protocolType)
                && protocols.stream()
                        .anyMatch(offered -> members.values().stream().allMatch(m -> m.supports(offered.name())));
    }

    /** The first member brings the protocol type and becomes the leader. */
    void add(Member member, String type) {
        if (members.isEmpty()) {
            protocolType = type;
            leader = member.id();
        }
        members.put(member.id(), member);
        if (member.isStatic()) {
            staticIds.put(member.instanceId(), member.id());
        }
        pendingIds.remove(member.id());
    }

    void remove(Member member) {
        members.remove(member.id());
        unsynced.remove(member.id());
        if (member.isStatic()) {
            staticIds.remove(member.instanceId(), member.id());
        }
        if (isLeader(member)) {
            leader = members.isEmpty() ? null : members.keySet().iterator().next();
        }
    }

    /** Puts the same person under a new id, at the end of the order. */
    void replace(Member old, Member next) {
        boolean led = isLeader(old);
        members.remove(old.id());
        unsynced.remove(old.id());
        members.put(next.id(), next);
        staticIds.put(next.instanceId(), next.id());
        if (led) {
            leader = next.id();
        }
    }

    boolean allJoined() {
        return pendingIds.isEmpty() && members.values().stream().allMatch(Member::joining);
    }

    int joiningCount() {
        return (int) members.values().stream().filter(Member::joining).count();
    }

    int rebalanceTimeoutMs() {
        return members.values().stream()
                .mapToInt(m -> m.rebalanceTimeoutMs)
                .max()
                .orElse(0);
    }

    /** Keeps the leader if it has joined, else takes the first who has; false when nobody has. */
    boolean electJoinedLeader() {
        Member current = leader == null ? null : members.get(leader);
        if (current != null && current.joining()) {
            return true;
        }
        for (Member member : members.values()) {
            if (member.joining()) {
                leader = member.id();
                return true;
            }
        }
        return false;
    }

    /** A new generation of the members that have joined. */
    void beginGeneration() {
        generation = nextGeneration();
        protocol = chooseProtocol(members.values());
        phase = GroupPhase.COMPLETING_REBALANCE;
        unsynced.clear();
        unsynced.addAll(members.keySet());
    }

    int nextGeneration() {
        return generation == Integer.MAX_VALUE ? 1 : generation + 1;
    }

    /** Each member votes for the first protocol it has that all have; a tie goes to the one named first by the first voter. */
    static String chooseProtocol(Collection<Member> voters) {
        Set<String> common = null;
        for (Member voter : voters) {
            Set<String> own = new HashSet<>();
            voter.protocols.forEach(offered -> own.add(offered.name()));
            if (common == null) {
                common = own;
            } else {
                common.retainAll(own);
            }
        }
        Map<String, Integer> votes = new LinkedHashMap<>();
        for (Member voter : voters) {
            for (Protocol candidate : voter.protocols) {
                if (common.contains(candidate.name())) {
                    votes.merge(candidate.name(), 1, Integer::sum);
                    break;
                }
            }
        }
        String best = null;
        for (Map.Entry<String, Integer> vote : votes.entrySet()) {
            if (best == null || vote.getValue() > votes.get(best)) {
                best = vote.getKey();
            }
        }
        if (best == null) {
            throw new IllegalStateException("the members of a group have no protocol in common");
        }
        return best;
    }

    /** Bytes that its record would take, near enough for a bound, without one member. */
    long bytesWithout(String memberId) {
        long bytes = 0;
        for (Member member : members.values()) {
            if (!member.id().equals(memberId)) {
                bytes += Member.bytes(member.protocols) + member.assignment.length;
            }
        }
        return bytes;
    }

    /** What the log would say of the group as it is, with these assignments. */
    Generation snapshot(Collection<Member> who, String newLeader, Map<String, byte[]> assignments, long nowMs) {
        List<StoredMember> list = new ArrayList<>(who.size());
        for (Member member : who) {
            list.add(member.stored(protocol, assignments.getOrDefault(member.id(), Member.NOTHING)));
        }
        return new Generation(protocolType, generation, protocol, newLeader, nowMs, List.copyOf(list));
    }

    Map<String, byte[]> assignments() {
        Map<String, byte[]> map = new HashMap<>();
        members.values().forEach(member -> map.put(member.id(), member.assignment));
        return map;
    }

    /**
     * Takes over what the log says. Live members keep what the log does not know of them; a null value forgets the group.
     *
     * @param live false while loading: then the log alone counts
     * @return ids of members that are no longer in the group
     */
    Set<String> adopt(Generation value, boolean live) {
        Map<String, Member> before = new LinkedHashMap<>(members);
        members.clear();
        staticIds.clear();
        stored = value != null;
        if (value == null) {
            protocolType = "";
            protocol = null;
            leader = null;
            generation = 0;
            stateTimestampMs = -1;
        } else {
            protocolType = value.protocolType();
            protocol = value.protocol();
            leader = value.leader();
            generation = value.generation();
            stateTimestampMs = value.stateTimestampMs();
            value.members().forEach(member -> restore(member, live ? before.get(member.memberId()) : null));
        }
        incoming = null;
        initialJoin = false;
        phase = members.isEmpty() ? GroupPhase.EMPTY : GroupPhase.STABLE;
        unsynced.retainAll(members.keySet());
        Set<String> gone = new HashSet<>(before.keySet());
        gone.removeAll(members.keySet());
        return gone;
    }

    private void restore(StoredMember from, Member known) {
        Member member = known;
        if (member == null && incoming != null && incoming.id().equals(from.memberId())) {
            member = incoming;
        }
        if (member == null) {
            member = Member.restored(from, protocol);
        }
        member.assignment = from.assignment();
        members.put(member.id(), member);
        if (member.isStatic()) {
            staticIds.put(member.instanceId(), member.id());
        }
    }

    /** Whether a live consumer group reads this topic; unreadable subscriptions count as reading everything. */
    boolean subscribes(String topic) {
        if (members.isEmpty() || !CONSUMER_TYPE.equals(protocolType)) {
            return false;
        }
        Set<String> topics = subscribedTopics();
        return topics == null || topics.contains(topic);
    }

    /** Topics of all members' subscriptions, or null when not known: no generation yet, or not a consumer's subscription. */
    Set<String> subscribedTopics() {
        if (protocol == null) {
            return null;
        }
        Set<String> topics = new HashSet<>();
        for (Member member : members.values()) {
            try {
                ByteBuffer metadata = ByteBuffer.wrap(member.metadata(protocol));
                short version = metadata.getShort();
                if (version < 0) {
                    return null;
                }
                short known = (short) Math.min(version, ConsumerProtocolSubscription.HIGHEST_SUPPORTED_VERSION);
                topics.addAll(new ConsumerProtocolSubscription(new ByteBufferAccessor(metadata), known).topics());
            } catch (RuntimeException unreadable) {
                return null;
            }
        }
        return topics;
    }
}
