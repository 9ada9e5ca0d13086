package io.kagami.log;

import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The thread {@code upkeep} of one data directory: checkpoints, probes and recoveries, so that a directory whose disk hangs holds up no other.
 * While it is busy nothing more than one task waits; what is refused comes again by itself a little later.
 */
final class UpkeepLoop implements AutoCloseable {
    private static final int WAITING_MAX = 2;
    private static final int CLOSE_S = 5;

    private final AtomicInteger waiting = new AtomicInteger();
    private final ExecutorService thread;

    UpkeepLoop(int number) {
        thread = Executors.newSingleThreadExecutor(task -> {
            Thread made = new Thread(task, "upkeep-" + number);
            made.setDaemon(true);
            return made;
        });
    }

    /** False when it has enough to do. */
    boolean offer(Runnable task) {
        if (waiting.incrementAndGet() > WAITING_MAX) {
            waiting.decrementAndGet();
            return false;
        }
        try {
            thread.execute(() -> {
                try {
                    task.run();
                } finally {
                    waiting.decrementAndGet();
                }
            });
            return true;
        } catch (RejectedExecutionException closed) {
            waiting.decrementAndGet();
            return false;
        }
    }

    /** Lets the running task end, but does not wait for ever. */
    @Override
    public void close() {
        thread.shutdown();
        try {
            if (!thread.awaitTermination(CLOSE_S, TimeUnit.SECONDS)) {
                thread.shutdownNow();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
