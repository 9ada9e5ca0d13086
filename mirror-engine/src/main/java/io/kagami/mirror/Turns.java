package io.kagami.mirror;

/**
 * The one thread of a mirror, seen from what runs on it: turns run one after another. The real one is {@link MirrorLoop}; a simulation
 * has its own, with a seeded order and a clock it moves.
 */
public interface Turns {
    /** From any thread: runs the turn soon, after those posted before. */
    void post(Runnable turn);

    /** In a turn: runs another after the delay, unless cancelled first. */
    Cancel after(long delayMs, Runnable turn);

    /** Wall clock in ms. */
    long nowMs();

    /** Uniform in [0, 1). */
    double jitter();

    boolean inLoop();

    /** Takes a delayed turn back; no effect when it has run. */
    interface Cancel {
        void cancel();
    }
}
