package io.kagami.raft;

import io.kagami.raft.ProposalFailed.Reason;
import io.kagami.raft.core.RaftConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Owns the thread {@code raft-loop}: takes proposals in groups, persists a group with one fsync, applies what is committed, takes
 * snapshots. Whatever goes wrong in it is fatal: proposals in flight fail with OUTCOME_UNKNOWN and the fatal handler is called.
 */
public final class RaftLoop implements Raft {
    public static final String THREAD_NAME = "raft-loop";

    private static final Logger LOG = LoggerFactory.getLogger(RaftLoop.class);
    private static final long CLOSE_MS_MAX = 30_000;
    /** Places in the queue that proposals cannot take. */
    private static final int TASKS_MAX = 64;

    /** What waits for the loop: an entry to propose, or (entry null) a task to run between two groups. */
    private static final class Input {
        final byte[] entry;
        final Runnable task;
        final CompletableFuture<Long> outcome = new CompletableFuture<>();

        Input(byte[] entry, Runnable task) {
            this.entry = entry;
            this.task = task;
        }
    }

    private final RaftConfig config;
    private final RaftStore store;
    private final Replica replica;
    private final Consumer<Throwable> fatal;
    private final ArrayBlockingQueue<Input> queue;
    private final CompletableFuture<Void> started = new CompletableFuture<>();
    private final Thread thread;
    private volatile boolean closing;
    /** Set, under {@code queue}, once nothing takes proposals from the queue any more. */
    private boolean ended;

    private RaftLoop(
            RaftConfig config,
            RaftStore store,
            Transport transport,
            ReplicatedMachine machine,
            Consumer<Throwable> fatal) {
        this.config = config;
        this.store = store;
        this.replica = new Replica(config, store, transport, machine);
        this.fatal = fatal;
        this.queue = new ArrayBlockingQueue<>(config.queuedProposalsMax() + TASKS_MAX);
        this.thread = new Thread(this::run, THREAD_NAME);
    }

    /**
     * Replays snapshot and log into the machine and returns once this voter leads and has applied everything it had acknowledged.
     *
     * @param store taken over, also when the start fails
     * @param fatal told, on the raft loop, why the loop ended by itself; the process should end then
     * @throws StoreFault when the files cannot be read
     */
    public static RaftLoop start(
            RaftConfig config,
            RaftStore store,
            Transport transport,
            ReplicatedMachine machine,
            Consumer<Throwable> fatal) {
        if (config.voters().size() != 1) {
            store.close();
            throw new IllegalArgumentException("a group has one voter in this release, not " + config.voters());
        }
        RaftLoop loop = new RaftLoop(config, store, transport, machine, fatal);
        loop.thread.start();
        try {
            loop.started.get();
            return loop;
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            throw new IllegalStateException("the raft loop did not start", e.getCause());
        } catch (InterruptedException e) {
            loop.close();
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while the metadata log was replayed", e);
        }
    }

    @Override
    public CompletableFuture<Long> propose(byte[] entry) {
        if (entry.length > config.entryBytesMax()) {
            return CompletableFuture.failedFuture(new ProposalFailed(
                    Reason.TOO_LARGE,
                    "an entry of " + entry.length + " bytes exceeds the limit of " + config.entryBytesMax()));
        }
        return enqueue(new Input(entry, null), config.queuedProposalsMax());
    }

    /**
     * Runs a task on the raft loop, after everything that was proposed before it has been applied. Completes with the index applied last
     * before it. Thread-safe. An exception of the task is fatal to the loop.
     */
    public CompletableFuture<Long> onLoop(Runnable task) {
        return enqueue(new Input(null, task), config.queuedProposalsMax() + TASKS_MAX);
    }

    private CompletableFuture<Long> enqueue(Input input, int queuedMax) {
        ProposalFailed refused = null;
        synchronized (queue) {
            if (closing || ended) {
                refused = new ProposalFailed(Reason.NOT_LEADER, "the metadata log is closed");
            } else if (queue.size() >= queuedMax) {
                refused = new ProposalFailed(
                        Reason.OVERLOADED, queue.size() + " changes of metadata are waiting already; try again later");
            } else {
                queue.add(input);
            }
        }
        if (refused != null) {
            input.outcome.completeExceptionally(refused);
        }
        return input.outcome;
    }

    @Override
    public long appliedIndex() {
        return replica.appliedIndex();
    }

    /** Finishes what was proposed before and closes the store. Returns within 30 s. */
    @Override
    public void close() {
        synchronized (queue) {
            closing = true;
        }
        if (Thread.currentThread().equals(thread)) {
            return;
        }
        try {
            thread.join(CLOSE_MS_MAX);
            if (thread.isAlive()) {
                LOG.atError().addKeyValue("waitedMs", CLOSE_MS_MAX).log("the raft loop did not end: its disk hangs");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        try (store) {
            replica.start();
            started.complete(null);
            while (!(closing && queue.isEmpty())) {
                takeInputs();
                replica.work();
                replica.snapshotIfDue();
            }
            end(new ProposalFailed(Reason.NOT_LEADER, "the metadata log is closed"));
        } catch (Throwable failure) {
            end(new ProposalFailed(
                    Reason.OUTCOME_UNKNOWN, "the metadata log failed; the change may have happened: " + failure));
            if (!started.completeExceptionally(failure)) {
                LOG.atError().setCause(failure).log("the raft loop has failed");
                fatal.accept(failure);
            }
        }
    }

    /** One group: proposals up to the next task or the size of a batch. */
    private void takeInputs() throws InterruptedException {
        Input next = queue.poll(config.tickMs(), TimeUnit.MILLISECONDS);
        if (next == null) {
            replica.tick();
            return;
        }
        long bytes = 0;
        while (next != null) {
            if (next.task != null) {
                replica.work();
                next.task.run();
                next.outcome.complete(replica.appliedIndex());
                return;
            }
            bytes += next.entry.length;
            replica.propose(next.entry, next.outcome);
            next = bytes < config.batchBytesMax() ? queue.poll() : null;
        }
    }

    private void end(ProposalFailed reason) {
        List<Input> left = new ArrayList<>();
        synchronized (queue) {
            ended = true;
            queue.drainTo(left);
        }
        replica.failWaiting(reason);
        left.forEach(p ->
                p.outcome.completeExceptionally(new ProposalFailed(Reason.NOT_LEADER, "the metadata log is closed")));
    }
}
