package io.kagami.mirror;

import io.kagami.mirror.Questions.Question;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.EpochFence;
import io.kagami.mirror.core.Failure;
import io.kagami.mirror.core.MetadataDiff;
import io.kagami.mirror.core.MetadataDiff.Finding;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.core.RetryPolicy;
import io.kagami.mirror.ports.LocalCluster.LocalTopic;
import io.kagami.mirror.ports.LocalPartitions.Position;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Every refresh interval: new topics, grown and vanished ones, leader epochs, log starts. A failing round is tried again soon. Loop only. */
final class Discovery {
    private static final Logger LOG = LoggerFactory.getLogger(Discovery.class);
    private static final long RETRY_INITIAL_MS = 100;
    private static final long RETRY_MAX_MS = 5000;
    /** Time between the two looks that must agree before a topic counts as deleted. */
    private static final long CONFIRM_MS = 5000;

    private static final int NAMED_MAX = 10;

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final Fetchers fetchers;
    private final Questions questions;
    private final TopicStarter starter;
    private final DataPath data;
    private final Parts parts;
    /** Topics not (wholly) seen at the source at the last look, and when they were missed first. */
    private final Map<String, Long> missing = new HashMap<>();

    private final SortedSet<String> occupied = new TreeSet<>();

    private Turns.Cancel timer = () -> {};
    private boolean running;
    private boolean again;
    private int failures;
    private boolean closed;
    private boolean creating;

    /** What discovery sees and does of the mirror. */
    interface Parts {
        Collection<MirrorPart> all();

        List<MirrorPart> of(String topic);

        void failed(MirrorPart part, Failure failure);

        void raiseEpoch(MirrorPart part, int target);
    }

    Discovery(
            MirrorContext mirror,
            SourceCluster source,
            Fetchers fetchers,
            Questions questions,
            TopicStarter starter,
            DataPath data,
            Parts parts) {
        this.mirror = mirror;
        this.source = source;
        this.fetchers = fetchers;
        this.questions = questions;
        this.starter = starter;
        this.data = data;
        this.parts = parts;
    }

    /** Begins a round now, or right after the one that runs. */
    void run() {
        if (closed || source.isForeign()) {
            return;
        }
        if (running) {
            again = true;
            return;
        }
        running = true;
        timer.cancel();
        boolean all = mirror.config().discovery() != null || !missing.isEmpty();
        source.metadata(all ? null : names(), this::round, failure -> {
            running = false;
            failures++;
            mirror.meters().fetchError("METADATA");
            schedule(RetryPolicy.backoffMs(
                    failures, RETRY_INITIAL_MS, RETRY_MAX_MS, mirror.turns().jitter()));
        });
    }

    /** A leader said that it does not know the topic: look soon. */
    void suspect(String topic) {
        if (!missing.containsKey(topic)) {
            schedule(RETRY_INITIAL_MS);
        }
    }

    private void schedule(long delayMs) {
        timer.cancel();
        timer = mirror.turns().after(delayMs, this::run);
    }

    private List<String> names() {
        List<String> names = new ArrayList<>();
        for (LocalTopic topic : mirror.cluster().topicsOf(mirror.name())) {
            if (topic.desired() != Desired.STOPPED) {
                names.add(topic.name());
            }
        }
        return names;
    }

    private void round(ClusterMetadata answer) {
        running = false;
        if (closed) {
            return;
        }
        failures = 0;
        mirror.meters().refreshed(mirror.turns().nowMs());
        // a broker that has just started knows nothing yet: its silence is no evidence
        boolean informed = !answer.nodes().isEmpty() && answer.controllerId() >= 0;
        Map<String, MetadataDiff.Source> there = new HashMap<>();
        Set<String> unreadable = new HashSet<>();
        for (ClusterMetadata.Topic topic : answer.topics().values()) {
            Errors error = Errors.forCode(topic.errorCode());
            if (error == Errors.NONE) {
                there.put(
                        topic.name(),
                        new MetadataDiff.Source(
                                topic.name(),
                                topic.topicId(),
                                topic.partitions().size()));
            } else if (error != Errors.UNKNOWN_TOPIC_OR_PARTITION && error != Errors.UNKNOWN_TOPIC_ID) {
                unreadable.add(topic.name());
            }
        }
        List<MetadataDiff.Local> locals = new ArrayList<>();
        Set<String> taken = new HashSet<>();
        for (LocalTopic topic : mirror.cluster().topicsOf(mirror.name())) {
            locals.add(
                    new MetadataDiff.Local(topic.name(), topic.sourceTopicId(), topic.partitions(), topic.desired()));
            taken.add(topic.name());
        }
        for (String name : there.keySet()) {
            if (mirror.cluster().topic(name).isPresent()) {
                taken.add(name);
            }
        }
        List<Finding> findings = MetadataDiff.compare(
                locals,
                taken,
                there,
                unreadable,
                mirror.config().discovery(),
                mirror.config().exclude());
        long next = mirror.options().refreshIntervalMs();
        if (act(findings, answer, informed)) {
            next = Math.min(next, CONFIRM_MS);
        }
        checkEpochs();
        checkStarts();
        fetchers.rehome();
        if (again) {
            again = false;
            next = 0;
        }
        schedule(next);
    }

    /** True when a second look is wanted soon. */
    private boolean act(List<Finding> findings, ClusterMetadata answer, boolean informed) {
        List<String> fresh = new ArrayList<>();
        SortedSet<String> blocked = new TreeSet<>();
        Map<String, Long> stillMissing = new HashMap<>();
        for (Finding finding : findings) {
            if (finding instanceof Finding.NewTopic found) {
                fresh.add(found.topic());
            } else if (finding instanceof Finding.Missing lost) {
                if (informed) {
                    onSuspicion(
                            lost.topic(),
                            0,
                            stillMissing,
                            "the topic was deleted at the source; its records stay here");
                }
            } else if (finding instanceof Finding.Recreated recreated) {
                failAll(
                        recreated.topic(),
                        0,
                        "the topic was created anew at the source: its id is " + recreated.is() + ", was "
                                + recreated.was());
            } else if (finding instanceof Finding.Grown grown) {
                grow(grown, answer);
            } else if (finding instanceof Finding.Shrunk shrunk) {
                onSuspicion(
                        shrunk.topic(),
                        shrunk.to(),
                        stillMissing,
                        "the topic has " + shrunk.to() + " partitions at the source and " + shrunk.from() + " here");
            } else if (finding instanceof Finding.Excluded excluded) {
                pause(excluded);
            } else if (finding instanceof Finding.Occupied taken) {
                blocked.add(taken.topic());
            } else {
                throw new AssertionError(finding);
            }
        }
        tellOccupied(blocked);
        boolean firstTime = !missing.keySet().containsAll(stillMissing.keySet());
        missing.clear();
        missing.putAll(stillMissing);
        if (!fresh.isEmpty() && !creating) {
            creating = true;
            starter.startAll(fresh, answer, this::onCreated);
        }
        return firstTime;
    }

    /** A topic that should be mirrored and is not: said once in the log, and in every description. */
    private void tellOccupied(SortedSet<String> now) {
        for (String topic : now) {
            if (!occupied.contains(topic)) {
                LOG.atWarn()
                        .addKeyValue("mirror", mirror.name())
                        .addKeyValue("topic", topic)
                        .log("A topic of the source is not mirrored: the name is taken here by a topic outside of this"
                                + " mirror");
            }
        }
        occupied.clear();
        occupied.addAll(now);
    }

    /** Sentences on topics that match and are not mirrored, bounded. */
    List<String> notes() {
        if (occupied.isEmpty()) {
            return List.of();
        }
        String named = occupied.stream().limit(NAMED_MAX).collect(Collectors.joining(", "));
        String more = occupied.size() > NAMED_MAX ? " and " + (occupied.size() - NAMED_MAX) + " more" : "";
        return List.of("not mirrored, because topics outside of this mirror have these names here: " + named + more);
    }

    /** Fails the partitions from {@code first} on at the second look in a row that finds them missing. */
    private void onSuspicion(String topic, int first, Map<String, Long> stillMissing, String text) {
        Long since = missing.get(topic);
        if (since == null) {
            stillMissing.put(topic, mirror.turns().nowMs());
            return;
        }
        stillMissing.put(topic, since);
        // a broker with stale metadata may deny what its leaders still serve
        if (parts.of(topic).stream().noneMatch(part -> part.id.partition() >= first && served(part, since))) {
            failAll(topic, first, text);
        }
    }

    private static boolean served(MirrorPart part, long sinceMs) {
        return part.fetcher != null && part.leaderErrors == 0 && part.fetcher.answeredAtMs() > sinceMs;
    }

    private void failAll(String topic, int fromPartition, String text) {
        for (MirrorPart part : parts.of(topic)) {
            boolean known = part.phase() == Phase.FAILED && part.state.retryAttempt() < 0;
            if (part.id.partition() >= fromPartition && part.phase() != Phase.STOPPED && !known) {
                parts.failed(part, Failure.permanent(text));
            }
        }
    }

    private void grow(Finding.Grown grown, ClusterMetadata answer) {
        int epoch = -1;
        for (PartitionInfo info : answer.topics().get(grown.topic()).partitions()) {
            if (info.partition() >= grown.from()) {
                epoch = Math.max(epoch, info.leaderEpoch());
            }
        }
        String refusal = EpochFence.refusal(epoch);
        if (refusal != null) {
            failAll(grown.topic(), 0, refusal);
            return;
        }
        source.onLoop(
                mirror.cluster().growMirrorTopic(mirror.name(), grown.topic(), grown.to(), EpochFence.initial(epoch)),
                done -> LOG.atInfo()
                        .addKeyValue("mirror", mirror.name())
                        .addKeyValue("topic", grown.topic())
                        .addKeyValue("partitions", grown.to())
                        .log("The topic grew with the source's"),
                failure -> warn(grown.topic(), "could not grow to " + grown.to() + " partitions", failure));
    }

    private void pause(Finding.Excluded excluded) {
        source.onLoop(
                mirror.cluster().setDesired(mirror.name(), List.of(excluded.topic()), Desired.PAUSED),
                done -> LOG.atWarn()
                        .addKeyValue("mirror", mirror.name())
                        .addKeyValue("topic", excluded.topic())
                        .addKeyValue("pattern", excluded.pattern())
                        .log("Paused a topic that topics.exclude matches now; only a stop makes it writable"),
                failure -> warn(excluded.topic(), "could not be paused", failure));
    }

    private void onCreated(List<TopicResult> results) {
        creating = false;
        for (TopicResult result : results) {
            if (result.errorCode() == 0) {
                LOG.atInfo()
                        .addKeyValue("mirror", mirror.name())
                        .addKeyValue("topic", result.topic())
                        .log("Discovered a topic at the source");
            } else {
                LOG.atWarn()
                        .addKeyValue("mirror", mirror.name())
                        .addKeyValue("topic", result.topic())
                        .addKeyValue("reason", result.errorMessage())
                        .log("A discovered topic could not be started");
            }
        }
    }

    private void warn(String topic, String what, Throwable failure) {
        LOG.atWarn()
                .addKeyValue("mirror", mirror.name())
                .addKeyValue("topic", topic)
                .addKeyValue("reason", SourceCluster.text(failure))
                .log("A mirror topic " + what);
    }

    private void checkEpochs() {
        for (MirrorPart part : parts.all()) {
            Optional<Position> at = mirror.local().position(part.id);
            if (part.phase() != Phase.MIRRORING || at.isEmpty()) {
                continue;
            }
            EpochFence.Verdict verdict = data.fence(part, at.get());
            if (verdict.action() == EpochFence.Action.FAIL) {
                parts.failed(part, Failure.permanent(verdict.text()));
            } else if (verdict.target() >= 0) {
                parts.raiseEpoch(part, verdict.target());
            }
        }
    }

    private void checkStarts() {
        for (MirrorPart part : parts.all()) {
            if (part.phase() == Phase.MIRRORING && part.wantFetch) {
                questions.ask(new Question(part.id.topic(), part.id.partition(), -1, answer -> {
                    if (answer.ok() && part.phase() == Phase.MIRRORING && part.wantFetch) {
                        part.sourceStart = Math.max(part.sourceStart, answer.sourceStart());
                        data.followStart(part);
                    }
                }));
            }
        }
    }

    void close() {
        closed = true;
        timer.cancel();
    }
}
