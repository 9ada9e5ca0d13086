package io.kagami.broker.core.group;

import io.kagami.broker.core.group.GroupRecord.Commit;
import io.kagami.broker.core.group.GroupRecord.Generation;
import io.kagami.broker.core.group.GroupRecord.Metadata;
import io.kagami.broker.core.group.GroupRecord.Offset;
import io.kagami.broker.core.group.GroupRecord.StoredMember;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Key and value layouts of {@code __consumer_offsets}, those of Apache Kafka, so that its tools read our topic.
 *
 * <pre>
 * key    int16 1, string group, string topic, int32 partition         committed offset (key versions 0 and 1 are the same)
 * value  int16 3, int64 offset, int32 leader epoch, string metadata, int64 commit timestamp
 *        version 0 has no epoch, 1 no epoch but a last int64 expire timestamp, 2 as 0, 4 is 3 in flexible form with tags
 * key    int16 2, string group                                         group
 * value  int16 3, string protocol type, int32 generation, string? protocol, string? leader, int64 state timestamp,
 *        int32 count of members, each: string member id, string? instance id, string client id, string client host,
 *        int32 rebalance timeout, int32 session timeout, bytes subscription, bytes assignment
 *        version 2 has no instance id, 1 no state timestamp either, 0 no rebalance timeout either, 4 is flexible
 * </pre>
 *
 * Written: version 3, and version 1 for an offset with an explicit expiry (its epoch is lost, as in Kafka). Read: all. Other key
 * versions belong to newer group kinds and are passed over.
 */
public final class GroupRecords {
    private static final short OFFSET_KEY = 1;
    private static final short GROUP_KEY = 2;
    private static final int MEMBER_BYTES_MIN = 8;

    private GroupRecords() {}

    public static byte[] key(GroupRecord record) {
        if (record instanceof Offset offset) {
            return new ByteWriter()
                    .int16(OFFSET_KEY)
                    .string(offset.groupId())
                    .string(offset.topic())
                    .int32(offset.partition())
                    .toArray();
        }
        return new ByteWriter().int16(GROUP_KEY).string(record.groupId()).toArray();
    }

    /** Null for a tombstone. */
    public static byte[] value(GroupRecord record) {
        if (record instanceof Offset offset) {
            return offset.value() == null ? null : commit(offset.value());
        }
        if (record instanceof Metadata metadata) {
            return metadata.value() == null ? null : generation(metadata.value());
        }
        throw new AssertionError(record);
    }

    /**
     * Reads one record; empty when its key is of a kind unknown here.
     *
     * @param value null for a tombstone
     * @throws IllegalArgumentException when the layout is broken
     */
    public static Optional<GroupRecord> decode(ByteBuffer key, ByteBuffer value) {
        ByteReader in = new ByteReader(key);
        short version = in.int16();
        if (version == 0 || version == OFFSET_KEY) {
            return Optional.of(new Offset(
                    in.string(false),
                    in.string(false),
                    in.int32(),
                    value == null ? null : commit(new ByteReader(value))));
        }
        if (version == GROUP_KEY) {
            return Optional.of(
                    new Metadata(in.string(false), value == null ? null : generation(new ByteReader(value))));
        }
        return Optional.empty();
    }

    private static byte[] commit(Commit commit) {
        ByteWriter out = new ByteWriter();
        if (commit.expireTimestampMs() >= 0) {
            return out.int16(1)
                    .int64(commit.offset())
                    .string(commit.metadata())
                    .int64(commit.commitTimestampMs())
                    .int64(commit.expireTimestampMs())
                    .toArray();
        }
        return out.int16(3)
                .int64(commit.offset())
                .int32(commit.leaderEpoch())
                .string(commit.metadata())
                .int64(commit.commitTimestampMs())
                .toArray();
    }

    private static Commit commit(ByteReader in) {
        short version = version(in, "committed offset");
        long offset = in.int64();
        int epoch = version >= 3 ? in.int32() : -1;
        String metadata = in.string(version >= 4);
        long committed = in.int64();
        return new Commit(offset, epoch, metadata, committed, version == 1 ? in.int64() : -1);
    }

    private static byte[] generation(Generation value) {
        ByteWriter out = new ByteWriter()
                .int16(3)
                .string(value.protocolType())
                .int32(value.generation())
                .nullableString(value.protocol())
                .nullableString(value.leader())
                .int64(value.stateTimestampMs())
                .int32(value.members().size());
        for (StoredMember member : value.members()) {
            out.string(member.memberId())
                    .nullableString(member.instanceId())
                    .string(member.clientId())
                    .string(member.clientHost())
                    .int32(member.rebalanceTimeoutMs())
                    .int32(member.sessionTimeoutMs())
                    .bytes(member.subscription())
                    .bytes(member.assignment());
        }
        return out.toArray();
    }

    private static Generation generation(ByteReader in) {
        short version = version(in, "group");
        boolean compact = version >= 4;
        String protocolType = in.string(compact);
        int generation = in.int32();
        String protocol = in.nullableString(compact);
        String leader = in.nullableString(compact);
        long stateTimestamp = version >= 2 ? in.int64() : -1;
        int count = in.count(compact, MEMBER_BYTES_MIN);
        List<StoredMember> members = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            members.add(member(in, version, compact));
        }
        return new Generation(protocolType, generation, protocol, leader, stateTimestamp, List.copyOf(members));
    }

    private static StoredMember member(ByteReader in, short version, boolean compact) {
        String memberId = in.string(compact);
        String instanceId = version >= 3 ? in.nullableString(compact) : null;
        String clientId = in.string(compact);
        String clientHost = in.string(compact);
        int rebalanceTimeout = version >= 1 ? in.int32() : -1;
        int sessionTimeout = in.int32();
        byte[] subscription = in.bytes(compact);
        byte[] assignment = in.bytes(compact);
        if (compact) {
            in.skipTags();
        }
        return new StoredMember(
                memberId,
                instanceId,
                clientId,
                clientHost,
                rebalanceTimeout < 0 ? sessionTimeout : rebalanceTimeout,
                sessionTimeout,
                subscription,
                assignment);
    }

    private static short version(ByteReader in, String what) {
        short version = in.int16();
        if (version < 0 || version > 4) {
            throw new IllegalArgumentException("version " + version + " of a " + what + " is not known, only 0 to 4");
        }
        return version;
    }
}
