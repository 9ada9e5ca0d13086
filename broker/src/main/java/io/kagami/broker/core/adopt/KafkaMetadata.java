package io.kagami.broker.core.adopt;

import io.kagami.broker.core.adopt.KafkaRecord.ConfigSet;
import io.kagami.broker.core.adopt.KafkaRecord.EligibleCleared;
import io.kagami.broker.core.adopt.KafkaRecord.Foreign;
import io.kagami.broker.core.adopt.KafkaRecord.PartitionChanged;
import io.kagami.broker.core.adopt.KafkaRecord.PartitionMade;
import io.kagami.broker.core.adopt.KafkaRecord.ProducerIdsTaken;
import io.kagami.broker.core.adopt.KafkaRecord.TopicMade;
import io.kagami.broker.core.adopt.KafkaRecord.TopicRemoved;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionAborted;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionBegun;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionEnded;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;

/** Replays the records of Apache Kafka's metadata log, a snapshot's first, and ends up with its topics. */
public final class KafkaMetadata {
    /** Kinds of records whose loss an operator wants to know of. */
    private static final Map<Integer, String> TOLD = Map.of(
            10, "delegation tokens",
            11, "SCRAM credentials",
            14, "client quotas",
            18, "ACLs");

    private record Partition(
            int leaderEpoch,
            int leader,
            List<Integer> replicas,
            List<Integer> isr,
            List<Integer> eligible,
            List<Integer> lastKnown) {
        /** Brokers whose copy has every committed record; the last leader's when nobody else is left. */
        SourceCatalog.Partition told() {
            Set<Integer> complete = new TreeSet<>(isr);
            complete.addAll(eligible);
            return new SourceCatalog.Partition(
                    leaderEpoch, leader, replicas, complete.isEmpty() ? lastKnown : List.copyOf(complete));
        }
    }

    private final Map<Uuid, String> names = new HashMap<>();
    private final Map<Uuid, TreeMap<Integer, Partition>> partitions = new HashMap<>();
    private final Map<String, TreeMap<String, String>> configs = new HashMap<>();
    /** By node id as text; empty text for the defaults of all. */
    private final Map<String, TreeMap<String, String>> brokerConfigs = new HashMap<>();

    private final Set<Uuid> removed = new HashSet<>();
    private final TreeSet<String> told = new TreeSet<>();
    private long nextProducerId;
    /** Null outside a transaction of metadata. */
    private List<KafkaRecord> pending;

    /** @throws IllegalArgumentException when the record contradicts those before it */
    public void replay(KafkaRecord record) {
        if (record instanceof TransactionBegun) {
            pending = new ArrayList<>();
        } else if (record instanceof TransactionAborted) {
            pending = null;
        } else if (record instanceof TransactionEnded) {
            List<KafkaRecord> all = pending == null ? List.of() : pending;
            pending = null;
            all.forEach(this::apply);
        } else if (pending != null) {
            pending.add(record);
        } else {
            apply(record);
        }
    }

    private void apply(KafkaRecord record) {
        if (record instanceof TopicMade r) {
            names.put(r.id(), r.name());
            partitions.put(r.id(), new TreeMap<>());
        } else if (record instanceof TopicRemoved r) {
            removed.add(r.id());
            partitions.remove(r.id());
            configs.remove(names.remove(r.id()));
        } else if (record instanceof PartitionMade r) {
            of(r.topicId())
                    .put(
                            r.partition(),
                            new Partition(
                                    r.leaderEpoch(), r.leader(), r.replicas(), r.isr(), r.eligible(), r.lastKnown()));
        } else if (record instanceof PartitionChanged r) {
            change(r);
        } else if (record instanceof ConfigSet r) {
            configure(r);
        } else if (record instanceof EligibleCleared r) {
            forgetEligible(r.topic());
        } else if (record instanceof ProducerIdsTaken r) {
            nextProducerId = Math.max(nextProducerId, r.nextProducerId());
        } else if (record instanceof Foreign r && TOLD.containsKey(r.type())) {
            told.add(TOLD.get(r.type()));
        }
    }

    private Map<Integer, Partition> of(Uuid topic) {
        Map<Integer, Partition> known = partitions.get(topic);
        if (known == null) {
            throw new IllegalArgumentException("the metadata names a partition of the unknown topic id " + topic);
        }
        return known;
    }

    private void change(PartitionChanged change) {
        Partition old = of(change.topicId()).get(change.partition());
        if (old == null) {
            throw new IllegalArgumentException("the metadata changes the unknown partition " + change.partition()
                    + " of topic id " + change.topicId());
        }
        boolean sameLeader = change.leader() == KafkaRecord.SAME_LEADER;
        of(change.topicId())
                .put(
                        change.partition(),
                        new Partition(
                                sameLeader ? old.leaderEpoch() : old.leaderEpoch() + 1,
                                sameLeader ? old.leader() : change.leader(),
                                or(change.replicas(), old.replicas()),
                                or(change.isr(), old.isr()),
                                or(change.eligible(), old.eligible()),
                                or(change.lastKnown(), old.lastKnown())));
    }

    private static List<Integer> or(List<Integer> changed, List<Integer> old) {
        return changed == null ? old : changed;
    }

    private void forgetEligible(String topic) {
        names.forEach((id, name) -> {
            if (topic.isEmpty() || topic.equals(name)) {
                partitions
                        .get(id)
                        .replaceAll((number, p) -> new Partition(
                                p.leaderEpoch(), p.leader(), p.replicas(), p.isr(), List.of(), List.of()));
            }
        });
    }

    private void configure(ConfigSet record) {
        TreeMap<String, String> target;
        if (record.resourceType() == KafkaRecord.TOPIC_RESOURCE) {
            target = configs.computeIfAbsent(record.resourceName(), name -> new TreeMap<>());
        } else if (record.resourceType() == KafkaRecord.BROKER_RESOURCE) {
            target = brokerConfigs.computeIfAbsent(record.resourceName(), node -> new TreeMap<>());
        } else {
            return;
        }
        if (record.value() == null) {
            target.remove(record.key());
        } else {
            target.put(record.key(), record.value());
        }
    }

    /**
     * What the records so far say; an unfinished transaction does not count.
     *
     * @param node the broker whose own configs are meant
     */
    public SourceCatalog catalog(String clusterId, int node) {
        Map<String, SourceCatalog.Topic> topics = new TreeMap<>();
        names.forEach((id, name) -> {
            TreeMap<Integer, Partition> of = partitions.get(id);
            if (!of.isEmpty() && of.lastKey() != of.size() - 1) {
                throw new IllegalArgumentException(
                        "the metadata has " + of.size() + " partitions of " + name + ", up to number " + of.lastKey());
            }
            topics.put(
                    name,
                    new SourceCatalog.Topic(
                            name,
                            id,
                            of.values().stream().map(Partition::told).toList(),
                            Map.copyOf(configs.getOrDefault(name, new TreeMap<>())),
                            null));
        });
        List<String> notes = new ArrayList<>();
        told.forEach(what -> notes.add("Its metadata has records of " + what + "; they are not taken over."));
        Map<String, String> ofBroker = new TreeMap<>(brokerConfigs.getOrDefault("", new TreeMap<>()));
        ofBroker.putAll(brokerConfigs.getOrDefault(Integer.toString(node), new TreeMap<>()));
        if (!ofBroker.isEmpty()) {
            // values may be secrets
            notes.add("Its metadata sets configs of the broker: " + String.join(", ", ofBroker.keySet())
                    + ". Those that are defaults of topics are kept, others are not taken over.");
        }
        return new SourceCatalog(clusterId, topics, Set.copyOf(removed), nextProducerId, ofBroker, notes);
    }
}
