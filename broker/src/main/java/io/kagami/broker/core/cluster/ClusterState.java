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
import io.kagami.mirror.MirrorSpec;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.ports.MirrorPartition;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;

/**
 * The image as a value: {@link #apply} gives the next one and shares nearly everything with it, so that old images cost little and any
 * thread may keep one.
 */
public final class ClusterState implements ClusterImage {
    public static final ClusterState EMPTY = new ClusterState(
            0, null, ChunkedMap.empty(), ChunkedMap.empty(), ChunkedMap.empty(), Map.of(), ChunkedMap.empty(), 0);

    private final long index;
    private final String clusterId;
    private final ChunkedMap<String, TopicImage> topics;
    private final ChunkedMap<Uuid, String> names;
    /** Topic name by itself with dots as underscores; at most one topic may have each. */
    private final ChunkedMap<String, String> namesByLikeness;

    private final Map<String, MirrorSpec> mirrors;
    private final ChunkedMap<MirrorPartition, PartitionState> mirrorStates;
    private final long nextProducerId;

    private ClusterState(
            long index,
            String clusterId,
            ChunkedMap<String, TopicImage> topics,
            ChunkedMap<Uuid, String> names,
            ChunkedMap<String, String> namesByLikeness,
            Map<String, MirrorSpec> mirrors,
            ChunkedMap<MirrorPartition, PartitionState> mirrorStates,
            long nextProducerId) {
        this.index = index;
        this.clusterId = clusterId;
        this.topics = topics;
        this.names = names;
        this.namesByLikeness = namesByLikeness;
        this.mirrors = mirrors;
        this.mirrorStates = mirrorStates;
        this.nextProducerId = nextProducerId;
    }

    /** What applying a record gave: the next state, and why it equals the last one but for its index when the rules refused. */
    public record Applied(ClusterState state, Optional<Refusal> refusal) {}

    @Override
    public long index() {
        return index;
    }

    /** Null before the first start has named the cluster. */
    @Override
    public String clusterId() {
        return clusterId;
    }

    @Override
    public Map<String, TopicImage> topics() {
        return topics;
    }

    @Override
    public Optional<TopicImage> topic(Uuid id) {
        return Optional.ofNullable(names.get(id)).map(topics::get);
    }

    @Override
    public Map<String, MirrorSpec> mirrors() {
        return mirrors;
    }

    @Override
    public Map<MirrorPartition, PartitionState> mirrorStates() {
        return mirrorStates;
    }

    @Override
    public long nextProducerId() {
        return nextProducerId;
    }

    List<TopicImage> topicsOf(String mirror) {
        return topics.values().stream().filter(t -> mirror.equals(t.mirror())).toList();
    }

    @Override
    public Optional<String> topicLike(String name) {
        return Optional.ofNullable(namesByLikeness.get(likeness(name)));
    }

    boolean readOnly(TopicImage topic) {
        return ClusterRules.readOnly(this, topic);
    }

    /** Judges and applies one committed record. */
    public Applied apply(long atIndex, ClusterRecord record) {
        Optional<Refusal> refusal = ClusterRules.check(this, record);
        Change change = new Change(this, atIndex);
        if (refusal.isEmpty()) {
            change.make(record);
        }
        return new Applied(change.result(), refusal);
    }

    /** A state from its parts, as a snapshot has them. */
    static ClusterState of(
            long index,
            String clusterId,
            List<TopicImage> topics,
            List<MirrorSpec> mirrors,
            Map<MirrorPartition, PartitionState> states,
            long nextProducerId) {
        Change change = new Change(EMPTY, index);
        change.clusterId = clusterId;
        change.nextProducerId = nextProducerId;
        topics.forEach(change::put);
        mirrors.forEach(change::put);
        states.forEach((partition, state) -> change.mirrorStates = change.mirrorStates.with(partition, state));
        return change.result();
    }

    private static String likeness(String name) {
        return name.replace('.', '_');
    }

    /** One change in the making; never seen outside. */
    private static final class Change {
        private final long index;
        private String clusterId;
        private ChunkedMap<String, TopicImage> topics;
        private ChunkedMap<Uuid, String> names;
        private ChunkedMap<String, String> namesByLikeness;
        private Map<String, MirrorSpec> mirrors;
        private ChunkedMap<MirrorPartition, PartitionState> mirrorStates;
        private long nextProducerId;

        Change(ClusterState from, long index) {
            this.index = index;
            this.clusterId = from.clusterId;
            this.topics = from.topics;
            this.names = from.names;
            this.namesByLikeness = from.namesByLikeness;
            this.mirrors = from.mirrors;
            this.mirrorStates = from.mirrorStates;
            this.nextProducerId = from.nextProducerId;
        }

        ClusterState result() {
            return new ClusterState(
                    index, clusterId, topics, names, namesByLikeness, mirrors, mirrorStates, nextProducerId);
        }

        void make(ClusterRecord record) {
            if (record instanceof ClusterIdSet r) {
                clusterId = r.clusterId();
            } else if (record instanceof TopicCreated r) {
                put(new TopicImage(
                        r.name(),
                        r.id(),
                        index,
                        List.copyOf(r.leaderEpochs()),
                        Map.copyOf(r.configs()),
                        r.mirror(),
                        r.mirror() == null ? null : Desired.MIRRORING,
                        r.mirror() == null ? Uuid.ZERO_UUID : r.sourceTopicId()));
            } else if (record instanceof TopicDeleted r) {
                delete(topic(r.id()));
            } else if (record instanceof TopicGrown r) {
                List<Integer> epochs = new ArrayList<>(topic(r.id()).leaderEpochs());
                epochs.addAll(r.addedLeaderEpochs());
                put(withEpochs(topic(r.id()), epochs));
            } else if (record instanceof TopicConfigChanged r) {
                put(withConfigs(topic(r.id()), r.changes()));
            } else if (record instanceof LeaderEpochRaised r) {
                raise(topic(r.id()), r);
            } else if (record instanceof MirrorCreated r) {
                put(new MirrorSpec(r.name(), null, Map.copyOf(r.configs())));
            } else if (record instanceof SourcePinned r) {
                put(new MirrorSpec(
                        r.mirror(), r.sourceClusterId(), mirrors.get(r.mirror()).configs()));
            } else if (record instanceof MirrorDeleted r) {
                deleteMirror(r.name());
            } else if (record instanceof TopicAdopted r) {
                adopt(topic(r.id()), r);
            } else if (record instanceof DesiredSet r) {
                r.topics().forEach(name -> {
                    TopicImage topic = topics.get(name);
                    put(withMirror(topic, topic.mirror(), r.desired(), topic.sourceTopicId()));
                });
            } else if (record instanceof MirrorStatePut r) {
                PartitionState next = r.next();
                mirrorStates = mirrorStates.with(
                        r.partition(),
                        new PartitionState(
                                next.phase(),
                                r.expectedStateEpoch() + 1,
                                next.previous(),
                                next.retryAttempt(),
                                next.errorMessage()));
            } else if (record instanceof ProducerIdsAllocated r) {
                nextProducerId += r.count();
            } else if (record instanceof ProducerIdsRaised r) {
                nextProducerId = Math.max(nextProducerId, r.nextProducerId());
            } else {
                throw new AssertionError(record);
            }
        }

        private TopicImage topic(Uuid id) {
            return topics.get(names.get(id));
        }

        private void put(TopicImage topic) {
            if (!topics.containsKey(topic.name())) {
                names = names.with(topic.id(), topic.name());
                namesByLikeness = namesByLikeness.with(likeness(topic.name()), topic.name());
            }
            topics = topics.with(topic.name(), topic);
        }

        private void put(MirrorSpec mirror) {
            Map<String, MirrorSpec> changed = new HashMap<>(mirrors);
            changed.put(mirror.name(), mirror);
            mirrors = Map.copyOf(changed);
        }

        private void delete(TopicImage topic) {
            topics = topics.without(topic.name());
            names = names.without(topic.id());
            namesByLikeness = namesByLikeness.without(likeness(topic.name()));
            if (topic.mirror() != null) {
                forgetStates(topic.mirror(), topic);
            }
        }

        private void raise(TopicImage topic, LeaderEpochRaised record) {
            if (record.epoch() > topic.leaderEpochs().get(record.partition())) {
                List<Integer> epochs = new ArrayList<>(topic.leaderEpochs());
                epochs.set(record.partition(), record.epoch());
                put(withEpochs(topic, epochs));
            }
        }

        private void adopt(TopicImage topic, TopicAdopted record) {
            if (topic.mirror() != null && !topic.mirror().equals(record.mirror())) {
                forgetStates(topic.mirror(), topic);
            }
            put(withMirror(topic, record.mirror(), Desired.MIRRORING, record.sourceTopicId()));
        }

        private void deleteMirror(String name) {
            for (TopicImage topic : topics.values()) {
                if (name.equals(topic.mirror())) {
                    forgetStates(name, topic);
                    put(withMirror(topic, null, null, Uuid.ZERO_UUID));
                }
            }
            Map<String, MirrorSpec> changed = new HashMap<>(mirrors);
            changed.remove(name);
            mirrors = Map.copyOf(changed);
        }

        private void forgetStates(String mirror, TopicImage topic) {
            for (int p = 0; p < topic.partitions(); p++) {
                mirrorStates = mirrorStates.without(new MirrorPartition(mirror, topic.name(), topic.id(), p));
            }
        }

        private static TopicImage withEpochs(TopicImage topic, List<Integer> epochs) {
            return new TopicImage(
                    topic.name(),
                    topic.id(),
                    topic.incarnation(),
                    List.copyOf(epochs),
                    topic.configs(),
                    topic.mirror(),
                    topic.desired(),
                    topic.sourceTopicId());
        }

        private static TopicImage withConfigs(TopicImage topic, Map<String, String> changes) {
            Map<String, String> configs = new HashMap<>(topic.configs());
            changes.forEach((key, value) -> {
                if (value == null) {
                    configs.remove(key);
                } else {
                    configs.put(key, value);
                }
            });
            return new TopicImage(
                    topic.name(),
                    topic.id(),
                    topic.incarnation(),
                    topic.leaderEpochs(),
                    Map.copyOf(configs),
                    topic.mirror(),
                    topic.desired(),
                    topic.sourceTopicId());
        }

        private static TopicImage withMirror(TopicImage topic, String mirror, Desired desired, Uuid sourceTopicId) {
            return new TopicImage(
                    topic.name(),
                    topic.id(),
                    topic.incarnation(),
                    topic.leaderEpochs(),
                    topic.configs(),
                    mirror,
                    desired,
                    sourceTopicId);
        }
    }
}
