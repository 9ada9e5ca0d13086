package io.kagami.mirror;

import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Bytes that may be asked for or wait for their append, over all mirrors of this broker: back-pressure without a queue of data. A grant
 * may be less than wanted; who gets nothing is woken when bytes come back. Thread-safe; waiters are served in order.
 */
public final class FlightBudget {
    private final long bytesMax;
    private final Deque<Runnable> waiters = new ArrayDeque<>();
    private long used;

    public FlightBudget(long bytesMax) {
        this.bytesMax = bytesMax;
    }

    /**
     * Takes between {@code min} and {@code wanted} bytes, or nothing (0): then {@code wake} runs once, on some thread, when it is worth
     * asking again. A min above the whole budget is granted when nothing else is in flight.
     */
    public synchronized long take(long min, long wanted, Runnable wake) {
        long free = bytesMax - used;
        if (free >= min || used == 0) {
            long granted = Math.max(Math.min(free, wanted), Math.min(min, wanted));
            used += granted;
            return granted;
        }
        waiters.add(wake);
        return 0;
    }

    /** An answer was larger than what was granted for it (one large batch): takes the rest, even beyond the bound. */
    public synchronized void takeMore(long bytes) {
        used += bytes;
    }

    public void give(long bytes) {
        Runnable[] woken;
        synchronized (this) {
            used -= bytes;
            if (used < 0) {
                throw new IllegalStateException("more bytes given back than taken");
            }
            woken = waiters.toArray(Runnable[]::new);
            waiters.clear();
        }
        for (Runnable wake : woken) {
            wake.run();
        }
    }

    public synchronized long used() {
        return used;
    }
}
