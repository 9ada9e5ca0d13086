package io.kagami.broker.core.group;

/**
 * Times and bounds of the groups of one shard. Kafka's names: group.min.session.timeout.ms, group.max.session.timeout.ms,
 * group.initial.rebalance.delay.ms, group.max.size, offset.metadata.max.bytes, offsets.retention.minutes.
 *
 * @param sessionMinMs shortest session timeout that a member may ask for
 * @param sessionMaxMs longest session timeout that a member may ask for
 * @param initialDelayMs wait for more members before the first rebalance of an empty group
 * @param newMemberMs a member that never got an answer to its first join is dropped after this
 * @param membersMax members of one group, those with an id but without a join included
 * @param memberBytesMax bytes of all protocol metadata of one member
 * @param groupBytesMax bytes of protocol metadata and assignments of one group, which is the size of its record
 * @param groupsMax groups of one shard
 * @param commitMetadataMax characters of the metadata string of a committed offset
 * @param offsetsRetentionMs committed offsets of an empty group are dropped after this
 */
public record GroupLimits(
        int sessionMinMs,
        int sessionMaxMs,
        int initialDelayMs,
        int newMemberMs,
        int membersMax,
        int memberBytesMax,
        int groupBytesMax,
        int groupsMax,
        int commitMetadataMax,
        long offsetsRetentionMs) {
    public static final GroupLimits DEFAULT = new GroupLimits(
            6_000, 1_800_000, 3_000, 300_000, 10_000, 1 << 20, 16 << 20, 100_000, 4096, 7L * 24 * 3_600_000);

    public GroupLimits {
        if (sessionMinMs < 1 || sessionMaxMs < sessionMinMs) {
            throw new IllegalArgumentException("group.min.session.timeout.ms must be at least 1 and not above"
                    + " group.max.session.timeout.ms, not " + sessionMinMs + " and " + sessionMaxMs);
        }
        if (initialDelayMs < 0) {
            throw new IllegalArgumentException(
                    "group.initial.rebalance.delay.ms must not be negative: " + initialDelayMs);
        }
        if (newMemberMs < 1
                || membersMax < 1
                || memberBytesMax < 1
                || groupBytesMax < memberBytesMax
                || groupsMax < 1) {
            throw new IllegalArgumentException("the bounds of a group must be positive and one member must fit in it");
        }
        if (commitMetadataMax < 0 || commitMetadataMax > Short.MAX_VALUE / 3) {
            throw new IllegalArgumentException("offset.metadata.max.bytes must be between 0 and " + Short.MAX_VALUE / 3
                    + ", not " + commitMetadataMax);
        }
        if (offsetsRetentionMs < 1) {
            throw new IllegalArgumentException("offsets.retention.minutes must be at least 1");
        }
    }
}
