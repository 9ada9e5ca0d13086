package io.kagami.broker.cluster;

import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.ClusterRecordCodec;
import io.kagami.broker.core.cluster.ClusterSnapshot;
import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.raft.ReplicatedMachine;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * The metadata as the raft log's state machine. An entry is {@code int64 session | int64 number | record}: the first two name the
 * proposal for the one who waits for its outcome.
 */
final class ClusterMachine implements ReplicatedMachine {
    static final int PROPOSAL_BYTES = 16;

    /** Hears the outcome of every applied proposal, after the listeners. */
    interface Outcomes {
        void applied(long session, long number, ClusterState before, ClusterState.Applied applied);
    }

    private final Outcomes outcomes;
    private final List<BiConsumer<ClusterImage, ClusterImage>> listeners = new ArrayList<>();
    private volatile ClusterState state = ClusterState.EMPTY;

    ClusterMachine(Outcomes outcomes) {
        this.outcomes = outcomes;
    }

    ClusterState state() {
        return state;
    }

    /** On the raft loop. */
    void listen(BiConsumer<ClusterImage, ClusterImage> listener) {
        listener.accept(ClusterState.EMPTY, state);
        listeners.add(listener);
    }

    @Override
    public void apply(long index, byte[] entry) {
        ByteBuffer bytes = ByteBuffer.wrap(entry);
        long session = bytes.getLong();
        long number = bytes.getLong();
        ClusterState before = state;
        ClusterState.Applied applied;
        try {
            applied = before.apply(index, ClusterRecordCodec.decode(bytes));
        } catch (IllegalStateException e) {
            throw new IllegalStateException("entry " + index + " of the metadata log: " + e.getMessage(), e);
        }
        state = applied.state();
        if (applied.refusal().isEmpty()) {
            listeners.forEach(listener -> listener.accept(before, applied.state()));
        }
        outcomes.applied(session, number, before, applied);
    }

    @Override
    public byte[] snapshot() {
        return ClusterSnapshot.encode(state);
    }

    @Override
    public void restore(long index, byte[] snapshot) {
        ClusterState before = state;
        ClusterState restored = ClusterSnapshot.decode(snapshot);
        if (restored.index() > index) {
            throw new IllegalStateException(
                    "a snapshot of index " + index + " holds metadata of index " + restored.index());
        }
        state = restored;
        listeners.forEach(listener -> listener.accept(before, restored));
    }
}
