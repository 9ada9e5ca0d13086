package io.kagami.broker.clean;

import io.kagami.log.clean.Pace;
import java.util.function.LongSupplier;

/** One budget of bytes per second for all threads that compact, and the switch that ends them. Any thread. */
final class IoPace implements Pace {
    private static final double NANOS = 1e9;

    /** Unused budget is kept for so long, so that a short rest does not slow a thread down for ever. */
    private static final long BURST_NANOS = 100_000_000;

    private final double bytesPerSecond;
    private final LongSupplier nanoClock;
    private double freeAtNanos;
    private boolean stopped;

    /** @param nanoClock as {@link System#nanoTime} */
    IoPace(double bytesPerSecond, LongSupplier nanoClock) {
        this.bytesPerSecond = bytesPerSecond;
        this.nanoClock = nanoClock;
        this.freeAtNanos = nanoClock.getAsLong();
    }

    @Override
    public void spent(long bytes) throws Stopped {
        synchronized (this) {
            freeAtNanos = Math.max(freeAtNanos, (double) nanoClock.getAsLong() - BURST_NANOS)
                    + bytes / bytesPerSecond * NANOS;
            waitUntil((long) freeAtNanos);
            if (stopped) {
                throw new Stopped();
            }
        }
    }

    /** Waits for a time, or less when everything ends. */
    synchronized void rest(long ms) {
        waitUntil(nanoClock.getAsLong() + ms * 1_000_000);
    }

    /** Ended by {@link #stop}, not by an interrupt: that would close the file channel that is being read, for every reader. */
    private synchronized void waitUntil(long nanos) {
        try {
            for (long left = nanos - nanoClock.getAsLong(); !stopped && left > 0; ) {
                wait(Math.min(left / 1_000_000 + 1, 1_000));
                left = nanos - nanoClock.getAsLong();
            }
        } catch (InterruptedException e) {
            stopped = true;
            Thread.currentThread().interrupt();
        }
    }

    synchronized boolean stopped() {
        return stopped;
    }

    synchronized void stop() {
        stopped = true;
        notifyAll();
    }
}
