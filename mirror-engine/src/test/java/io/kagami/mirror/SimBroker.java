package io.kagami.mirror;

import io.kagami.log.core.BatchHeader;
import io.kagami.mirror.SimSource.Batch;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.LocalCluster;
import io.kagami.mirror.ports.LocalPartitions;
import io.kagami.mirror.ports.MirrorJournal;
import io.kagami.mirror.ports.MirrorPartition;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;

/** The broker around a simulated mirror: metadata, journal and logs survive its crashes. Every append is checked against the source. */
final class SimBroker implements LocalPartitions, LocalCluster, MirrorJournal {
    private final Sim sim;
    private final SimSource source;
    final Map<String, LocalTopic> topics = new TreeMap<>();
    final Map<MirrorPartition, PartitionState> states = new HashMap<>();
    final Map<MirrorPartition, SimLog> logs = new HashMap<>();
    Runnable onChange = () -> {};
    String pinned;
    int appends;
    int restarts;
    private int life;

    static final class SimLog {
        final TreeMap<Long, Batch> batches = new TreeMap<>();
        long start;
        long end;
        int leaderEpoch;
        boolean writable;
        long loopFreeAt;
    }

    SimBroker(Sim sim, SimSource source) {
        this.sim = sim;
        this.source = source;
    }

    /** What a crash loses: the newest batches that were not on disk. */
    void loseTails() {
        life++; // with the process its loops ended, and what was queued on them
        for (SimLog log : logs.values()) {
            for (int i = sim.random.nextInt(3); i > 0 && !log.batches.isEmpty(); i--) {
                Batch lost = log.batches.lastEntry().getValue();
                if (lost.base() < log.start) {
                    break;
                }
                log.batches.pollLastEntry();
                log.end = log.batches.isEmpty()
                        ? lost.base()
                        : log.batches.lastEntry().getValue().next();
                log.end = Math.max(log.end, log.start);
            }
        }
    }

    void require(boolean condition, String text) {
        if (!condition) {
            throw new AssertionError(text + " (seed " + sim.seed + ")");
        }
    }

    /** On the partition's loop: in order of the calls. */
    private <T> CompletionStage<T> onLoop(MirrorPartition partition, Supplier<T> work) {
        SimLog log = logs.get(partition);
        CompletableFuture<T> future = new CompletableFuture<>();
        log.loopFreeAt = Math.max(log.loopFreeAt, sim.nowMs() + sim.latency(5));
        int queuedIn = life;
        sim.after(log.loopFreeAt - sim.nowMs(), () -> {
            if (queuedIn == life) {
                future.complete(work.get());
            }
        });
        return future;
    }

    private Position at(MirrorPartition partition) {
        SimLog log = logs.get(partition);
        int lastEpoch =
                log.batches.isEmpty() ? -1 : log.batches.lastEntry().getValue().epoch();
        return new Position(log.start, log.end, log.end, lastEpoch, log.leaderEpoch, 0);
    }

    @Override
    public Optional<Position> position(MirrorPartition partition) {
        return logs.containsKey(partition) ? Optional.of(at(partition)) : Optional.empty();
    }

    @Override
    public CompletionStage<AppendOutcome> appendMirrored(
            MirrorPartition partition, long expectedEndOffset, ByteBuffer batches) {
        return onLoop(partition, () -> {
            SimLog log = logs.get(partition);
            if (log.writable) {
                return new AppendOutcome(Result.NOT_MIRRORED, at(partition));
            }
            if (log.end != expectedEndOffset) {
                return new AppendOutcome(Result.STALE, at(partition));
            }
            require(states.get(partition).phase() != Phase.STOPPED, "append after STOPPED to " + partition);
            require(source.clusterId.equals(SimSource.CLUSTER_ID), "append from a foreign cluster");
            append(partition, log, batches);
            return new AppendOutcome(Result.APPENDED, at(partition));
        });
    }

    private void append(MirrorPartition partition, SimLog log, ByteBuffer batches) {
        TreeMap<Long, Batch> truth =
                source.topics.get(partition.topic()).partitions.get(partition.partition()).history;
        int at = batches.position();
        while (at < batches.limit()) {
            int size = BatchHeader.sizeInBytes(batches, at);
            long base = BatchHeader.baseOffset(batches, at);
            byte[] bytes = new byte[size];
            batches.get(at, bytes);
            Batch expected = truth.get(base);
            require(expected != null && java.util.Arrays.equals(expected.bytes(), bytes), "foreign bytes at " + base);
            require(expected.epoch() <= log.leaderEpoch, "batch epoch above the local leader epoch");
            if (!log.batches.isEmpty()) {
                require(
                        truth.lowerKey(base).equals(log.batches.lastKey()),
                        "a batch between " + log.batches.lastKey() + " and " + base + " is missing in " + partition);
            }
            log.batches.put(base, expected);
            log.end = expected.next();
            appends++;
            at += size;
        }
    }

    @Override
    public CompletionStage<Position> advanceStart(MirrorPartition partition, long startOffset) {
        return onLoop(partition, () -> {
            SimLog log = logs.get(partition);
            require(startOffset <= log.end, "log start past the log end");
            log.start = Math.max(log.start, startOffset);
            log.batches.headMap(log.start).values().removeIf(batch -> batch.next() <= log.start);
            return at(partition);
        });
    }

    @Override
    public CompletionStage<Position> truncateTo(MirrorPartition partition, long endOffset) {
        throw new AssertionError("nothing may be truncated (seed " + sim.seed + ")");
    }

    @Override
    public CompletionStage<Position> restartAt(MirrorPartition partition, long offset) {
        return onLoop(partition, () -> {
            SimLog log = logs.get(partition);
            require(log.start == log.end || offset > log.end, "records were dropped without a gap");
            log.batches.clear();
            log.start = offset;
            log.end = offset;
            restarts++;
            return at(partition);
        });
    }

    @Override
    public CompletionStage<Position> raiseLeaderEpoch(MirrorPartition partition, int epoch) {
        return onLoop(partition, () -> {
            SimLog log = logs.get(partition);
            log.leaderEpoch = Math.max(log.leaderEpoch, epoch);
            return at(partition);
        });
    }

    @Override
    public Optional<EpochEnd> endOfEpoch(MirrorPartition partition, int epoch) {
        EpochEnd found = null;
        for (Batch batch : logs.get(partition).batches.values()) {
            if (batch.epoch() <= epoch) {
                found = new EpochEnd(batch.epoch(), batch.next());
            }
        }
        return Optional.ofNullable(found);
    }

    @Override
    public CompletionStage<Position> closeMirror(MirrorPartition partition, boolean writable) {
        return onLoop(partition, () -> {
            if (writable) {
                PartitionState state = states.get(partition);
                require(state.phase() == Phase.STOPPED, "writable in state " + state);
                logs.get(partition).writable = true;
            }
            return at(partition);
        });
    }

    @Override
    public String clusterId() {
        return "here";
    }

    @Override
    public Optional<LocalTopic> topic(String name) {
        return Optional.ofNullable(topics.get(name));
    }

    @Override
    public Collection<LocalTopic> topicsOf(String mirror) {
        return List.copyOf(topics.values());
    }

    private <T> CompletionStage<T> change(Supplier<T> work) {
        CompletableFuture<T> future = new CompletableFuture<>();
        sim.after(sim.latency(10), () -> {
            T value;
            try {
                value = work.get();
            } catch (RuntimeException e) {
                future.completeExceptionally(e);
                return;
            }
            onChange.run();
            future.complete(value);
        });
        return future;
    }

    @Override
    public CompletionStage<LocalTopic> createMirrorTopic(
            String mirror,
            String topic,
            Uuid sourceTopicId,
            Map<Integer, Integer> leaderEpoch,
            Map<String, String> configs) {
        return change(() -> {
            if (topics.containsKey(topic)) {
                throw new Refused((short) 36, "exists");
            }
            LocalTopic made =
                    new LocalTopic(topic, sourceTopicId, leaderEpoch.size(), mirror, Desired.MIRRORING, sourceTopicId);
            topics.put(topic, made);
            leaderEpoch.forEach((p, epoch) -> addLog(made, p, epoch));
            return made;
        });
    }

    private void addLog(LocalTopic topic, int partition, int epoch) {
        SimLog log = new SimLog();
        log.leaderEpoch = epoch;
        logs.put(new MirrorPartition(topic.mirror(), topic.name(), topic.topicId(), partition), log);
    }

    @Override
    public CompletionStage<LocalTopic> adoptMirrorTopic(String mirror, String topic, Uuid sourceTopicId) {
        return change(() -> {
            LocalTopic made =
                    with(topics.get(topic), Desired.MIRRORING, topics.get(topic).partitions());
            logs.forEach((id, log) -> {
                if (id.topic().equals(topic)) {
                    log.writable = false;
                }
            });
            return made;
        });
    }

    @Override
    public CompletionStage<LocalTopic> growMirrorTopic(String mirror, String topic, int partitions, int leaderEpoch) {
        return change(() -> {
            LocalTopic before = topics.get(topic);
            LocalTopic made = with(before, before.desired(), partitions);
            for (int p = before.partitions(); p < partitions; p++) {
                addLog(made, p, leaderEpoch);
            }
            return made;
        });
    }

    private LocalTopic with(LocalTopic topic, Desired desired, int partitions) {
        LocalTopic made = new LocalTopic(
                topic.name(), topic.topicId(), partitions, topic.mirror(), desired, topic.sourceTopicId());
        topics.put(topic.name(), made);
        return made;
    }

    @Override
    public CompletionStage<Void> setDesired(String mirror, Collection<String> names, Desired desired) {
        return change(() -> {
            for (String name : names) {
                LocalTopic topic = topics.get(name);
                if (topic.desired() == Desired.STOPPED && desired != Desired.STOPPED) {
                    throw new Refused((short) 10004, "stopped");
                }
            }
            names.forEach(
                    name -> with(topics.get(name), desired, topics.get(name).partitions()));
            return null;
        });
    }

    @Override
    public CompletionStage<Void> pinSource(String mirror, String sourceClusterId) {
        return change(() -> {
            require(pinned == null || pinned.equals(sourceClusterId), "pinned twice");
            pinned = sourceClusterId;
            return null;
        });
    }

    @Override
    public Map<MirrorPartition, PartitionState> states(String mirror) {
        return Map.copyOf(states);
    }

    @Override
    public CompletionStage<PartitionState> propose(
            MirrorPartition partition, PartitionState next, int expectedStateEpoch) {
        CompletableFuture<PartitionState> future = new CompletableFuture<>();
        sim.after(sim.latency(10), () -> {
            PartitionState before = states.get(partition);
            int epoch = before == null ? 0 : before.stateEpoch();
            if (epoch != expectedStateEpoch) {
                future.completeExceptionally(new Fenced("epoch " + epoch));
                return;
            }
            if (sim.chance(0.01)) {
                future.completeExceptionally(new IllegalStateException("not proposed"));
                return;
            }
            PartitionState stored = new PartitionState(
                    next.phase(), epoch + 1, next.previous(), next.retryAttempt(), next.errorMessage());
            states.put(partition, stored);
            if (sim.chance(0.01)) {
                future.completeExceptionally(new IllegalStateException("outcome unknown"));
            } else {
                future.complete(stored);
            }
        });
        return future;
    }
}
