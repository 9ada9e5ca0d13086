package io.kagami.broker.core.group;

import java.util.List;

/** What the log of a shard holds. A null value is a tombstone. */
public sealed interface GroupRecord {
    String groupId();

    /** A committed offset. */
    record Offset(String groupId, String topic, int partition, Commit value) implements GroupRecord {}

    /** A group after a rebalance. */
    record Metadata(String groupId, Generation value) implements GroupRecord {}

    /**
     * The value of a committed offset.
     *
     * @param leaderEpoch epoch of the last consumed record, or -1
     * @param commitTimestampMs when it was committed
     * @param expireTimestampMs explicit end of its life (asked for by OffsetCommit v2-4), or -1
     */
    record Commit(long offset, int leaderEpoch, String metadata, long commitTimestampMs, long expireTimestampMs) {}

    /**
     * One generation of a group.
     *
     * @param protocolType empty for a group that never had members
     * @param protocol null without members
     * @param leader member id, null without members
     * @param stateTimestampMs when it came to be, or -1
     */
    record Generation(
            String protocolType,
            int generation,
            String protocol,
            String leader,
            long stateTimestampMs,
            List<StoredMember> members) {}

    /**
     * A member as stored.
     *
     * @param instanceId null for a dynamic member
     * @param subscription metadata of the chosen protocol; nobody changes these arrays, and two members are never compared
     */
    @SuppressWarnings("ArrayRecordComponent")
    record StoredMember(
            String memberId,
            String instanceId,
            String clientId,
            String clientHost,
            int rebalanceTimeoutMs,
            int sessionTimeoutMs,
            byte[] subscription,
            byte[] assignment) {}
}
