package io.kagami.mirror;

import java.time.InstantSource;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The thread {@code mirror-loop-NAME}. Its queue is bounded by what can be pending: one turn per request in flight, per append in
 * flight (both bounded by the byte budget), per timer of a partition, and per command of an operator.
 */
public final class MirrorLoop implements Turns, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(MirrorLoop.class);

    private final String mirror;
    private final InstantSource clock;
    private final ScheduledThreadPoolExecutor executor;
    private volatile Thread thread;

    public MirrorLoop(String mirror, InstantSource clock) {
        this.mirror = mirror;
        this.clock = clock;
        this.executor = new ScheduledThreadPoolExecutor(1, task -> {
            Thread created = new Thread(task, "mirror-loop-" + mirror);
            created.setDaemon(true);
            thread = created;
            return created;
        });
        executor.setRemoveOnCancelPolicy(true);
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    @Override
    public void post(Runnable turn) {
        try {
            executor.execute(guarded(turn));
        } catch (RejectedExecutionException e) {
            // only after close: nobody is left to act for
            LOG.atDebug().addKeyValue("mirror", mirror).log("Dropped a turn of a closed mirror");
        }
    }

    @Override
    public Cancel after(long delayMs, Runnable turn) {
        try {
            ScheduledFuture<?> scheduled = executor.schedule(guarded(turn), delayMs, TimeUnit.MILLISECONDS);
            return () -> scheduled.cancel(false);
        } catch (RejectedExecutionException e) {
            return () -> {};
        }
    }

    @Override
    public long nowMs() {
        return clock.millis();
    }

    @Override
    public double jitter() {
        return ThreadLocalRandom.current().nextDouble();
    }

    @Override
    public boolean inLoop() {
        return Thread.currentThread() == thread;
    }

    /** No further turns; does not wait. */
    public void shutdown() {
        executor.shutdown();
    }

    /** Lets turns that are due finish, at most five seconds; delayed ones are dropped. */
    @Override
    public void close() {
        executor.shutdown();
        try {
            if (!executor.awaitTermination(5, TimeUnit.SECONDS)) {
                executor.shutdownNow();
            }
        } catch (InterruptedException e) {
            executor.shutdownNow();
            Thread.currentThread().interrupt();
        }
    }

    private Runnable guarded(Runnable turn) {
        return () -> {
            try {
                turn.run();
            } catch (Throwable t) {
                // a bug; the thread lives on for the partitions it does not concern
                LOG.atError().addKeyValue("mirror", mirror).setCause(t).log("A turn of the mirror loop failed");
            }
        };
    }
}
