package io.kagami.broker.coordinator;

import io.kagami.broker.core.group.GroupLimits;
import io.kagami.broker.core.group.GroupRecord;
import io.kagami.broker.core.group.GroupRecords;
import io.kagami.broker.core.group.GroupShard;
import io.kagami.broker.core.group.Outcome;
import io.kagami.broker.partition.Partition;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Runs a shard on the loop of its own partition: load, decide, append, replay, reply. Public methods may be called from any thread and
 * never block. While an append is under way further events wait here in order, so every decision sees what was decided before. A shard
 * that throws is thrown away and loaded again: what it held in memory alone may be half-changed.
 */
public final class ShardHost {
    private static final Logger LOG = LoggerFactory.getLogger(ShardHost.class);

    /** Events that wait for this shard; beyond it clients are told to come back. */
    static final int WAITING_MAX = 10_000;

    /** Groups looked at in one go by the expiry, so that requests get their turn. */
    private static final int EXPIRY_SLICE = 200;

    private enum Phase {
        LOADING,
        READY,
        FAILED,
        CLOSED
    }

    /** Something that happens to the shard; {@code token} must be answered by this or a later outcome. */
    public interface Event {
        Outcome apply(GroupShard shard, long token, long nowMs);
    }

    private final Partition partition;
    private final GroupLimits limits;
    private final InstantSource clock;
    private final CoordinatorTimerLoop timers;
    private final AtomicInteger waitingCount = new AtomicInteger();

    // all below: the partition's loop only
    private final ArrayDeque<Runnable> waiting = new ArrayDeque<>();
    private final Map<Long, CompletableFuture<Object>> asked = new HashMap<>();
    private final Set<String> deletedMeanwhile = new LinkedHashSet<>();
    private Phase phase = Phase.LOADING;
    private GroupShard shard;
    private ShardLoad load;
    private long lastToken;
    private int renewal;
    private boolean appending;
    private boolean draining;
    private Future<?> alarm;
    private long alarmMs = Long.MAX_VALUE;

    ShardHost(Partition partition, GroupLimits limits, InstantSource clock, CoordinatorTimerLoop timers) {
        this.partition = partition;
        this.limits = limits;
        this.clock = clock;
        this.timers = timers;
    }

    Partition partition() {
        return partition;
    }

    /** Begins to load. */
    void start() {
        post(this::beginLoad);
    }

    /** No answers after this; what waits fails with NOT_COORDINATOR. */
    void close() {
        post(() -> {
            phase = Phase.CLOSED;
            failAsked(Errors.NOT_COORDINATOR, "the coordinator is closing");
            disarm();
        });
    }

    /** Fails with {@link ShardUnavailable} when the shard is loading, busy or gone. */
    public <T> CompletionStage<T> change(Class<T> replyType, Event event) {
        CompletableFuture<Object> reply = new CompletableFuture<>();
        submit(reply, () -> {
            long token = ++lastToken;
            asked.put(token, reply);
            decide(() -> event.apply(shard, token, clock.millis()));
        });
        return reply.thenApply(replyType::cast);
    }

    /** Shows the shard as it is; same failures as {@link #change}. */
    public <T> CompletionStage<T> read(Class<T> answerType, Function<GroupShard, T> question) {
        CompletableFuture<Object> reply = new CompletableFuture<>();
        submit(reply, () -> {
            long token = ++lastToken;
            asked.put(token, reply);
            T answer = question.apply(shard);
            asked.remove(token);
            reply.complete(answer);
        });
        return reply.thenApply(answerType::cast);
    }

    void topicDeleted(String topic) {
        post(() -> later(() -> {
            if (phase == Phase.LOADING && deletedMeanwhile.size() < WAITING_MAX) {
                deletedMeanwhile.add(topic);
            }
            decide(() -> shard.onTopicDeleted(topic, clock.millis()));
        }));
    }

    /** Looks for offsets and groups whose time is over. */
    void expire() {
        post(() -> later(() -> expireSome(shard.groupIds().iterator())));
    }

    private void expireSome(Iterator<String> groupIds) {
        for (int i = 0; i < EXPIRY_SLICE && groupIds.hasNext(); i++) {
            String groupId = groupIds.next();
            later(() -> decide(() -> shard.onExpiry(groupId, clock.millis())));
        }
        if (groupIds.hasNext()) {
            later(() -> expireSome(groupIds));
        }
    }

    private void submit(CompletableFuture<Object> reply, Runnable work) {
        if (waitingCount.incrementAndGet() > WAITING_MAX) {
            waitingCount.decrementAndGet();
            reply.completeExceptionally(
                    new ShardUnavailable(Errors.COORDINATOR_NOT_AVAILABLE, "too many requests wait for " + name()));
            return;
        }
        Runnable counted = () -> {
            waitingCount.decrementAndGet();
            if (partition.renewals() != renewal && phase != Phase.LOADING) {
                beginLoad(); // the log may hold more, or less, than was replayed
            }
            switch (phase) {
                case READY -> guard(work);
                case LOADING ->
                    reply.completeExceptionally(
                            new ShardUnavailable(Errors.COORDINATOR_LOAD_IN_PROGRESS, name() + " is being loaded"));
                case FAILED ->
                    reply.completeExceptionally(new ShardUnavailable(
                            Errors.COORDINATOR_NOT_AVAILABLE,
                            name() + " could not be loaded, an earlier line says why"));
                case CLOSED ->
                    reply.completeExceptionally(
                            new ShardUnavailable(Errors.NOT_COORDINATOR, name() + " has moved or is closing"));
            }
        };
        try {
            partition.loop().execute(() -> later(counted));
        } catch (RejectedExecutionException e) {
            waitingCount.decrementAndGet();
            reply.completeExceptionally(
                    new ShardUnavailable(Errors.COORDINATOR_NOT_AVAILABLE, "the loop of " + name() + " takes no more"));
        }
    }

    private void post(Runnable task) {
        try {
            partition.loop().execute(task);
        } catch (RejectedExecutionException e) {
            LOG.atDebug().addKeyValue("partition", name()).log("Coordinator task dropped: the loop is closed");
        }
    }

    /** On the loop: after everything that waits already. */
    private void later(Runnable task) {
        waiting.add(task);
        drain();
    }

    private void drain() {
        if (draining) {
            return;
        }
        draining = true;
        try {
            while (!appending && !waiting.isEmpty()) {
                waiting.poll().run();
            }
            runTimers();
        } finally {
            draining = false;
        }
    }

    private void runTimers() {
        if (phase != Phase.READY) {
            return;
        }
        OptionalLong next = shard.nextTimerMs();
        while (phase == Phase.READY && !appending && next.isPresent() && next.getAsLong() <= clock.millis()) {
            decide(() -> shard.onTimer(clock.millis()));
            next = shard.nextTimerMs();
        }
        if (phase == Phase.READY && next.isPresent() && next.getAsLong() < alarmMs) {
            disarm();
            alarmMs = next.getAsLong();
            alarm = timers.in(
                    alarmMs - clock.millis(),
                    () -> post(() -> {
                        alarmMs = Long.MAX_VALUE;
                        drain();
                    }));
        }
    }

    private void disarm() {
        if (alarm != null) {
            alarm.cancel(false);
        }
        alarm = null;
        alarmMs = Long.MAX_VALUE;
    }

    private interface Decision {
        Outcome make();
    }

    private void decide(Decision decision) {
        if (phase == Phase.READY) {
            guard(() -> carryOut(decision.make()));
        }
    }

    private void guard(Runnable work) {
        try {
            work.run();
        } catch (RuntimeException bug) {
            LOG.atError()
                    .addKeyValue("partition", name())
                    .setCause(bug)
                    .log("A coordinator shard failed and is loaded again");
            failAsked(Errors.UNKNOWN_SERVER_ERROR, name() + " failed and is loaded again");
            beginLoad();
        }
    }

    private void carryOut(Outcome outcome) {
        if (outcome.records().isEmpty()) {
            finish(outcome);
            return;
        }
        BatchBuilder batch = new BatchBuilder(Codec.NONE);
        long nowMs = clock.millis();
        for (GroupRecord record : outcome.records()) {
            batch.append(nowMs, GroupRecords.key(record), GroupRecords.value(record));
        }
        GroupShard decidedBy = shard;
        appending = true;
        partition.append(batch.build()).whenComplete((appended, failure) -> {
            appending = false;
            if (phase == Phase.READY && shard == decidedBy) {
                guard(() -> afterAppend(outcome, failure));
            }
            drain();
        });
    }

    private void afterAppend(Outcome outcome, Throwable failure) {
        if (failure == null) {
            outcome.records().forEach(shard::replay);
            finish(outcome);
            return;
        }
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        LOG.atWarn()
                .addKeyValue("partition", name())
                .addKeyValue("group", Printable.of(outcome.groupId()))
                .addKeyValue("records", outcome.records().size())
                .addKeyValue("reason", cause.toString())
                .log("Group records were not written");
        finish(shard.onRefused(outcome, Errors.forException(cause), clock.millis()));
    }

    private void finish(Outcome outcome) {
        for (Outcome.Transition moved : outcome.transitions()) {
            LOG.atInfo()
                    .addKeyValue("group", Printable.of(moved.groupId()))
                    .addKeyValue("from", moved.from().kafkaName())
                    .addKeyValue("to", moved.to().kafkaName())
                    .addKeyValue("generation", moved.generation())
                    .addKeyValue("members", moved.members())
                    .addKeyValue("reason", moved.reason())
                    .log("Group moved");
        }
        for (Outcome.Reply reply : outcome.replies()) {
            CompletableFuture<Object> future = asked.remove(reply.token());
            if (future == null) {
                throw new IllegalStateException("token " + reply.token() + " was answered twice");
            }
            future.complete(reply.body());
        }
    }

    private void failAsked(Errors error, String why) {
        List<CompletableFuture<Object>> open = List.copyOf(asked.values());
        asked.clear();
        open.forEach(reply -> reply.completeExceptionally(new ShardUnavailable(error, why)));
    }

    private void beginLoad() {
        if (phase == Phase.CLOSED) {
            return;
        }
        disarm();
        phase = Phase.LOADING;
        renewal = partition.renewals();
        shard = new GroupShard(limits);
        load = null;
        loadSome();
    }

    /** One chunk at a time, so that the other partitions of the loop get their turn. */
    private void loadSome() {
        if (phase != Phase.LOADING) {
            return;
        }
        try {
            if (load == null) {
                load = new ShardLoad(partition::view, shard);
            }
            if (load.step()) {
                post(this::loadSome);
                return;
            }
        } catch (RuntimeException e) {
            phase = Phase.FAILED;
            LOG.atError()
                    .addKeyValue("partition", name())
                    .setCause(e)
                    .log(
                            "A coordinator shard cannot be loaded; its groups are not available until its log can be read");
            drain();
            return;
        }
        LOG.atInfo()
                .addKeyValue("partition", name())
                .addKeyValue("groups", shard.groupIds().size())
                .addKeyValue("records", load.records())
                .addKeyValue("foreign", load.foreign())
                .log("Coordinator shard loaded");
        load = null;
        shard.onLoaded(clock.millis());
        phase = Phase.READY;
        List<String> deleted = List.copyOf(deletedMeanwhile);
        deletedMeanwhile.clear();
        deleted.forEach(this::topicDeleted);
        drain();
    }

    private String name() {
        return partition.topic() + "-" + partition.partition();
    }
}
