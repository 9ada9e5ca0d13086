package io.kagami.broker.core.cluster;

import io.kagami.broker.core.cluster.ClusterRecord.ClusterIdSet;
import io.kagami.broker.core.cluster.ClusterRecord.DesiredSet;
import io.kagami.broker.core.cluster.ClusterRecord.LeaderEpochRaised;
import io.kagami.broker.core.cluster.ClusterRecord.MirrorCreated;
import io.kagami.broker.core.cluster.ClusterRecord.MirrorDeleted;
import io.kagami.broker.core.cluster.ClusterRecord.MirrorStatePut;
import io.kagami.broker.core.cluster.ClusterRecord.ProducerIdsAllocated;
import io.kagami.broker.core.cluster.ClusterRecord.ProducerIdsRaised;
import io.kagami.broker.core.cluster.ClusterRecord.SourcePinned;
import io.kagami.broker.core.cluster.ClusterRecord.TopicAdopted;
import io.kagami.broker.core.cluster.ClusterRecord.TopicConfigChanged;
import io.kagami.broker.core.cluster.ClusterRecord.TopicCreated;
import io.kagami.broker.core.cluster.ClusterRecord.TopicDeleted;
import io.kagami.broker.core.cluster.ClusterRecord.TopicGrown;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.MirrorPartition;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;

/**
 * Bytes of a record: {@code int16 type | int16 version | fields}. Types are never re-used. An unknown type or version stops the reader:
 * skipping a change would let this broker's picture differ from another's.
 */
public final class ClusterRecordCodec {
    private static final short VERSION = 0;

    private ClusterRecordCodec() {}

    public static byte[] encode(ClusterRecord record) {
        ByteWriter out = new ByteWriter();
        out.int16(typeOf(record)).int16(VERSION);
        if (record instanceof ClusterIdSet r) {
            out.string(r.clusterId());
        } else if (record instanceof TopicCreated r) {
            out.string(r.name()).uuid(r.id()).list(r.leaderEpochs(), out::int32).strings(r.configs());
            out.string(r.mirror()).uuid(r.sourceTopicId());
        } else if (record instanceof TopicDeleted r) {
            out.uuid(r.id());
        } else if (record instanceof TopicGrown r) {
            out.uuid(r.id()).int32(r.firstPartition()).list(r.addedLeaderEpochs(), out::int32);
        } else if (record instanceof TopicConfigChanged r) {
            out.uuid(r.id()).strings(r.changes());
        } else if (record instanceof LeaderEpochRaised r) {
            out.uuid(r.id()).int32(r.partition()).int32(r.epoch());
        } else if (record instanceof MirrorCreated r) {
            out.string(r.name()).strings(r.configs());
        } else if (record instanceof SourcePinned r) {
            out.string(r.mirror()).string(r.sourceClusterId());
        } else if (record instanceof MirrorDeleted r) {
            out.string(r.name());
        } else if (record instanceof TopicAdopted r) {
            out.uuid(r.id()).string(r.mirror()).uuid(r.sourceTopicId());
        } else if (record instanceof DesiredSet r) {
            out.string(r.mirror()).list(r.topics(), out::string).int8(desiredValue(r.desired()));
        } else if (record instanceof MirrorStatePut r) {
            write(out, r.partition());
            write(out, r.next());
            out.int32(r.expectedStateEpoch());
        } else if (record instanceof ProducerIdsAllocated r) {
            out.int32(r.count());
        } else if (record instanceof ProducerIdsRaised r) {
            out.int64(r.nextProducerId());
        } else {
            throw new AssertionError(record);
        }
        return out.toBytes();
    }

    /** @throws IllegalStateException when the bytes are no record that this program knows */
    public static ClusterRecord decode(ByteBuffer bytes) {
        ByteReader in = new ByteReader(bytes);
        short type = -1;
        try {
            type = in.int16();
            short version = in.int16();
            if (version != VERSION) {
                throw new IllegalStateException("metadata record of type " + type + " has version " + version
                        + ", this program reads " + VERSION + ". A newer program wrote it: start that one.");
            }
            ClusterRecord record = read(type, in);
            if (in.remaining() > 0) {
                throw new IllegalStateException(
                        "metadata record of type " + type + " has " + in.remaining() + " bytes too many");
            }
            return record;
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new IllegalStateException("metadata record of type " + type + " cannot be read: " + e, e);
        }
    }

    private static short typeOf(ClusterRecord record) {
        if (record instanceof ClusterIdSet) {
            return 1;
        } else if (record instanceof TopicCreated) {
            return 2;
        } else if (record instanceof TopicDeleted) {
            return 3;
        } else if (record instanceof TopicGrown) {
            return 4;
        } else if (record instanceof TopicConfigChanged) {
            return 5;
        } else if (record instanceof LeaderEpochRaised) {
            return 6;
        } else if (record instanceof MirrorCreated) {
            return 7;
        } else if (record instanceof SourcePinned) {
            return 8;
        } else if (record instanceof MirrorDeleted) {
            return 9;
        } else if (record instanceof TopicAdopted) {
            return 10;
        } else if (record instanceof DesiredSet) {
            return 11;
        } else if (record instanceof MirrorStatePut) {
            return 12;
        } else if (record instanceof ProducerIdsAllocated) {
            return 13;
        } else if (record instanceof ProducerIdsRaised) {
            return 14;
        }
        throw new AssertionError(record);
    }

    private static ClusterRecord read(short type, ByteReader in) {
        return switch (type) {
            case 1 -> new ClusterIdSet(in.string());
            case 2 ->
                new TopicCreated(in.string(), in.uuid(), in.list(in::int32), in.strings(), in.string(), in.uuid());
            case 3 -> new TopicDeleted(in.uuid());
            case 4 -> new TopicGrown(in.uuid(), in.int32(), in.list(in::int32));
            case 5 -> new TopicConfigChanged(in.uuid(), in.strings());
            case 6 -> new LeaderEpochRaised(in.uuid(), in.int32(), in.int32());
            case 7 -> new MirrorCreated(in.string(), in.strings());
            case 8 -> new SourcePinned(in.string(), in.string());
            case 9 -> new MirrorDeleted(in.string());
            case 10 -> new TopicAdopted(in.uuid(), in.string(), in.uuid());
            case 11 -> new DesiredSet(in.string(), in.list(in::string), desired(in.int8()));
            case 12 -> new MirrorStatePut(readPartition(in), readState(in), in.int32());
            case 13 -> new ProducerIdsAllocated(in.int32());
            case 14 -> new ProducerIdsRaised(in.int64());
            default ->
                throw new IllegalStateException(
                        "unknown type of metadata record: " + type + ". A newer program wrote it: start that one.");
        };
    }

    static void write(ByteWriter out, MirrorPartition partition) {
        out.string(partition.mirror()).string(partition.topic());
        out.uuid(partition.topicId()).int32(partition.partition());
    }

    static MirrorPartition readPartition(ByteReader in) {
        return new MirrorPartition(in.string(), in.string(), in.uuid(), in.int32());
    }

    static void write(ByteWriter out, PartitionState state) {
        out.int8(state.phase().value()).int32(state.stateEpoch());
        out.int8(state.previous() == null ? -1 : state.previous().value());
        out.int32(state.retryAttempt()).string(state.errorMessage());
    }

    static PartitionState readState(ByteReader in) {
        Phase phase = Phase.of(in.int8());
        int stateEpoch = in.int32();
        byte previous = in.int8();
        return new PartitionState(
                phase, stateEpoch, previous == -1 ? null : Phase.of(previous), in.int32(), in.string());
    }

    /** -1 for null. */
    static int desiredValue(Desired desired) {
        if (desired == null) {
            return -1;
        }
        return switch (desired) {
            case MIRRORING -> 0;
            case PAUSED -> 1;
            case STOPPED -> 2;
        };
    }

    static Desired desired(byte value) {
        return switch (value) {
            case -1 -> null;
            case 0 -> Desired.MIRRORING;
            case 1 -> Desired.PAUSED;
            case 2 -> Desired.STOPPED;
            default -> throw new IllegalArgumentException("no desired state has the value " + value);
        };
    }
}
