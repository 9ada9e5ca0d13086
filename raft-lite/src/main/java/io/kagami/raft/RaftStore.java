package io.kagami.raft;

import io.kagami.raft.core.Entry;
import io.kagami.raft.core.HardState;
import java.util.List;
import java.util.Optional;

/**
 * Port: what survives a crash. Called on the raft loop only. Every write is on the disk when its method returns; a {@link StoreFault}
 * leaves the store unusable, because after a failed fsync nothing is known of what was written.
 */
public interface RaftStore extends AutoCloseable {
    /** A machine's whole state after the entry at {@code index}, which was written in {@code term}. */
    record Snapshot(long index, long term, State state) {}

    /** Bytes of a machine's state; not copied. */
    final class State {
        private final byte[] bytes;

        public State(byte[] bytes) {
            this.bytes = bytes;
        }

        public byte[] bytes() {
            return bytes;
        }
    }

    /** @param entries above the snapshot, in order, without holes */
    record Stored(HardState hardState, Optional<Snapshot> snapshot, List<Entry> entries) {}

    /** Reads everything; once, before any write. */
    Stored load();

    void saveHardState(HardState hardState);

    /** Entries continue the log. All of them become durable with one fsync. */
    void append(List<Entry> entries);

    /** Saves a snapshot and drops what only older snapshots needed. */
    void saveSnapshot(Snapshot snapshot);

    @Override
    void close();
}
