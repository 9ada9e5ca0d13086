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
import io.kagami.protocol.MirrorError;
import java.util.List;
import java.util.Optional;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.protocol.Errors;

/**
 * May this change be made to this state? Asked before a proposal, to answer at once, and again when it is applied, because proposals
 * race; the second answer counts. Pure: equal state and record give an equal answer on every broker.
 */
public final class ClusterRules {
    /** Of one topic; keeps one record and what follows from it bounded. Kafka's controller has the same limit per request. */
    public static final int PARTITIONS_MAX = 10_000;

    /** Above any block a broker asks for, far below what could exhaust the 63 bits. */
    private static final int PRODUCER_IDS_MAX = 1_000_000;

    private ClusterRules() {}

    /** Empty when the change may be made. */
    public static Optional<Refusal> check(ClusterState state, ClusterRecord record) {
        return Optional.ofNullable(refusal(state, record));
    }

    /** The rule of a topic's name alone: legal, new, and not equal to another's but for dots and underscores. */
    public static Optional<Refusal> checkNewName(ClusterImage state, String name) {
        return Optional.ofNullable(newName(state, name));
    }

    private static Refusal refusal(ClusterState state, ClusterRecord record) {
        if (record instanceof ClusterIdSet r) {
            return clusterId(state, r);
        } else if (record instanceof TopicCreated r) {
            return topicCreated(state, r);
        } else if (record instanceof TopicDeleted r) {
            return topicDeleted(state, r);
        } else if (record instanceof TopicGrown r) {
            return topicGrown(state, r);
        } else if (record instanceof TopicConfigChanged r) {
            return state.topic(r.id()).isPresent() ? null : unknownTopic(r.id());
        } else if (record instanceof LeaderEpochRaised r) {
            return leaderEpochRaised(state, r);
        } else if (record instanceof MirrorCreated r) {
            return mirrorCreated(state, r);
        } else if (record instanceof SourcePinned r) {
            return sourcePinned(state, r);
        } else if (record instanceof MirrorDeleted r) {
            return mirrorDeleted(state, r);
        } else if (record instanceof TopicAdopted r) {
            return topicAdopted(state, r);
        } else if (record instanceof DesiredSet r) {
            return desiredSet(state, r);
        } else if (record instanceof MirrorStatePut r) {
            return mirrorStatePut(state, r);
        } else if (record instanceof ProducerIdsAllocated r) {
            return r.count() >= 1 && r.count() <= PRODUCER_IDS_MAX
                    ? null
                    : Refusal.of(
                            Errors.INVALID_REQUEST,
                            "a block holds 1 to " + PRODUCER_IDS_MAX + " producer ids, not " + r.count());
        } else if (record instanceof ProducerIdsRaised r) {
            return r.nextProducerId() >= 0
                    ? null
                    : Refusal.of(Errors.INVALID_REQUEST, "a producer id must not be negative: " + r.nextProducerId());
        }
        throw new AssertionError(record);
    }

    private static Refusal clusterId(ClusterState state, ClusterIdSet record) {
        String known = state.clusterId();
        return known == null || known.equals(record.clusterId())
                ? null
                : Refusal.of(
                        Errors.INCONSISTENT_CLUSTER_ID,
                        "This metadata belongs to the cluster " + known + ", not to " + record.clusterId() + ".");
    }

    private static Refusal newName(ClusterImage state, String name) {
        try {
            Topic.validate(name);
        } catch (InvalidTopicException e) {
            return Refusal.of(Errors.INVALID_TOPIC_EXCEPTION, e.getMessage());
        }
        if (state.topics().containsKey(name)) {
            return Refusal.of(Errors.TOPIC_ALREADY_EXISTS, "Topic '" + name + "' already exists.");
        }
        return state.topicLike(name)
                .map(similar -> Refusal.of(
                        Errors.INVALID_TOPIC_EXCEPTION,
                        "Topic '" + name + "' collides with existing topic: " + similar))
                .orElse(null);
    }

    private static Refusal topicCreated(ClusterState state, TopicCreated record) {
        Refusal name = newName(state, record.name());
        if (name != null) {
            return name;
        }
        Refusal partitions = epochs(record.leaderEpochs(), record.leaderEpochs().size());
        if (partitions != null) {
            return partitions;
        }
        if (record.mirror() != null && !state.mirrors().containsKey(record.mirror())) {
            return unknownMirror(record.mirror());
        }
        if (record.id().equals(Uuid.ZERO_UUID) || state.topic(record.id()).isPresent()) {
            String holder = state.topic(record.id()).map(TopicImage::name).orElse("no topic, it is reserved");
            return Refusal.of(
                    Errors.INCONSISTENT_TOPIC_ID,
                    "Topic '" + record.name() + "' cannot have the id " + record.id() + ": it belongs to " + holder
                            + ".");
        }
        return null;
    }

    private static Refusal epochs(List<Integer> added, int total) {
        if (added.isEmpty()) {
            return Refusal.of(Errors.INVALID_PARTITIONS, "Number of partitions must be larger than 0.");
        }
        if (total > PARTITIONS_MAX) {
            return Refusal.of(
                    Errors.POLICY_VIOLATION,
                    "A topic has at most " + PARTITIONS_MAX + " partitions here, not " + total + ".");
        }
        for (int epoch : added) {
            if (epoch < 0) {
                return Refusal.of(Errors.INVALID_REQUEST, "A leader epoch must not be negative: " + epoch + ".");
            }
        }
        return null;
    }

    private static Refusal topicDeleted(ClusterState state, TopicDeleted record) {
        TopicImage topic = state.topic(record.id()).orElse(null);
        if (topic == null) {
            return unknownTopic(record.id());
        }
        return state.readOnly(topic)
                ? Refusal.of(
                        Errors.INVALID_REQUEST,
                        "Topic '" + topic.name() + "' belongs to the mirror '" + topic.mirror()
                                + "': stop it there before it is deleted.")
                : null;
    }

    private static Refusal topicGrown(ClusterState state, TopicGrown record) {
        TopicImage topic = state.topic(record.id()).orElse(null);
        if (topic == null) {
            return unknownTopic(record.id());
        }
        if (record.firstPartition() != topic.partitions()) {
            return Refusal.of(
                    Errors.INVALID_REQUEST,
                    "Topic '" + topic.name() + "' has " + topic.partitions() + " partitions, not "
                            + record.firstPartition() + " as the request assumed.");
        }
        return epochs(
                record.addedLeaderEpochs(),
                topic.partitions() + record.addedLeaderEpochs().size());
    }

    private static Refusal leaderEpochRaised(ClusterState state, LeaderEpochRaised record) {
        TopicImage topic = state.topic(record.id()).orElse(null);
        if (topic == null) {
            return unknownTopic(record.id());
        }
        if (record.partition() < 0 || record.partition() >= topic.partitions()) {
            return Refusal.of(
                    Errors.UNKNOWN_TOPIC_OR_PARTITION,
                    "Topic '" + topic.name() + "' has no partition " + record.partition() + ".");
        }
        return record.epoch() >= 0
                ? null
                : Refusal.of(Errors.INVALID_REQUEST, "A leader epoch must not be negative: " + record.epoch() + ".");
    }

    private static Refusal mirrorCreated(ClusterState state, MirrorCreated record) {
        try {
            Topic.validate(record.name());
        } catch (InvalidTopicException e) {
            return Refusal.of(
                    MirrorError.INVALID_CLUSTER_MIRROR_NAME,
                    "Mirror names follow the rules of topic names. " + e.getMessage());
        }
        return state.mirrors().containsKey(record.name())
                ? Refusal.of(
                        MirrorError.CLUSTER_MIRROR_ALREADY_EXISTS, "Mirror '" + record.name() + "' already exists.")
                : null;
    }

    private static Refusal sourcePinned(ClusterState state, SourcePinned record) {
        var mirror = state.mirrors().get(record.mirror());
        if (mirror == null) {
            return unknownMirror(record.mirror());
        }
        if (record.sourceClusterId() == null || record.sourceClusterId().isEmpty()) {
            return Refusal.of(
                    Errors.INVALID_REQUEST, "The source of mirror '" + record.mirror() + "' told no cluster id.");
        }
        String pinned = mirror.sourceClusterId();
        return pinned == null || pinned.equals(record.sourceClusterId())
                ? null
                : Refusal.of(
                        Errors.INCONSISTENT_CLUSTER_ID,
                        "Mirror '" + record.mirror() + "' is pinned to the source cluster " + pinned
                                + "; its source is now " + record.sourceClusterId() + ".");
    }

    private static Refusal mirrorDeleted(ClusterState state, MirrorDeleted record) {
        if (!state.mirrors().containsKey(record.name())) {
            return unknownMirror(record.name());
        }
        List<String> active = state.topicsOf(record.name()).stream()
                .filter(state::readOnly)
                .map(TopicImage::name)
                .sorted()
                .toList();
        return active.isEmpty()
                ? null
                : Refusal.of(
                        MirrorError.CLUSTER_MIRROR_NOT_EMPTY,
                        "Mirror '" + record.name() + "' has " + active.size() + " topics that are not stopped, '"
                                + active.get(0) + "' among them: stop them first.");
    }

    private static Refusal topicAdopted(ClusterState state, TopicAdopted record) {
        TopicImage topic = state.topic(record.id()).orElse(null);
        if (topic == null) {
            return unknownTopic(record.id());
        }
        if (!state.mirrors().containsKey(record.mirror())) {
            return unknownMirror(record.mirror());
        }
        boolean here = record.mirror().equals(topic.mirror());
        if (!here && state.readOnly(topic)) {
            return Refusal.of(
                    MirrorError.TOPIC_ALREADY_IN_CLUSTER_MIRROR,
                    "Topic '" + topic.name() + "' belongs to the active mirror '" + topic.mirror() + "'.");
        }
        Uuid source = record.sourceTopicId();
        boolean hadNone = here && topic.sourceTopicId().equals(Uuid.ZERO_UUID);
        boolean same = source.equals(Uuid.ZERO_UUID)
                ? hadNone
                : source.equals(topic.id()) || (here && source.equals(topic.sourceTopicId())) || hadNone;
        return same
                ? null
                : Refusal.of(
                        Errors.INCONSISTENT_TOPIC_ID,
                        "Topic '" + topic.name() + "' has the id " + topic.id() + " here and "
                                + (source.equals(Uuid.ZERO_UUID) ? "none" : source)
                                + " at the source: these are not known to be the same topic.");
    }

    private static Refusal desiredSet(ClusterState state, DesiredSet record) {
        if (!state.mirrors().containsKey(record.mirror())) {
            return unknownMirror(record.mirror());
        }
        for (String name : record.topics()) {
            TopicImage topic = state.topics().get(name);
            if (topic == null || !record.mirror().equals(topic.mirror())) {
                return Refusal.of(
                        MirrorError.TOPIC_NOT_IN_CLUSTER_MIRROR,
                        "Topic '" + name + "' does not belong to the mirror '" + record.mirror() + "'.");
            }
            if (topic.desired() == Desired.STOPPED && record.desired() != Desired.STOPPED) {
                return Refusal.of(
                        MirrorError.INVALID_CLUSTER_MIRROR_STATE,
                        "Topic '" + name + "' is stopped in the mirror '" + record.mirror() + "': start it again.");
            }
        }
        return null;
    }

    private static Refusal mirrorStatePut(ClusterState state, MirrorStatePut record) {
        MirrorPartition partition = record.partition();
        if (!state.mirrors().containsKey(partition.mirror())) {
            return unknownMirror(partition.mirror());
        }
        TopicImage topic = state.topic(partition.topicId()).orElse(null);
        if (topic == null || !topic.name().equals(partition.topic())) {
            return unknownTopic(partition.topicId());
        }
        if (!partition.mirror().equals(topic.mirror())) {
            return Refusal.of(
                    MirrorError.TOPIC_NOT_IN_CLUSTER_MIRROR,
                    "Topic '" + topic.name() + "' does not belong to the mirror '" + partition.mirror() + "'.");
        }
        if (partition.partition() < 0 || partition.partition() >= topic.partitions()) {
            return Refusal.of(
                    Errors.UNKNOWN_TOPIC_OR_PARTITION,
                    "Topic '" + topic.name() + "' has no partition " + partition.partition() + ".");
        }
        PartitionState stored = state.mirrorStates().get(partition);
        int epoch = stored == null ? 0 : stored.stateEpoch();
        return epoch == record.expectedStateEpoch()
                ? null
                : Refusal.of(
                        Errors.FENCED_STATE_EPOCH,
                        "The state of " + partition + " in mirror '" + partition.mirror() + "' has epoch " + epoch
                                + ", not " + record.expectedStateEpoch() + ": another change came first.");
    }

    /** Whether a mirror still owns the topic: wanted, or not yet stopped in every partition. */
    static boolean readOnly(ClusterState state, TopicImage topic) {
        if (topic.mirror() == null) {
            return false;
        }
        if (topic.mirrored()) {
            return true;
        }
        for (int p = 0; p < topic.partitions(); p++) {
            PartitionState partition =
                    state.mirrorStates().get(new MirrorPartition(topic.mirror(), topic.name(), topic.id(), p));
            if (partition != null && partition.phase() != Phase.STOPPED) {
                return true;
            }
        }
        return false;
    }

    private static Refusal unknownTopic(Uuid id) {
        return Refusal.of(Errors.UNKNOWN_TOPIC_ID, "There is no topic with the id " + id + ".");
    }

    private static Refusal unknownMirror(String name) {
        return Refusal.of(MirrorError.UNKNOWN_CLUSTER_MIRROR, "There is no mirror '" + name + "'.");
    }
}
