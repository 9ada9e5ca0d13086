package io.kagami.log.clean;

/** Slows compaction down to what the disk can spare, and ends it. */
public interface Pace {
    /** As fast as it goes. */
    Pace UNLIMITED = bytes -> {};

    /**
     * Called after bytes were read or written; waits as long as they are more than is allowed.
     *
     * @throws Stopped when compaction is to end now
     */
    void spent(long bytes) throws Stopped;

    /** Not an error: the broker stops, or compaction was switched off. */
    final class Stopped extends Exception {
        private static final long serialVersionUID = 1L;

        public Stopped() {
            super("compaction was stopped", null, false, false);
        }
    }
}
