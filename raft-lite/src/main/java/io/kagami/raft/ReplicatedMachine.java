package io.kagami.raft;

/** Port: the state machine that committed entries are applied to. Called on the raft loop only, in index order; must be deterministic. */
public interface ReplicatedMachine {
    void apply(long index, byte[] entry);

    /** After the last of the entries that were applied together, before anybody is told that they are. */
    default void applied() {}

    /** The whole state as bytes, at the index last applied. */
    byte[] snapshot();

    /** Replaces the whole state by a snapshot taken at {@code index}. */
    void restore(long index, byte[] snapshot);
}
