package io.kagami.raft;

import io.kagami.raft.ProposalFailed.Reason;
import io.kagami.raft.core.Entry;
import io.kagami.raft.core.LogTail;
import io.kagami.raft.core.RaftConfig;
import io.kagami.raft.core.RaftCore;
import io.kagami.raft.core.Ready;
import java.util.ArrayDeque;
import java.util.OptionalLong;
import java.util.concurrent.CompletableFuture;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One voter without its thread: carries out what the core wants, in the order that makes an acknowledgement true (persist, send, apply,
 * answer). Not thread-safe. Whatever it throws leaves it unusable.
 */
final class Replica {
    private static final Logger LOG = LoggerFactory.getLogger(Replica.class);

    private record Waiting(long index, CompletableFuture<Long> outcome) {}

    private final RaftConfig config;
    private final RaftStore store;
    private final Transport transport;
    private final ReplicatedMachine machine;
    /** By index. */
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();

    private RaftCore core;
    private volatile long appliedIndex;
    private int entriesSinceSnapshot;
    private long bytesSinceSnapshot;

    Replica(RaftConfig config, RaftStore store, Transport transport, ReplicatedMachine machine) {
        this.config = config;
        this.store = store;
        this.transport = transport;
        this.machine = machine;
    }

    /** Brings the machine to where it was and leads in a new term. */
    void start() {
        RaftStore.Stored stored = store.load();
        long snapshotIndex = stored.snapshot().map(RaftStore.Snapshot::index).orElse(0L);
        long snapshotTerm = stored.snapshot().map(RaftStore.Snapshot::term).orElse(0L);
        stored.snapshot().ifPresent(s -> machine.restore(s.index(), s.state().bytes()));
        appliedIndex = snapshotIndex;
        core = new RaftCore(config, stored.hardState(), new LogTail(snapshotIndex, snapshotTerm, stored.entries()));
        core.tick();
        work();
        if (core.role() != RaftCore.Role.LEADER) {
            throw new IllegalStateException("a sole voter did not elect itself; it is " + core.role());
        }
        LOG.atInfo()
                .addKeyValue("term", core.term())
                .addKeyValue("termBefore", stored.hardState().term())
                .addKeyValue("snapshotIndex", snapshotIndex)
                .addKeyValue("appliedIndex", appliedIndex)
                .log("the metadata log is replayed");
        snapshotIfDue();
    }

    void tick() {
        core.tick();
        work();
    }

    /** Takes an entry into the next group; {@link #work} makes it durable and answers. */
    void propose(byte[] entry, CompletableFuture<Long> outcome) {
        OptionalLong index = core.propose(entry);
        if (index.isPresent()) {
            waiting.add(new Waiting(index.getAsLong(), outcome));
        } else {
            outcome.completeExceptionally(new ProposalFailed(Reason.NOT_LEADER, "this voter does not lead"));
        }
    }

    /** Does everything that is due: one fsync for all entries proposed since the last call. */
    void work() {
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
            machine.applied();
            answer();
        }
    }

    void snapshotIfDue() {
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

    /** Any thread. */
    long appliedIndex() {
        return appliedIndex;
    }

    long term() {
        return core.term();
    }

    void failWaiting(ProposalFailed reason) {
        waiting.forEach(w -> w.outcome().completeExceptionally(reason));
        waiting.clear();
    }

    private void apply(Entry entry) {
        if (entry.kind() == Entry.Kind.COMMAND) {
            machine.apply(entry.index(), entry.data());
        }
        core.applied(entry.index());
        appliedIndex = entry.index();
        entriesSinceSnapshot++;
        bytesSinceSnapshot += entry.sizeInBytes();
    }

    private void answer() {
        while (!waiting.isEmpty() && waiting.peek().index() <= appliedIndex) {
            Waiting first = waiting.remove();
            first.outcome().complete(first.index());
        }
    }
}
