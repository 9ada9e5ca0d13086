package io.kagami.broker.partition;

import io.kagami.log.Appended;
import io.kagami.log.LogOptions;
import io.kagami.log.LogView;
import io.kagami.log.PartitionLog;
import io.kagami.log.StorageFault;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ProducerFault;
import io.kagami.mirror.ports.LocalPartitions.AppendOutcome;
import io.kagami.mirror.ports.LocalPartitions.Position;
import io.kagami.mirror.ports.LocalPartitions.Result;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.errors.InvalidTxnStateException;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.apache.kafka.common.errors.OutOfOrderSequenceException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.TransactionCoordinatorFencedException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A partition with its log on this broker. Fields are written by the loop alone and read by anyone. */
final class LocalPartition implements Partition {
    private static final Logger LOG = LoggerFactory.getLogger(LocalPartition.class);

    private final String topic;
    private final Uuid topicId;
    private final int number;
    private final PartitionLoop loop;
    private final FetchWaiters waiters = new FetchWaiters();
    private volatile PartitionLog log;
    /** Who may append when the log can be used. */
    private volatile Mode mode;
    /** The log cannot be written; it may be readable. */
    private volatile boolean offline;

    private volatile int renewals;
    private volatile String mirror;
    private volatile int leaderEpoch;
    private volatile TopicRules rules;
    private volatile boolean deleted;
    /** Below this everything is known to have come from the source, or to be there as well; only while mirrored. */
    private volatile long common;

    /** @param log null when there is none: the partition is offline then */
    LocalPartition(
            String topic,
            Uuid topicId,
            int number,
            PartitionLoop loop,
            PartitionLog log,
            Mode mode,
            String mirror,
            int leaderEpoch,
            TopicRules rules) {
        this.topic = topic;
        this.topicId = topicId;
        this.number = number;
        this.loop = loop;
        this.log = log;
        this.mode = mode;
        this.offline = log == null || log.offline();
        this.mirror = mirror;
        this.leaderEpoch = leaderEpoch;
        this.rules = rules;
    }

    @Override
    public String topic() {
        return topic;
    }

    @Override
    public Uuid topicId() {
        return topicId;
    }

    @Override
    public int partition() {
        return number;
    }

    @Override
    public Mode mode() {
        return offline ? Mode.OFFLINE : mode;
    }

    @Override
    public boolean readable() {
        PartitionLog current = log;
        return current != null && (!offline || current.readable());
    }

    @Override
    public String trouble() {
        PartitionLog current = log;
        if (!offline) {
            return "";
        }
        return current == null
                ? "its log is in a data directory that is offline, or could not be made"
                : current.fault().map(Throwable::getMessage).orElse("its storage failed");
    }

    @Override
    public int renewals() {
        return renewals;
    }

    @Override
    public int leaderEpoch() {
        return leaderEpoch;
    }

    @Override
    public TopicRules rules() {
        return rules;
    }

    @Override
    public LogView view() {
        PartitionLog current = log;
        if (current == null) {
            throw new StorageFault(this + " has no usable log; an earlier line says why", null);
        }
        return current.view();
    }

    @Override
    public long highWatermark() {
        return view().endOffset();
    }

    @Override
    public Executor loop() {
        return loop;
    }

    PartitionLoop owner() {
        return loop;
    }

    @Override
    public CompletionStage<Appended> append(ByteBuffer batches) {
        CompletableFuture<Appended> result = new CompletableFuture<>();
        Runnable work = () -> {
            CompletableFuture<Appended> written = new CompletableFuture<>();
            settle(written, () -> {
                refuseUnlessWritable();
                Appended appended = log.append(batches, leaderEpoch);
                waiters.passed(appended.endOffset());
                return appended;
            });
            written.whenComplete((appended, failure) -> {
                if (failure != null) {
                    result.completeExceptionally(failure);
                } else if (log.flushDue()) {
                    flushed().whenComplete((nothing, fault) -> complete(result, appended, fault));
                } else {
                    result.complete(appended);
                }
            });
        };
        // coordinators append on the loop itself, in the middle of a task
        if (loop.inLoop()) {
            work.run();
        } else if (!loop.offer(work)) {
            result.completeExceptionally(new TimeoutException("the broker has too much to write at the moment"));
        }
        return translate(result);
    }

    /** On the loop: completes there when all that was appended so far is on disk; the loop does not wait for it. */
    private CompletableFuture<Void> flushed() {
        CompletableFuture<Void> done = new CompletableFuture<>();
        PartitionLog forced = log;
        forced.forceSoon().whenComplete((nothing, failure) -> {
            try {
                loop.execute(() -> {
                    if (failure instanceof StorageFault fault && forced == log) {
                        takeOffline(fault);
                    }
                    complete(done, null, failure);
                });
            } catch (RejectedExecutionException e) {
                done.completeExceptionally(e);
            }
        });
        return done;
    }

    private static <T> void complete(CompletableFuture<T> result, T value, Throwable failure) {
        if (failure == null) {
            result.complete(value);
        } else {
            result.completeExceptionally(failure);
        }
    }

    /** Clients know storage trouble by Kafka's exception. */
    private static CompletableFuture<Appended> translate(CompletableFuture<Appended> result) {
        return result.exceptionally(failure -> {
            if (failure instanceof StorageFault) {
                throw new KafkaStorageException(failure.getMessage(), failure);
            }
            if (failure instanceof ProducerFault refused) {
                throw named(refused);
            }
            if (failure instanceof RuntimeException known) {
                throw known;
            }
            throw new CompletionException(failure);
        });
    }

    private static ApiException named(ProducerFault refused) {
        String why = refused.getMessage();
        return switch (refused.reason()) {
            case OUT_OF_ORDER_SEQUENCE -> new OutOfOrderSequenceException(why);
            case INVALID_PRODUCER_EPOCH -> new InvalidProducerEpochException(why);
            case INVALID_TXN_STATE -> new InvalidTxnStateException(why);
            case COORDINATOR_FENCED -> new TransactionCoordinatorFencedException(why);
        };
    }

    private void refuseUnlessWritable() {
        if (deleted) {
            throw new UnknownTopicOrPartitionException(this + " has been deleted");
        }
        if (offline) {
            throw new KafkaStorageException(this + " is offline: " + trouble());
        }
        if (mode == Mode.MIRRORED) {
            throw new InvalidRequestException("Topic " + topic + " is read-only: it is mirrored by the cluster mirror "
                    + mirror + ". Stop mirroring it to write to it.");
        }
    }

    @Override
    public CompletionStage<AppendOutcome> appendMirrored(long expectedEndOffset, ByteBuffer batches) {
        return onLoop(() -> {
            if (deleted || mode == Mode.WRITABLE) {
                return new AppendOutcome(Result.NOT_MIRRORED, position());
            }
            refuseIfOffline();
            if (log.view().endOffset() != expectedEndOffset) {
                return new AppendOutcome(Result.STALE, position());
            }
            if (highestEpoch(batches) > leaderEpoch) {
                return new AppendOutcome(Result.EPOCH_TOO_LOW, position());
            }
            Appended appended = log.appendMirrored(batches);
            common = appended.endOffset();
            waiters.passed(appended.endOffset());
            if (log.flushDue()) {
                flushed(); // nobody is told that it is safe: the source still has it
            }
            return new AppendOutcome(Result.APPENDED, position());
        });
    }

    private static int highestEpoch(ByteBuffer batches) {
        int highest = -1;
        int at = batches.position();
        while (at < batches.limit()) {
            highest = Math.max(highest, BatchHeader.leaderEpoch(batches, at));
            at += BatchHeader.sizeInBytes(batches, at);
        }
        return highest;
    }

    @Override
    public CompletionStage<Position> truncateTo(long endOffset) {
        return change(() -> {
            log.truncateTo(endOffset);
            common = Math.min(common, endOffset);
        });
    }

    @Override
    public CompletionStage<Position> restartAt(long offset) {
        return change(() -> {
            log.restartAt(offset);
            common = offset;
        });
    }

    @Override
    public CompletionStage<Position> advanceStart(long startOffset) {
        return change(() -> log.advanceStart(startOffset));
    }

    @Override
    public CompletionStage<Position> leaderEpoch(int epoch) {
        return change(() -> leaderEpoch = Math.max(leaderEpoch, epoch));
    }

    @Override
    public CompletionStage<Position> mode(Mode wanted) {
        return change(() -> switchTo(wanted));
    }

    private void switchTo(Mode wanted) {
        if (mode != wanted) {
            LOG.info("{} is {} now, it was {}", this, wanted, mode);
            common = 0; // what was written here need not be at the source
            mode = wanted;
        }
    }

    @Override
    public CompletionStage<Void> force() {
        CompletableFuture<Void> result = new CompletableFuture<>();
        onLoop(() -> {
                    refuseIfOffline();
                    return flushed();
                })
                .thenCompose(flush -> flush)
                .whenComplete((nothing, failure) -> complete(result, null, failure));
        return result;
    }

    @Override
    public Runnable onChange(long offset, Runnable wake) {
        Runnable cancel = waiters.add(offset, wake);
        PartitionLog current = log;
        // an append between the caller's look and its registration must not be missed
        if (deleted || current == null || current.offline() || current.view().endOffset() > offset) {
            waiters.passed(
                    current == null || deleted || current.offline()
                            ? Long.MAX_VALUE
                            : current.view().endOffset());
        }
        return cancel;
    }

    /** The image says something new about this partition. Mode is null when it says nothing new about that. */
    void follow(Mode wanted, String mirrorName, int epoch, TopicRules newRules) {
        assert loop.inLoop();
        mirror = mirrorName;
        rules = newRules;
        leaderEpoch = Math.max(leaderEpoch, epoch);
        if (wanted != null) {
            switchTo(wanted);
        }
        waiters.wakeAll();
    }

    /**
     * Offset that retention and compaction may not reach beyond: the high watermark, and of a mirrored partition what is known to be common with
     * the source, since all above may yet be cut. Any thread.
     *
     * @param mirroring whether the partition follows its source right now, so that all it holds is common
     */
    long cleanBound(boolean mirroring) {
        return mode == Mode.WRITABLE || mirroring ? highWatermark() : common;
    }

    /** Null when there is none. */
    PartitionLog log() {
        return log;
    }

    /** Runs upkeep of the log (roll, reconfigure); a fault takes the partition offline. */
    void upkeep(java.util.function.Consumer<PartitionLog> work) {
        assert loop.inLoop();
        if (deleted || offline) {
            return;
        }
        try {
            work.accept(log);
        } catch (StorageFault e) {
            takeOffline(e);
        }
    }

    /** The topic is gone: nothing is appended any more, and whoever waits learns it. */
    void markDeleted() {
        assert loop.inLoop();
        deleted = true;
        waiters.wakeAll();
    }

    int waiting() {
        return waiters.size();
    }

    private CompletionStage<Position> change(Runnable work) {
        return onLoop(() -> {
            refuseIfOffline();
            work.run();
            waiters.wakeAll();
            return position();
        });
    }

    private void refuseIfOffline() {
        if (deleted) {
            throw new UnknownTopicOrPartitionException(this + " has been deleted");
        }
        if (offline) {
            throw new StorageFault(this + " is offline: " + trouble(), null);
        }
    }

    private Position position() {
        LogView now = view();
        return new Position(
                now.startOffset(), now.endOffset(), now.endOffset(), now.lastEpoch(), leaderEpoch, now.sizeInBytes());
    }

    private <T> CompletionStage<T> onLoop(Supplier<T> work) {
        CompletableFuture<T> result = new CompletableFuture<>();
        if (loop.inLoop()) {
            settle(result, work);
            return result;
        }
        try {
            loop.execute(() -> settle(result, work));
        } catch (RejectedExecutionException e) {
            result.completeExceptionally(e);
        }
        return result;
    }

    /**
     * Expected refusals and disk faults end in the stage. IllegalArgumentException is the log's word for batches that do not continue it,
     * with nothing written. Anything else is a bug: the stage fails and the loop's fatal handler is told.
     */
    private <T> void settle(CompletableFuture<T> result, Supplier<T> work) {
        T value;
        try {
            value = work.get();
        } catch (StorageFault e) {
            takeOffline(e);
            result.completeExceptionally(e);
            return;
        } catch (ApiException | ProducerFault | IllegalArgumentException e) {
            result.completeExceptionally(e);
            return;
        } catch (RuntimeException | Error e) {
            result.completeExceptionally(e);
            throw e;
        }
        result.complete(value);
    }

    private void takeOffline(StorageFault fault) {
        if (!offline) {
            LOG.error("{} goes offline: {}", this, fault.getMessage(), fault);
            offline = true;
            log.retire();
            waiters.wakeAll();
        }
    }

    /** Whether what the log says and what is told here are two things: it failed while nobody used it, or it may be back. */
    boolean outOfStep(PartitionLog found) {
        PartitionLog current = log;
        return offline ? found != null && (found != current || !found.offline()) : current.offline();
    }

    /** The log as it is now in its directory: it failed on another thread, or was opened again. */
    void fallIn(PartitionLog found, LogOptions options) {
        assert loop.inLoop();
        if (deleted) {
            return;
        }
        if (!offline) {
            log.fault().ifPresent(this::takeOffline);
        } else if (found != null && !found.offline()) {
            found.reconfigure(options);
            log = found;
            offline = false;
            int renewed = renewals + 1; // one writer
            renewals = renewed;
            LOG.info(
                    "{} is online again, from {} to {}",
                    this,
                    found.view().startOffset(),
                    found.view().endOffset());
            waiters.wakeAll();
        } else if (found != null) {
            log = found; // still offline, perhaps for another reason
        }
    }

    @Override
    public String toString() {
        return topic + "-" + number;
    }
}
