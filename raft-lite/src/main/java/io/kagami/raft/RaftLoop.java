package io.kagami.raft;

import io.kagami.raft.ProposalFailed.Reason;
import io.kagami.raft.core.Entry;
import io.kagami.raft.core.HardState;
import io.kagami.raft.core.LogTail;
import io.kagami.raft.core.RaftConfig;
import io.kagami.raft.core.RaftCore;
import io.kagami.raft.core.Ready;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
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
    private static final Logger LOG = LoggerFactory.getLogger(RaftLoop.class);

    public static final String THREAD_NAME = "raft-loop";
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

    private record Waiting(long index, CompletableFuture<Long> outcome) {}

    private final RaftConfig config;
    private final RaftStore store;
    private final Transport transport;
    private final ReplicatedMachine machine;
    private final Consumer<Throwable> fatal;
    private final ArrayBlockingQueue<Input> queue;
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
    private final CompletableFuture<Void> started = new CompletableFuture<>();
    private final Thread thread;
    private volatile boolean closing;
    /** Set, under {@code queue}, once nothing takes proposals from the queue any more. */
    private boolean ended;

    private volatile long appliedIndex;
    private RaftCore core;
    private int entriesSinceSnapshot;
    private long bytesSinceSnapshot;

    private RaftLoop(
            RaftConfig config,
            RaftStore store,
            Transport transport,
            ReplicatedMachine machine,
            Consumer<Throwable> fatal) {
        this.config = config;
        this.store = store;
        this.transport = transport;
        this.machine = machine;
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
        return appliedIndex;
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
            replay();
            started.complete(null);
            while (!(closing && queue.isEmpty())) {
                takeInputs();
                work();
                snapshotIfDue();
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

    private void replay() {
        RaftStore.Stored stored = store.load();
        long snapshotIndex = stored.snapshot().map(RaftStore.Snapshot::index).orElse(0L);
        long snapshotTerm = stored.snapshot().map(RaftStore.Snapshot::term).orElse(0L);
        stored.snapshot().ifPresent(s -> machine.restore(s.index(), s.state().bytes()));
        appliedIndex = snapshotIndex;
        core = new RaftCore(config, stored.hardState(), new LogTail(snapshotIndex, snapshotTerm, stored.entries()));
        HardState before = stored.hardState();
        core.tick();
        work();
        if (core.role() != RaftCore.Role.LEADER) {
            throw new IllegalStateException("a sole voter did not elect itself; it is " + core.role());
        }
        LOG.atInfo()
                .addKeyValue("term", core.term())
                .addKeyValue("termBefore", before.term())
                .addKeyValue("snapshotIndex", snapshotIndex)
                .addKeyValue("appliedIndex", appliedIndex)
                .log("the metadata log is replayed");
    }

    /** One group: proposals up to the next task or the size of a batch. */
    private void takeInputs() throws InterruptedException {
        Input next = queue.poll(config.tickMs(), TimeUnit.MILLISECONDS);
        if (next == null) {
            core.tick();
            return;
        }
        long bytes = 0;
        while (next != null) {
            if (next.task != null) {
                work();
                next.task.run();
                next.outcome.complete(appliedIndex);
                return;
            }
            bytes += next.entry.length;
            propose(next);
            next = bytes < config.batchBytesMax() ? queue.poll() : null;
        }
    }

    private void propose(Input input) {
        OptionalLong index = core.propose(input.entry);
        if (index.isPresent()) {
            waiting.add(new Waiting(index.getAsLong(), input.outcome));
        } else {
            input.outcome.completeExceptionally(new ProposalFailed(Reason.NOT_LEADER, "this voter does not lead"));
        }
    }

    private void work() {
        while (core.hasReady()) {
            Ready ready = core.ready();
            if (ready.hardState() != null) {
                store.saveHardState(ready.hardState());
            }
            if (!ready.entries().isEmpty()) {
                store.append(ready.entries());
            }
            ready.messages().forEach(transport::send);
            core.persisted(ready);
            ready.committed().forEach(this::apply);
        }
    }

    private void apply(Entry entry) {
        if (entry.kind() == Entry.Kind.COMMAND) {
            machine.apply(entry.index(), entry.data());
        }
        core.applied(entry.index());
        appliedIndex = entry.index();
        entriesSinceSnapshot++;
        bytesSinceSnapshot += entry.sizeInBytes();
        Waiting first = waiting.peek();
        if (first != null && first.index() == entry.index()) {
            waiting.remove();
            first.outcome().complete(entry.index());
        }
    }

    private void snapshotIfDue() {
        if (entriesSinceSnapshot < config.snapshotEntries() && bytesSinceSnapshot < config.snapshotBytes()) {
            return;
        }
        long index = core.appliedIndex();
        byte[] state = machine.snapshot();
        store.saveSnapshot(new RaftStore.Snapshot(index, core.log().termOf(index), new RaftStore.State(state)));
        core.compacted(index);
        LOG.atInfo()
                .addKeyValue("index", index)
                .addKeyValue("entries", entriesSinceSnapshot)
                .addKeyValue("bytes", state.length)
                .log("took a snapshot of the metadata");
        entriesSinceSnapshot = 0;
        bytesSinceSnapshot = 0;
    }

    private void end(ProposalFailed reason) {
        List<Input> left = new ArrayList<>();
        synchronized (queue) {
            ended = true;
            queue.drainTo(left);
        }
        waiting.forEach(w -> w.outcome().completeExceptionally(reason));
        waiting.clear();
        left.forEach(p ->
                p.outcome.completeExceptionally(new ProposalFailed(Reason.NOT_LEADER, "the metadata log is closed")));
    }
}
