package io.kagami.broker.cluster;

import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.ClusterRecord;
import io.kagami.broker.core.cluster.ClusterRecord.LeaderEpochRaised;
import io.kagami.broker.core.cluster.ClusterRecord.MirrorStatePut;
import io.kagami.broker.core.cluster.ClusterRecord.TopicCreated;
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

    /** Bounds what a replay of the whole log holds on to. */
    private static final int TOGETHER_MAX = 256;

    /** Hears the outcome of every applied proposal, after the listeners. */
    interface Outcomes {
        void applied(long session, long number, ClusterState before, ClusterState.Applied applied);
    }

    private record Untold(long session, long number, ClusterState before, ClusterState.Applied applied) {}

    private final Outcomes outcomes;
    private final List<BiConsumer<ClusterImage, ClusterImage>> listeners = new ArrayList<>();
    /** Applied, and neither the listeners nor those who wait know. */
    private final List<Untold> untold = new ArrayList<>();

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
        ClusterRecord record;
        ClusterState.Applied applied;
        try {
            record = ClusterRecordCodec.decode(bytes);
            applied = before.apply(index, record);
        } catch (IllegalStateException e) {
            throw new IllegalStateException("entry " + index + " of the metadata log: " + e.getMessage(), e);
        }
        boolean many = comesInNumbers(record);
        if (!many) {
            applied();
        }
        state = applied.state();
        untold.add(new Untold(session, number, before, applied));
        if (!many || untold.size() >= TOGETHER_MAX) {
            applied();
        }
    }

    /**
     * Topics are created, and partitions of mirrors change their states, by the hundred: those that became durable together are told
     * together, so that hundreds of logs are made at once. Every other change is told by itself.
     */
    private static boolean comesInNumbers(ClusterRecord record) {
        return record instanceof TopicCreated
                || record instanceof MirrorStatePut
                || record instanceof LeaderEpochRaised;
    }

    @Override
    public void applied() {
        if (untold.isEmpty()) {
            return;
        }
        List<Untold> told = List.copyOf(untold);
        untold.clear();
        ClusterState before = told.get(0).before();
        ClusterState after = state;
        if (told.stream().anyMatch(each -> each.applied().refusal().isEmpty())) {
            listeners.forEach(listener -> listener.accept(before, after));
        }
        told.forEach(each -> outcomes.applied(each.session(), each.number(), each.before(), each.applied()));
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
