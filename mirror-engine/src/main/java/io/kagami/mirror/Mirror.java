package io.kagami.mirror;

import io.kagami.log.StorageFault;
import io.kagami.mirror.core.Decision;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.Effect;
import io.kagami.mirror.core.EpochFence;
import io.kagami.mirror.core.Failure;
import io.kagami.mirror.core.Lifecycle;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.core.RetryPolicy;
import io.kagami.mirror.ports.LocalCluster.LocalTopic;
import io.kagami.mirror.ports.LocalPartitions.Position;
import io.kagami.mirror.ports.MirrorJournal;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.protocol.client.ClusterClient;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One mirror: the states of its partitions and what keeps them going. Every event of a partition goes through {@link Lifecycle}; the new
 * state is journalled, then its effects run. One proposal is in flight per partition; later events wait in order. Used on its
 * {@link Turns} only.
 */
final class Mirror implements DataPath.Events, Alignment.Outcome, Discovery.Parts {
    private static final Logger LOG = LoggerFactory.getLogger(Mirror.class);
    private static final long LOCAL_WAIT_MS = 200;
    private static final long JOURNAL_RETRY_MS = 1000;
    private static final long REARM_MAX_MS = 5000;
    private static final long LAG_INTERVAL_MS = 1000;
    private static final long LAG_PARTS_PER_SECOND = 2000;

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final Fetchers fetchers;
    private final DataPath data;
    private final Alignment alignment;
    private final Discovery discovery;
    private final TopicStarter starter;
    private final MirrorCommands commands;
    private final Map<MirrorPartition, MirrorPart> parts = new HashMap<>();
    private final Map<String, Map<Integer, MirrorPart>> byTopic = new HashMap<>();
    private final Map<MirrorPartition, PartitionState> journalled = new HashMap<>();
    private boolean closed;

    Mirror(MirrorContext mirror, ClusterClient client, String pinned) {
        this.mirror = mirror;
        this.source = new SourceCluster(mirror, client, pinned, this::onForeign);
        Questions questions = new Questions(mirror, source);
        this.data = new DataPath(mirror, this);
        this.fetchers = new Fetchers(mirror, source, data);
        data.wire(source, fetchers);
        this.alignment = new Alignment(mirror, source, questions, this);
        this.starter = new TopicStarter(mirror, source, questions);
        this.discovery = new Discovery(mirror, source, fetchers, questions, starter, data, this);
        this.commands = new MirrorCommands(mirror, this);
    }

    /** First turn: takes up every partition where the journal left it. */
    void begin() {
        journalled.putAll(mirror.journal().states(mirror.name()));
        reconcile();
        discovery.run();
        publishLag();
    }

    MirrorCommands commands() {
        return commands;
    }

    TopicStarter starter() {
        return starter;
    }

    Discovery discovery() {
        return discovery;
    }

    SourceCluster source() {
        return source;
    }

    /** The metadata changed: takes up new partitions, drops deleted ones, evaluates those whose desired state is another now. */
    void reconcile() {
        if (closed) {
            return;
        }
        Set<MirrorPartition> seen = new HashSet<>();
        for (LocalTopic topic : mirror.cluster().topicsOf(mirror.name())) {
            for (int p = 0; p < topic.partitions(); p++) {
                MirrorPartition id = new MirrorPartition(mirror.name(), topic.name(), topic.topicId(), p);
                seen.add(id);
                MirrorPart part = parts.get(id);
                if (part == null) {
                    part = new MirrorPart(id, topic.sourceTopicId());
                    part.state = journalled.remove(id);
                    mirror.meters().moved(null, part.phase());
                    parts.put(id, part);
                    byTopic.computeIfAbsent(topic.name(), t -> new HashMap<>()).put(p, part);
                }
                if (part.evaluatedFor != topic.desired()) {
                    evaluate(part);
                }
            }
        }
        for (Iterator<MirrorPart> it = parts.values().iterator(); it.hasNext(); ) {
            MirrorPart part = it.next();
            if (!seen.contains(part.id)) {
                it.remove();
                drop(part);
            }
        }
    }

    private void drop(MirrorPart part) {
        byTopic.getOrDefault(part.id.topic(), Map.of()).remove(part.id.partition(), part);
        part.retry.cancel();
        part.work++;
        fetchers.stop(part);
        mirror.meters().moved(part.phase(), null);
    }

    Desired desired(MirrorPart part) {
        Optional<LocalTopic> topic = mirror.cluster().topic(part.id.topic());
        boolean ours = topic.isPresent()
                && topic.get().topicId().equals(part.id.topicId())
                && mirror.name().equals(topic.get().mirror());
        return ours ? topic.get().desired() : null;
    }

    private void evaluate(MirrorPart part) {
        Desired wanted = desired(part);
        if (wanted == null) {
            return;
        }
        part.evaluatedFor = wanted;
        boolean empty = mirror.local()
                .position(part.id)
                .map(at -> at.startOffset() == at.endOffset())
                .orElse(true);
        long rearm = RetryPolicy.backoffMs(
                part.state == null ? 1 : Math.max(1, part.state.retryAttempt()),
                mirror.options().retry().initialMs(),
                REARM_MAX_MS,
                mirror.turns().jitter());
        event(part, () -> Lifecycle.onDesired(part.state, wanted, empty, rearm));
    }

    /** An event of a partition, decided when its turn comes. */
    private void event(MirrorPart part, Supplier<Decision> decide) {
        assert mirror.turns().inLoop();
        if (part.proposing) {
            part.waiting.add(decide);
        } else {
            decide(part, decide);
        }
    }

    private void decide(MirrorPart part, Supplier<Decision> decide) {
        if (closed || parts.get(part.id) != part) {
            return;
        }
        Decision decision = decide.get();
        if (decision instanceof Decision.Illegal illegal) {
            // something else was faster; commands check legality themselves and answer with an error
            LOG.atDebug()
                    .addKeyValue("mirror", mirror.name())
                    .addKeyValue("partition", part)
                    .addKeyValue("reason", illegal.reason())
                    .log("Ignored an event");
            return;
        }
        Decision.Step step = (Decision.Step) decision;
        if (step.next().equals(part.state)) {
            runAll(part, step.effects());
            return;
        }
        part.proposing = true;
        int expected = part.state == null ? 0 : part.state.stateEpoch();
        source.onLoop(
                mirror.journal().propose(part.id, step.next(), expected),
                stored -> {
                    part.proposing = false;
                    entered(part, stored, step.effects());
                    drainWaiting(part);
                },
                failure -> onJournalFailure(part, decide, failure));
    }

    private void entered(MirrorPart part, PartitionState stored, List<Effect> effects) {
        Phase before = part.phase();
        part.state = stored;
        mirror.meters().moved(before, stored.phase());
        if (before != stored.phase()) {
            LOG.atLevel(stored.phase() == Phase.FAILED ? org.slf4j.event.Level.WARN : org.slf4j.event.Level.INFO)
                    .addKeyValue("mirror", mirror.name())
                    .addKeyValue("topic", part.id.topic())
                    .addKeyValue("partition", part.id.partition())
                    .addKeyValue("phase", stored.phase())
                    .addKeyValue("from", before)
                    .addKeyValue("error", stored.errorMessage())
                    .log("Mirror partition changed its state");
            part.note = null;
        }
        runAll(part, effects);
        boolean resting = stored.phase() == Phase.PAUSED || stored.phase() == Phase.STOPPED;
        Desired wanted = desired(part);
        boolean fits = wanted == Desired.valueOf(resting ? stored.phase().name() : Desired.MIRRORING.name());
        if (resting && wanted != null && !fits) {
            evaluate(part); // the operator changed his mind on the way
        }
    }

    private void drainWaiting(MirrorPart part) {
        while (!part.proposing && !part.waiting.isEmpty()) {
            decide(part, part.waiting.poll());
        }
    }

    private void onJournalFailure(MirrorPart part, Supplier<Decision> decide, Throwable failure) {
        if (failure instanceof MirrorJournal.Fenced) {
            // another state was stored: read it and see what it asks for
            part.proposing = false;
            part.state = mirror.journal().states(mirror.name()).get(part.id);
            part.waiting.clear();
            evaluate(part);
            return;
        }
        LOG.atWarn()
                .addKeyValue("mirror", mirror.name())
                .addKeyValue("partition", part)
                .addKeyValue("reason", SourceCluster.text(failure))
                .log("A state could not be journalled; trying again");
        mirror.turns().after(JOURNAL_RETRY_MS, () -> {
            part.proposing = false;
            PartitionState now = mirror.journal().states(mirror.name()).get(part.id);
            if (now != null && (part.state == null || now.stateEpoch() > part.state.stateEpoch())) {
                // it did happen: act on it
                part.state = now;
                part.waiting.clear();
                evaluate(part);
            } else {
                decide(part, decide);
                drainWaiting(part);
            }
        });
    }

    private void runAll(MirrorPart part, List<Effect> effects) {
        if (!effects.isEmpty()) {
            part.work++;
            part.retry.cancel();
        }
        effects.forEach(effect -> run(part, effect));
    }

    private void run(MirrorPart part, Effect effect) {
        if (effect instanceof Effect.Align) {
            alignment.align(part);
        } else if (effect instanceof Effect.RaiseEpoch) {
            raiseNow(part);
        } else if (effect instanceof Effect.Fetch) {
            part.wantFetch = true;
            fetchers.attach(part);
        } else if (effect instanceof Effect.StopFetch) {
            fetchers.stop(part);
        } else if (effect instanceof Effect.Quiesce) {
            fetchers.stop(part);
            part.quiescing = true;
            if (part.appendsInFlight == 0) {
                quiet(part);
            }
        } else if (effect instanceof Effect.HandOver) {
            handOver(part);
        } else if (effect instanceof Effect.Release) {
            release(part);
        } else if (effect instanceof Effect.RetryAfter retry) {
            part.retry = mirror.turns().after(retry.delayMs(), () -> retryDue(part));
        } else {
            throw new AssertionError(effect);
        }
    }

    private void retryDue(MirrorPart part) {
        Desired wanted = desired(part);
        if (wanted == Desired.MIRRORING && mirror.local().position(part.id).isEmpty()) {
            // its log takes no writes: the partition stays as it is, with the reason, until it does
            part.retry = mirror.turns().after(LOCAL_WAIT_MS, () -> retryDue(part));
        } else if (wanted != null) {
            part.evaluatedFor = wanted;
            event(part, () -> Lifecycle.onRetryDue(part.state, wanted));
        }
    }

    /** Runs the step on the local partition as soon as it exists; what comes back counts only if the state still wants it. */
    private void locally(
            MirrorPart part,
            String what,
            java.util.function.Function<Position, CompletionStage<Position>> step,
            Consumer<Position> then) {
        long work = part.work;
        Optional<Position> at = mirror.local().position(part.id);
        if (at.isEmpty()) {
            mirror.turns().after(LOCAL_WAIT_MS, () -> {
                if (part.work == work && !closed) {
                    locally(part, what, step, then);
                }
            });
            return;
        }
        source.onLoop(
                step.apply(at.get()),
                done -> {
                    if (part.work == work) {
                        then.accept(done);
                    }
                },
                failure -> {
                    if (part.work == work) {
                        String text = what + " failed: " + SourceCluster.text(failure);
                        boolean storage = SourceCluster.cause(failure) instanceof StorageFault;
                        failed(part, storage ? Failure.storage(text) : Failure.retryable(text));
                    }
                });
    }

    private void raiseNow(MirrorPart part) {
        int known = source.leader(part.id.topic(), part.id.partition()).epoch();
        locally(
                part,
                "raising the leader epoch",
                at -> {
                    int epoch = Math.max(Math.max(known, part.seenEpoch), at.lastBatchEpoch());
                    return mirror.local().raiseLeaderEpoch(part.id, EpochFence.initial(epoch));
                },
                done -> event(part, () -> Lifecycle.onEpochRaised(part.state)));
    }

    private void handOver(MirrorPart part) {
        locally(
                part,
                "closing the mirror",
                at -> mirror.local().closeMirror(part.id, false).thenCompose(closedAt -> mirror.local()
                        .raiseLeaderEpoch(
                                part.id,
                                EpochFence.handOver(
                                        Math.max(closedAt.lastBatchEpoch(), part.seenEpoch), closedAt.leaderEpoch()))),
                done -> event(part, () -> Lifecycle.onHandedOver(part.state)));
    }

    private void release(MirrorPart part) {
        fetchers.stop(part);
        if (mirror.local().position(part.id).isEmpty()) {
            // writable from the start when its log is opened
            long work = part.work;
            mirror.turns().after(LOCAL_WAIT_MS, () -> {
                if (part.work == work && !closed) {
                    release(part);
                }
            });
            return;
        }
        long work = part.work;
        source.onLoop(
                mirror.local().closeMirror(part.id, true),
                done -> {
                    part.released = part.work == work;
                    commands.released();
                },
                failure -> {
                    part.note = "it could not be made writable: " + SourceCluster.text(failure);
                    mirror.turns().after(JOURNAL_RETRY_MS, () -> {
                        if (part.work == work && !closed) {
                            release(part);
                        }
                    });
                });
    }

    @Override
    public void failed(MirrorPart part, Failure failure) {
        fetchers.detach(part);
        double jitter = mirror.turns().jitter();
        event(
                part,
                () -> Lifecycle.onFailure(part.state, failure, mirror.options().retry(), jitter));
    }

    @Override
    public void epochTooLow(MirrorPart part) {
        fetchers.detach(part);
        event(part, () -> Lifecycle.onEpochTooLow(part.state));
    }

    @Override
    public void raiseEpoch(MirrorPart part, int target) {
        if (part.raising) {
            return;
        }
        part.raising = true;
        source.onLoop(mirror.local().raiseLeaderEpoch(part.id, target), done -> part.raising = false, failure -> {
            part.raising = false;
            part.note = "the leader epoch could not be raised: " + SourceCluster.text(failure);
        });
    }

    @Override
    public void appended(MirrorPart part) {
        part.note = null;
        if (part.state != null && part.phase() == Phase.MIRRORING && part.state.retryAttempt() != 0) {
            event(part, () -> Lifecycle.onProgress(part.state));
        }
    }

    @Override
    public void outOfRange(MirrorPart part) {
        fetchers.detach(part);
        if (part.appendsInFlight > 0) {
            fetchers.attach(part); // asked again when the append is done
        } else {
            alignment.outOfRange(part);
        }
    }

    @Override
    public void diverged(MirrorPart part, int sourceEpoch, long sourceEnd) {
        failed(part, alignment.divergence(part, sourceEpoch, sourceEnd));
    }

    @Override
    public void suspectDeleted(MirrorPart part) {
        discovery.suspect(part.id.topic());
    }

    @Override
    public void quiet(MirrorPart part) {
        if (part.quiescing) {
            part.quiescing = false;
            event(part, () -> Lifecycle.onQuiet(part.state));
        }
    }

    @Override
    public void aligned(MirrorPart part, boolean epochTooLow) {
        event(part, () -> Lifecycle.onAligned(part.state, epochTooLow));
    }

    @Override
    public void restarted(MirrorPart part) {
        fetchers.attach(part);
    }

    @Override
    public void leaderNeeded(MirrorPart part, Runnable then) {
        source.metadata(List.of(part.id.topic()), answer -> then.run(), failure -> then.run());
    }

    private void onForeign(String found) {
        for (MirrorPart part : List.copyOf(parts.values())) {
            if (part.phase() != Phase.STOPPED) {
                failed(part, Failure.permanent(source.foreignText()));
            }
        }
    }

    @Override
    public Collection<MirrorPart> all() {
        return List.copyOf(parts.values());
    }

    @Override
    public List<MirrorPart> of(String topic) {
        return List.copyOf(byTopic.getOrDefault(topic, Map.of()).values());
    }

    private void publishLag() {
        if (closed) {
            return;
        }
        long sum = -1;
        long unknown = 0;
        for (MirrorPart part : parts.values()) {
            if (part.phase() == Phase.MIRRORING) {
                long lag = Descriptions.lag(mirror, source, part);
                if (lag < 0) {
                    unknown++;
                } else {
                    sum = Math.max(0, sum) + lag;
                }
            }
        }
        mirror.meters().lag(sum, unknown);
        // with thousands of partitions less often, so that looking at all of them costs an idle broker no more than
        // with a few
        long partsMs = parts.size() * 1000L / LAG_PARTS_PER_SECOND;
        mirror.turns().after(Math.max(LAG_INTERVAL_MS, partsMs), this::publishLag);
    }

    /** Ends fetching; states stay as they are. Appends on their way still complete. */
    void close() {
        closed = true;
        discovery.close();
        fetchers.close();
        parts.values().forEach(part -> part.retry.cancel());
        commands.close();
        source.close();
        mirror.meters().close();
    }
}
