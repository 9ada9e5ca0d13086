package io.kagami.mirror;

import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.core.TopicSelector;
import io.kagami.mirror.ports.LocalCluster.LocalTopic;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.protocol.MirrorError;
import io.kagami.protocol.MirrorMessages.TopicResult;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.protocol.Errors;

/** Pause, resume and stop: which topics are meant, whether that is legal, and for a stop the wait until all is writable. Loop only. */
final class MirrorCommands {
    /** A stop that takes longer is answered with what is left; it goes on all the same. */
    private static final long STOP_ANSWER_MS = 30_000;

    private final MirrorContext mirror;
    private final Mirror running;
    private final List<Stop> stops = new ArrayList<>();

    private record Stop(List<TopicResult> results, Set<String> topics, CompletableFuture<List<TopicResult>> answer) {}

    MirrorCommands(MirrorContext mirror, Mirror running) {
        this.mirror = mirror;
        this.running = running;
    }

    void start(List<String> topics, List<String> exclude, CompletableFuture<List<TopicResult>> answer) {
        running.starter().start(topics, exclude, answer::complete, answer::completeExceptionally);
    }

    void pause(List<String> topics, List<String> exclude, CompletableFuture<List<TopicResult>> answer) {
        change(topics, exclude, Desired.PAUSED, answer);
    }

    void resume(List<String> topics, List<String> exclude, CompletableFuture<List<TopicResult>> answer) {
        change(topics, exclude, Desired.MIRRORING, answer);
    }

    private void change(
            List<String> words, List<String> exclude, Desired to, CompletableFuture<List<TopicResult>> answer) {
        Selection selected = select(words, exclude);
        List<TopicResult> results = new ArrayList<>(selected.refused());
        List<String> toChange = new ArrayList<>();
        for (LocalTopic topic : selected.topics()) {
            if (topic.desired() == Desired.STOPPED) {
                if (words.contains(topic.name())) {
                    results.add(TopicStarter.result(
                            topic.name(), MirrorError.INVALID_CLUSTER_MIRROR_STATE.code(), "it is stopped"));
                }
                continue;
            }
            if (topic.desired() != to) {
                toChange.add(topic.name());
            }
            results.add(TopicStarter.ok(topic.name()));
        }
        propose(toChange, to, answer, () -> answer.complete(results));
    }

    void stop(List<String> words, List<String> exclude, CompletableFuture<List<TopicResult>> answer) {
        Selection selected = select(words, exclude);
        List<TopicResult> results = new ArrayList<>(selected.refused());
        List<String> toChange = new ArrayList<>();
        Set<String> waitFor = new TreeSet<>();
        for (LocalTopic topic : selected.topics()) {
            if (topic.desired() != Desired.STOPPED) {
                toChange.add(topic.name());
            }
            waitFor.add(topic.name());
        }
        propose(toChange, Desired.STOPPED, answer, () -> {
            Stop stop = new Stop(results, waitFor, answer);
            stops.add(stop);
            running.reconcile();
            released();
            mirror.turns().after(STOP_ANSWER_MS, () -> answerLate(stop));
        });
    }

    private void propose(List<String> topics, Desired to, CompletableFuture<List<TopicResult>> answer, Runnable then) {
        if (topics.isEmpty()) {
            then.run();
            return;
        }
        running.source()
                .onLoop(
                        mirror.cluster().setDesired(mirror.name(), topics, to),
                        done -> then.run(),
                        answer::completeExceptionally);
    }

    /** A partition became writable: answers the stops that waited for nothing else. */
    void released() {
        for (Stop stop : List.copyOf(stops)) {
            if (stop.topics().stream().allMatch(this::stopped)) {
                stops.remove(stop);
                stop.topics().forEach(topic -> stop.results().add(TopicStarter.ok(topic)));
                stop.answer().complete(stop.results());
            }
        }
    }

    private boolean stopped(String topic) {
        return running.of(topic).stream().allMatch(part -> part.phase() == Phase.STOPPED && part.released);
    }

    private void answerLate(Stop stop) {
        if (!stops.remove(stop)) {
            return;
        }
        for (String topic : stop.topics()) {
            stop.results()
                    .add(
                            stopped(topic)
                                    ? TopicStarter.ok(topic)
                                    : TopicStarter.result(
                                            topic,
                                            Errors.REQUEST_TIMED_OUT.code(),
                                            "the stop is recorded and goes on; not all partitions are writable yet"));
        }
        stop.answer().complete(stop.results());
    }

    private record Selection(List<LocalTopic> topics, List<TopicResult> refused) {}

    private Selection select(List<String> words, List<String> exclude) {
        Map<String, LocalTopic> ours = new TreeMap<>();
        mirror.cluster().topicsOf(mirror.name()).forEach(topic -> ours.put(topic.name(), topic));
        Map<String, LocalTopic> selected = new TreeMap<>();
        List<TopicResult> refused = new ArrayList<>();
        for (String word : words) {
            boolean name = !word.equals(TopicSelector.ALL) && TopicSelector.plainName(word);
            if (name && ours.containsKey(word)) {
                selected.put(word, ours.get(word));
            } else if (name) {
                boolean exists = mirror.cluster().topic(word).isPresent();
                refused.add(TopicStarter.result(
                        word,
                        exists
                                ? MirrorError.TOPIC_NOT_IN_CLUSTER_MIRROR.code()
                                : Errors.UNKNOWN_TOPIC_OR_PARTITION.code(),
                        exists ? "it does not belong to mirror " + mirror.name() : "there is no such topic here"));
            } else {
                TopicSelector pattern = selector(List.of(word), exclude);
                ours.values().stream()
                        .filter(topic -> pattern.matches(topic.name()))
                        .forEach(topic -> selected.put(topic.name(), topic));
            }
        }
        TopicSelector taken = selector(List.of(), exclude);
        List<LocalTopic> topics = selected.values().stream()
                .filter(topic -> taken.excludedBy(topic.name()) == null)
                .sorted(Comparator.comparing(LocalTopic::name))
                .toList();
        return new Selection(topics, refused);
    }

    private static TopicSelector selector(List<String> include, List<String> exclude) {
        try {
            return TopicSelector.of(include, exclude);
        } catch (IllegalArgumentException e) {
            throw new Refused(Errors.INVALID_REQUEST.code(), e.getMessage());
        }
    }

    void close() {
        Refused closing = new Refused(Errors.COORDINATOR_NOT_AVAILABLE.code(), "this broker is shutting down");
        stops.forEach(stop -> stop.answer().completeExceptionally(closing));
        stops.clear();
    }
}
