package io.kagami.mirror;

import io.kagami.mirror.Questions.Question;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.EpochFence;
import io.kagami.mirror.core.TopicSelector;
import io.kagami.mirror.ports.LocalCluster.LocalTopic;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.mirror.ports.LocalPartitions.EpochEnd;
import io.kagami.mirror.ports.LocalPartitions.Position;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.protocol.MirrorError;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;

/** Resolves what a start means and makes the topics: created like the source's, or an existing one taken over again. Loop only. */
final class TopicStarter {
    /** As many as share the costs of a change of metadata and of new directories well. */
    private static final int TOPICS_AT_ONCE = 128;
    /** Of many topics, the first few begin to be copied while the others are made. */
    private static final int TOPICS_FIRST = 16;

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final Questions questions;
    private final TopicOverrides overrides;

    TopicStarter(MirrorContext mirror, SourceCluster source, Questions questions) {
        this.mirror = mirror;
        this.source = source;
        this.questions = questions;
        this.overrides = new TopicOverrides(mirror, source);
    }

    /** Sentences on topic overrides that were not taken over, newest last, bounded. */
    List<String> notes() {
        return overrides.notes();
    }

    /** The start command. */
    void start(List<String> words, List<String> exclude, Consumer<List<TopicResult>> done, Consumer<Throwable> failed) {
        source.metadata(
                null,
                answer -> {
                    List<TopicResult> refused = new ArrayList<>();
                    List<String> names;
                    try {
                        names = resolve(words, exclude, answer, refused);
                    } catch (Refused e) {
                        failed.accept(e);
                        return;
                    }
                    startAll(names, answer, results -> {
                        List<TopicResult> all = new ArrayList<>(results);
                        all.addAll(refused);
                        done.accept(all);
                    });
                },
                failed);
    }

    private List<String> resolve(
            List<String> words, List<String> exclude, ClusterMetadata answer, List<TopicResult> refused) {
        Map<String, Boolean> names = new LinkedHashMap<>();
        TopicSelector taken = selector(List.of(), exclude);
        for (String word : words) {
            boolean name = !word.equals(TopicSelector.ALL)
                    && (answer.topics().containsKey(word) || TopicSelector.plainName(word));
            if (name) {
                startByName(word, taken, answer, names, refused);
                continue;
            }
            TopicSelector pattern = selector(List.of(word), exclude);
            boolean any = false;
            for (ClusterMetadata.Topic topic : answer.topics().values()) {
                if (topic.errorCode() == 0 && pattern.matches(topic.name()) && byPattern(topic.name())) {
                    names.put(topic.name(), true);
                    any = true;
                }
            }
            if (!any && !word.equals(TopicSelector.ALL)) {
                refused.add(result(
                        word,
                        Errors.UNKNOWN_TOPIC_OR_PARTITION.code(),
                        "no topic at the source matches, or only excluded and stopped ones do"));
            }
        }
        return List.copyOf(names.keySet());
    }

    private void startByName(
            String name,
            TopicSelector taken,
            ClusterMetadata answer,
            Map<String, Boolean> names,
            List<TopicResult> refused) {
        String rule = mirror.config().exclude().excludedBy(name);
        ClusterMetadata.Topic topic = answer.topics().get(name);
        if (rule != null) {
            refused.add(result(
                    name,
                    Errors.INVALID_REQUEST.code(),
                    "topics.exclude of the mirror has \"" + rule + "\", which matches"));
        } else if (topic == null || topic.errorCode() != 0) {
            Errors error = topic == null ? Errors.UNKNOWN_TOPIC_OR_PARTITION : Errors.forCode(topic.errorCode());
            refused.add(result(name, error.code(), "at the source: " + error.message()));
        } else if (taken.excludedBy(name) == null) {
            names.put(name, true);
        }
    }

    /** Patterns pass over what is excluded and what was stopped by hand in this mirror. */
    private boolean byPattern(String topic) {
        if (mirror.config().exclude().excludedBy(topic) != null) {
            return false;
        }
        Optional<LocalTopic> local = mirror.cluster().topic(topic);
        return local.isEmpty()
                || !mirror.name().equals(local.get().mirror())
                || local.get().desired() != Desired.STOPPED;
    }

    private static TopicSelector selector(List<String> include, List<String> exclude) {
        try {
            return TopicSelector.of(include, exclude);
        } catch (IllegalArgumentException e) {
            throw new Refused(Errors.INVALID_REQUEST.code(), e.getMessage());
        }
    }

    /** Starts the topics, a few at a time; {@code done} gets one result each. */
    void startAll(List<String> names, ClusterMetadata answer, Consumer<List<TopicResult>> done) {
        if (names.isEmpty()) {
            done.accept(List.of());
            return;
        }
        List<String> missing = new ArrayList<>();
        for (String name : names) {
            if (mirror.cluster().topic(name).isEmpty()) {
                missing.add(name);
            }
        }
        overrides.read(missing, byTopic -> new Batch(names, answer, byTopic, done).more());
    }

    /** Several topics on their way, at most {@link #TOPICS_AT_ONCE}. */
    private final class Batch {
        private final Deque<String> left;
        private final ClusterMetadata answer;
        private final Map<String, Map<String, String>> configs;
        private final Consumer<List<TopicResult>> done;
        private final List<TopicResult> results = new ArrayList<>();
        private final int all;
        private int running;

        Batch(
                List<String> names,
                ClusterMetadata answer,
                Map<String, Map<String, String>> configs,
                Consumer<List<TopicResult>> done) {
            this.left = new ArrayDeque<>(names);
            this.all = names.size();
            this.answer = answer;
            this.configs = configs;
            this.done = done;
        }

        void more() {
            int most = results.size() < TOPICS_FIRST ? TOPICS_FIRST : TOPICS_AT_ONCE;
            while (running < most && !left.isEmpty()) {
                running++;
                String name = left.poll();
                mirror.turns()
                        .post(() -> startOne(
                                answer.topics().get(name), configs.getOrDefault(name, Map.of()), this::finished));
            }
        }

        private void finished(TopicResult result) {
            results.add(result);
            running--;
            if (results.size() == all) {
                done.accept(results);
            } else {
                more();
            }
        }
    }

    private void startOne(ClusterMetadata.Topic topic, Map<String, String> configs, Consumer<TopicResult> done) {
        Optional<LocalTopic> local = mirror.cluster().topic(topic.name());
        if (local.isEmpty()) {
            create(topic, configs, done);
            return;
        }
        LocalTopic here = local.get();
        if (here.mirror() != null && here.desired() != Desired.STOPPED) {
            if (!here.mirror().equals(mirror.name())) {
                done.accept(result(
                        topic.name(),
                        MirrorError.TOPIC_ALREADY_IN_CLUSTER_MIRROR.code(),
                        "it belongs to mirror " + here.mirror()));
            } else if (here.desired() == Desired.PAUSED) {
                done.accept(result(
                        topic.name(), MirrorError.INVALID_CLUSTER_MIRROR_STATE.code(), "it is paused: resume it"));
            } else {
                done.accept(ok(topic.name()));
            }
            return;
        }
        Uuid known = here.sourceTopicId() == null || here.sourceTopicId().equals(Uuid.ZERO_UUID)
                ? here.topicId()
                : here.sourceTopicId();
        boolean wasMirrored = here.mirror() != null;
        if (!topic.topicId().equals(known) && !(topic.topicId().equals(Uuid.ZERO_UUID) && wasMirrored)) {
            done.accept(result(
                    topic.name(),
                    Errors.INCONSISTENT_TOPIC_ID.code(),
                    "a topic of that name exists here with id " + here.topicId() + "; the source's has "
                            + topic.topicId() + ". To mirror that one from its start, delete the topic here first"
                            + " (kafka-topics --delete)"));
            return;
        }
        new Takeover(topic, here, done).begin();
    }

    private void create(ClusterMetadata.Topic topic, Map<String, String> configs, Consumer<TopicResult> done) {
        Map<Integer, Integer> epochs = new HashMap<>();
        for (PartitionInfo info : topic.partitions()) {
            String refusal = EpochFence.refusal(info.leaderEpoch());
            if (refusal != null) {
                done.accept(result(topic.name(), Errors.INVALID_REQUEST.code(), refusal));
                return;
            }
            epochs.put(info.partition(), EpochFence.initial(info.leaderEpoch()));
        }
        source.onLoop(
                mirror.cluster().createMirrorTopic(mirror.name(), topic.name(), topic.topicId(), epochs, configs),
                created -> done.accept(ok(topic.name())),
                failure -> done.accept(startedMeanwhile(topic) ? ok(topic.name()) : failed(topic.name(), failure)));
    }

    /** Discovery and a start command may create the same topic at the same time; whoever is second has what it wanted. */
    private boolean startedMeanwhile(ClusterMetadata.Topic topic) {
        return mirror.cluster()
                .topic(topic.name())
                .filter(here -> mirror.name().equals(here.mirror()) && here.desired() == Desired.MIRRORING)
                .filter(here -> here.sourceTopicId().equals(topic.topicId()))
                .isPresent();
    }

    /** A topic that exists here, stopped, with the same id: accepted only if none of its records would be cut. */
    private final class Takeover {
        private final ClusterMetadata.Topic topic;
        private final LocalTopic here;
        private final Consumer<TopicResult> done;
        private final List<String> problems = new ArrayList<>();
        private int open;

        Takeover(ClusterMetadata.Topic topic, LocalTopic here, Consumer<TopicResult> done) {
            this.topic = topic;
            this.here = here;
            this.done = done;
        }

        void begin() {
            if (topic.partitions().size() < here.partitions()) {
                done.accept(result(
                        topic.name(),
                        Errors.INVALID_REQUEST.code(),
                        "it has " + here.partitions() + " partitions here and "
                                + topic.partitions().size() + " at the source"));
                return;
            }
            open = here.partitions();
            for (int p = 0; p < here.partitions(); p++) {
                MirrorPartition id = new MirrorPartition(mirror.name(), here.name(), here.topicId(), p);
                Optional<Position> at = mirror.local().position(id);
                if (at.isEmpty()) {
                    problems.add("the local log of partition " + p + " is not open");
                    finishedOne();
                } else if (at.get().startOffset() == at.get().endOffset()) {
                    finishedOne();
                } else {
                    ask(id, at.get(), at.get().lastBatchEpoch(), at.get().endOffset());
                }
            }
        }

        /** Goes down the local epochs until the source knows one (KIP-279). {@code bound}: nothing above it can be common. */
        private void ask(MirrorPartition id, Position at, int epoch, long bound) {
            questions.ask(new Question(here.name(), id.partition(), epoch, answer -> {
                if (!answer.ok()) {
                    problems.add("partition " + id.partition() + ": the source could not be asked: " + answer.text());
                    finishedOne();
                } else if (answer.epochEnd() == null) {
                    finishedOne(); // batches without epochs: nothing to compare
                } else if (answer.epochEnd().epoch() == epoch) {
                    judged(id, at, Math.min(bound, answer.epochEnd().endOffset()));
                } else {
                    int known = answer.epochEnd().epoch() < 0
                            ? epoch - 1
                            : Math.min(epoch - 1, answer.epochEnd().epoch());
                    Optional<EpochEnd> lower =
                            known < 0 ? Optional.empty() : mirror.local().endOfEpoch(id, known);
                    if (lower.isEmpty()) {
                        judged(id, at, at.startOffset());
                    } else {
                        ask(
                                id,
                                at,
                                lower.get().epoch(),
                                Math.min(bound, lower.get().endOffset()));
                    }
                }
            }));
        }

        private void judged(MirrorPartition id, Position at, long cut) {
            long from = Math.max(cut, at.startOffset());
            if (from < at.endOffset()) {
                problems.add("partition " + id.partition() + ": " + (at.endOffset() - from) + " local offsets, [" + from
                        + ", " + at.endOffset() + "), are not at the source");
            }
            finishedOne();
        }

        private void finishedOne() {
            open--;
            if (open > 0) {
                return;
            }
            if (!problems.isEmpty()) {
                done.accept(result(
                        topic.name(),
                        Errors.INVALID_REQUEST.code(),
                        "nothing was changed, because local records would be cut: " + String.join("; ", problems)));
                return;
            }
            source.onLoop(
                    mirror.cluster().adoptMirrorTopic(mirror.name(), topic.name(), topic.topicId()),
                    adopted -> done.accept(ok(topic.name())),
                    failure -> done.accept(failed(topic.name(), failure)));
        }
    }

    static TopicResult ok(String topic) {
        return new TopicResult(topic, (short) 0, null);
    }

    static TopicResult result(String topic, short code, String text) {
        return new TopicResult(topic, code, text);
    }

    static TopicResult failed(String topic, Throwable failure) {
        short code = failure instanceof Refused refused ? refused.errorCode() : Errors.UNKNOWN_SERVER_ERROR.code();
        return new TopicResult(topic, code, SourceCluster.text(failure));
    }
}
