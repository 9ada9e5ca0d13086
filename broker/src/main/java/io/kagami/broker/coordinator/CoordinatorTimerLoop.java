package io.kagami.broker.coordinator;

import java.util.concurrent.Future;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * One thread that wakes shards. It does no work itself: every task posts to a partition's loop. At most one task per shard waits here,
 * and the periodic ones.
 */
final class CoordinatorTimerLoop implements AutoCloseable {
    private final ScheduledThreadPoolExecutor executor;

    CoordinatorTimerLoop() {
        executor = new ScheduledThreadPoolExecutor(1, task -> {
            Thread thread = new Thread(task, "coordinator-timer");
            thread.setDaemon(true);
            return thread;
        });
        executor.setRemoveOnCancelPolicy(true);
        executor.setContinueExistingPeriodicTasksAfterShutdownPolicy(false);
        executor.setExecuteExistingDelayedTasksAfterShutdownPolicy(false);
    }

    Future<?> in(long delayMs, Runnable task) {
        return executor.schedule(task, Math.max(delayMs, 0), TimeUnit.MILLISECONDS);
    }

    void every(long periodMs, Runnable task) {
        executor.scheduleWithFixedDelay(task, periodMs, periodMs, TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        executor.shutdownNow();
    }
}
