package io.kagami.raft.core;

import java.util.Set;

/**
 * One voter's settings; relations are checked together.
 *
 * @param nodeId this voter
 * @param voters all voters, this one included
 * @param tickMs length of a tick in ms
 * @param electionTicks ticks without a leader before a candidacy; a sole voter does not wait
 * @param entryBytesMax largest entry that may be proposed
 * @param queuedProposalsMax proposals that wait for the loop; more are refused as overload
 * @param batchBytesMax proposals are gathered into one write and one fsync up to about this size
 * @param snapshotEntries applied entries after which a snapshot is taken
 * @param snapshotBytes applied bytes after which a snapshot is taken, whichever comes first
 */
public record RaftConfig(
        int nodeId,
        Set<Integer> voters,
        long tickMs,
        int electionTicks,
        int entryBytesMax,
        int queuedProposalsMax,
        int batchBytesMax,
        int snapshotEntries,
        long snapshotBytes) {
    /** No store accepts a larger entry: a length above it in a file is damage. */
    public static final int ENTRY_BYTES_LIMIT = 16 << 20;

    public RaftConfig {
        voters = Set.copyOf(voters);
        require(voters.contains(nodeId), "voter " + nodeId + " is not among the voters " + voters);
        require(tickMs >= 1, "a tick must last at least 1 ms, not " + tickMs);
        require(electionTicks >= 2, "an election needs at least 2 ticks, not " + electionTicks);
        require(
                entryBytesMax >= 1 && entryBytesMax <= ENTRY_BYTES_LIMIT,
                "the largest entry must be within 1.." + ENTRY_BYTES_LIMIT + " bytes, not " + entryBytesMax);
        require(queuedProposalsMax >= 1, "at least one proposal must be able to wait, not " + queuedProposalsMax);
        require(
                batchBytesMax >= entryBytesMax && batchBytesMax <= 2 * ENTRY_BYTES_LIMIT,
                "a batch must hold the largest entry (" + entryBytesMax + ") and not exceed " + 2 * ENTRY_BYTES_LIMIT
                        + " bytes: " + batchBytesMax);
        require(snapshotEntries >= 1, "a snapshot needs at least one entry, not " + snapshotEntries);
        require(snapshotBytes >= 1, "a snapshot needs at least one byte, not " + snapshotBytes);
    }

    /** A group of one with sizes that suit metadata. */
    public static RaftConfig single(int nodeId) {
        return new RaftConfig(nodeId, Set.of(nodeId), 100, 10, 4 << 20, 4096, 8 << 20, 20_000, 16L << 20);
    }

    private static void require(boolean holds, String otherwise) {
        if (!holds) {
            throw new IllegalArgumentException(otherwise);
        }
    }
}
