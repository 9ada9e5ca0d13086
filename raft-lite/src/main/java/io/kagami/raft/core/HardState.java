package io.kagami.raft.core;

/**
 * What a voter must remember for ever, durable before any message that depends on it is sent.
 *
 * @param term highest term seen; never goes back
 * @param votedFor who got this voter's vote in {@code term}, or {@link #NOBODY}
 */
public record HardState(long term, int votedFor) {
    public static final int NOBODY = -1;
    public static final HardState INITIAL = new HardState(0, NOBODY);

    public HardState {
        if (term < 0) {
            throw new IllegalArgumentException("a term must not be negative: " + term);
        }
    }
}
