package io.kagami.raft;

import java.util.concurrent.CompletableFuture;

/** What the rest of the broker sees of the group: propose an entry, learn its index once it is durable, committed and applied. */
public interface Raft extends AutoCloseable {
    /**
     * Completes on the raft loop with the entry's index after the machine has applied it. Fails with {@link ProposalFailed}.
     * Proposals of one caller are applied in the order of the calls. Thread-safe.
     */
    CompletableFuture<Long> propose(byte[] entry);

    long appliedIndex();

    @Override
    void close();
}
