package io.kagami.broker.core.adopt;

import io.kagami.broker.core.cluster.ClusterRecord;
import io.kagami.broker.core.cluster.ClusterRecord.ProducerIdsRaised;
import io.kagami.broker.core.cluster.ClusterRecord.TopicCreated;
import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.broker.core.cluster.TopicImage;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;

/**
 * What will be taken over, what not, and why. A topic is adopted as a whole or not at all: one without some of its partitions would
 * begin at offset 0 there, and consumers would take that for their data.
 *
 * @param rows one for each topic of the source, then one for each directory that belongs to none
 * @param logs the directories to take over
 * @param records the changes of the metadata, in order
 * @param notes sentences that the operator should read
 */
public record AdoptionPlan(List<Row> rows, List<Journal.Log> logs, List<ClusterRecord> records, List<String> notes) {
    /** What becomes of a topic or a directory. */
    public enum Verdict {
        ADOPT,
        /** The same topic is here already. */
        HERE,
        REFUSE,
        /** A directory of no topic; it is not touched. */
        LEAVE
    }

    /** @param why empty when there is nothing to say */
    public record Row(String name, int partitions, long bytes, Verdict verdict, String why) {}

    /** The target, as far as the plan depends on it. */
    public interface Target {
        ClusterState state();

        /** What is wrong with topic configs, as a sentence. */
        Optional<String> problem(Map<String, String> configs);

        /** Whether the target has a directory of that name which is not the given one. */
        boolean occupied(String directory, String sourcePath);
    }

    public boolean empty() {
        return logs.isEmpty() && records.isEmpty();
    }

    /** @param inherited configs that topics without their own had from their broker and would not have here */
    public static AdoptionPlan make(
            SourceCatalog catalog, List<SourceLog> logs, Map<String, String> inherited, Target target) {
        return new Making(catalog, logs, inherited, target).plan();
    }

    /** Why a topic is refused. */
    private static final class Refused extends Exception {
        private static final long serialVersionUID = 1;

        Refused(String why) {
            super(why);
        }
    }

    /** One plan in the making. */
    private static final class Making {
        private record Key(String topic, int partition) {}

        private final SourceCatalog catalog;
        private final Map<String, String> inherited;
        private final Target target;
        private final Map<Key, List<SourceLog>> found = new HashMap<>();
        private final List<SourceLog> all;
        private final Set<String> used = new HashSet<>();
        private final List<Row> rows = new ArrayList<>();
        private final List<Journal.Log> moves = new ArrayList<>();
        private final List<ClusterRecord> records = new ArrayList<>();
        private final List<String> notes;
        /** The target's state with what is planned so far, so that adopted topics cannot contradict each other. */
        private ClusterState state;

        private long nextProducerId;

        Making(SourceCatalog catalog, List<SourceLog> logs, Map<String, String> inherited, Target target) {
            this.catalog = catalog;
            this.inherited = inherited;
            this.target = target;
            this.all = logs;
            this.notes = new ArrayList<>(catalog.notes());
            this.state = target.state();
            this.nextProducerId = catalog.nextProducerId();
            for (SourceLog log : logs) {
                if (log.topic() != null) {
                    found.computeIfAbsent(new Key(log.topic(), log.partition()), key -> new ArrayList<>())
                            .add(log);
                }
            }
        }

        AdoptionPlan plan() {
            for (SourceCatalog.Topic topic : new TreeMap<>(catalog.topics()).values()) {
                int count = topic.partitions().size();
                List<SourceLog> chosen = List.of();
                try {
                    TopicImage here = state.topics().get(topic.name());
                    if (here != null && here.id().equals(topic.id())) {
                        markUsed(topic);
                        rows.add(new Row(topic.name(), count, 0, Verdict.HERE, "it is here already"));
                        continue;
                    }
                    chosen = choose(topic);
                    adopt(topic, chosen);
                } catch (Refused e) {
                    rows.add(new Row(topic.name(), count, bytes(chosen), Verdict.REFUSE, e.getMessage()));
                    markUsed(topic);
                }
            }
            for (SourceLog log : all) {
                if (!used.contains(log.path())) {
                    rows.add(new Row(fileName(log.path()), 1, log.bytes(), Verdict.LEAVE, whyLeft(log)));
                }
            }
            if (!moves.isEmpty() && nextProducerId > state.nextProducerId()) {
                records.add(new ProducerIdsRaised(nextProducerId));
            }
            return new AdoptionPlan(List.copyOf(rows), List.copyOf(moves), List.copyOf(records), List.copyOf(notes));
        }

        /** All directories of this topic, by name and id, have a row. */
        private void markUsed(SourceCatalog.Topic topic) {
            for (int i = 0; i < topic.partitions().size(); i++) {
                candidates(topic, i).forEach(log -> used.add(log.path()));
            }
        }

        private List<SourceLog> candidates(SourceCatalog.Topic topic, int partition) {
            return found.getOrDefault(new Key(topic.name(), partition), List.of()).stream()
                    .filter(log ->
                            log.topicId().equals(topic.id()) || log.topicId().equals(Uuid.ZERO_UUID))
                    .toList();
        }

        /** One directory for each partition. */
        private List<SourceLog> choose(SourceCatalog.Topic topic) throws Refused {
            if (topic.partitions().isEmpty()) {
                throw new Refused("the metadata has no partitions of it");
            }
            List<SourceLog> chosen = new ArrayList<>();
            for (int i = 0; i < topic.partitions().size(); i++) {
                chosen.add(choose(topic, i));
            }
            return chosen;
        }

        private SourceLog choose(SourceCatalog.Topic topic, int number) throws Refused {
            SourceCatalog.Partition partition = topic.partitions().get(number);
            List<SourceLog> candidates = candidates(topic, number);
            if (candidates.isEmpty()) {
                throw new Refused(
                        "partition " + number + " is not in the directories given; its replicas are on broker "
                                + list(partition.replicas()) + ": name the directories of one of them too");
            }
            List<SourceLog> inSync = candidates.stream()
                    .filter(log -> partition.complete().contains(log.node()))
                    .toList();
            if (inSync.isEmpty()) {
                throw new Refused("partition " + number + " of broker "
                        + candidates.get(0).node() + " was not in sync; broker " + list(partition.complete())
                        + " has all of it: name the directories of that one");
            }
            SourceLog best = inSync.stream()
                    .filter(log -> log.node() == partition.leader())
                    .findFirst()
                    .orElse(inSync.get(0));
            if (inSync.stream().filter(log -> log.node() == best.node()).count() > 1) {
                throw new Refused("broker " + best.node() + " has partition " + number
                        + " in two directories: start that broker once, it settles which one counts, and stop it");
            }
            if (best.problem() != null) {
                throw new Refused("partition " + number + " " + best.problem());
            }
            if (best.topicId().equals(Uuid.ZERO_UUID)) {
                throw new Refused("the directory " + best.path() + " does not say which topic id it belongs to");
            }
            return best;
        }

        private void adopt(SourceCatalog.Topic topic, List<SourceLog> chosen) throws Refused {
            List<String> dropped = new ArrayList<>();
            TopicCreated record = new TopicCreated(
                    topic.name(), topic.id(), epochs(topic, chosen), configs(topic, dropped), null, Uuid.ZERO_UUID);
            TopicImage here = state.topics().get(topic.name());
            if (here != null) {
                throw new Refused("another topic of that name is here, with id " + here.id()
                        + ": delete that one, or adopt into an empty Kagami");
            }
            for (SourceLog log : chosen) {
                String name = topic.name() + "-" + log.partition();
                if (target.occupied(name, log.path())) {
                    throw new Refused("a directory " + name + " is in the way in the data directory");
                }
            }
            ClusterState.Applied applied = state.apply(state.index() + 1, record);
            if (applied.refusal().isPresent()) {
                throw new Refused(applied.refusal().get().message());
            }
            state = applied.state();
            records.add(record);
            for (SourceLog log : chosen) {
                moves.add(new Journal.Log(
                        topic.name(), log.partition(), topic.id(), log.recoveryPoint(), log.startOffset(), log.path()));
                nextProducerId = Math.max(nextProducerId, log.maxProducerId() + 1);
            }
            markUsed(topic);
            if (topic.mirror() != null) {
                notes.add("Topic " + topic.name() + " was in the mirror " + topic.mirror()
                        + " and becomes an ordinary topic that clients may write to; mirrors are not adopted. Create the mirror"
                        + " again and start the topic in it before clients come, and it goes on where it ended.");
            }
            chosen.forEach(log -> log.open().forEach(open -> tell(log, open)));
            rows.add(new Row(topic.name(), chosen.size(), bytes(chosen), Verdict.ADOPT, String.join("; ", dropped)));
        }

        private void tell(SourceLog log, OpenTransaction open) {
            notes.add("In " + log.topic() + "-" + log.partition() + " a transaction of producer id " + open.producerId()
                    + " is open from offset " + open.firstOffset() + " on, "
                    + (open.sinceMs() < 0 ? "nobody knows since when" : "since " + Instant.ofEpochMilli(open.sinceMs()))
                    + ": consumers with isolation.level=read_committed see nothing from that offset on, and no coordinator ends it"
                    + " here. End it where it was begun before the adoption: start that broker, wait for transaction.max.timeout.ms,"
                    + " stop it.");
        }

        /** A new leader begins a new epoch: what it appends can always be told from what its predecessor had. */
        private static List<Integer> epochs(SourceCatalog.Topic topic, List<SourceLog> chosen) {
            List<Integer> epochs = new ArrayList<>();
            for (SourceLog log : chosen) {
                int given = topic.partitions().get(log.partition()).leaderEpoch();
                epochs.add(Math.max(given, log.lastEpoch()) + 1);
            }
            return epochs;
        }

        private Map<String, String> configs(SourceCatalog.Topic topic, List<String> dropped) throws Refused {
            if ("true".equals(topic.configs().get("remote.storage.enable"))) {
                throw new Refused(
                        "a part of it may be in tiered storage (remote.storage.enable=true), which is not read here");
            }
            Map<String, String> all = new TreeMap<>(inherited);
            all.putAll(topic.configs());
            Map<String, String> kept = new HashMap<>();
            for (Map.Entry<String, String> entry : all.entrySet()) {
                Optional<String> problem = target.problem(Map.of(entry.getKey(), entry.getValue()));
                if (problem.isEmpty()) {
                    kept.put(entry.getKey(), entry.getValue());
                } else {
                    dropped.add("without " + entry.getKey() + "=" + entry.getValue() + " (" + problem.get() + ")");
                }
            }
            Optional<String> together = target.problem(kept);
            if (together.isPresent()) {
                throw new Refused("its configs contradict each other: " + together.get());
            }
            return kept;
        }

        private String whyLeft(SourceLog log) {
            if (log.topic() == null) {
                return log.problem();
            }
            SourceCatalog.Topic topic = catalog.topics().get(log.topic());
            if (catalog.stray(log)) {
                return (topic == null
                                ? "stray: the metadata knows no such topic"
                                : "stray: the topic of that name has another id in the metadata")
                        + ", and no record of it says that the one with id " + log.topicId() + " was deleted";
            }
            if (topic == null) {
                return "its topic was deleted";
            }
            return topic.id().equals(log.topicId())
                    ? "the metadata has no such partition of the topic"
                    : "it belongs to an earlier topic of that name, with id " + log.topicId() + ", which was deleted";
        }

        private static long bytes(List<SourceLog> logs) {
            return logs.stream().mapToLong(SourceLog::bytes).sum();
        }

        private static String list(List<Integer> nodes) {
            return nodes.isEmpty()
                    ? "none"
                    : String.join(" or ", nodes.stream().map(String::valueOf).toList());
        }

        private static String fileName(String path) {
            return path.substring(path.lastIndexOf('/') + 1);
        }
    }
}
