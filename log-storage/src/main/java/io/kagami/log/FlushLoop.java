package io.kagami.log;

import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/**
 * The threads {@code flush-N} of one data directory, which wait for its disk so that no other thread has to. All who ask for the same log
 * while one force of it runs are served by the next one together. Bounded by the number of logs: each waits here once at most.
 */
final class FlushLoop implements AutoCloseable {
    /** Forces of different files that are under way together share the commits of the file system's journal. */
    private static final int THREADS = 4;

    private static final int IDLE_S = 30;
    private static final int CLOSE_S = 5;

    private final Map<PartitionLog, Turn> turns = new HashMap<>();
    private final ThreadPoolExecutor threads;

    /** One log: the force that is asked for and not begun, or null. */
    private static final class Turn {
        private CompletableFuture<Void> next = new CompletableFuture<>();
    }

    FlushLoop() {
        int[] number = {0};
        this.threads = new ThreadPoolExecutor(
                THREADS, THREADS, IDLE_S, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread made = new Thread(task, "flush-" + number[0]++);
                    made.setDaemon(true);
                    return made;
                });
        threads.allowCoreThreadTimeOut(true);
    }

    /** Completes on a flush thread when all that the view of the log shows by now is on disk, or with a {@link StorageFault}. */
    CompletableFuture<Void> force(PartitionLog log) {
        CompletableFuture<Void> asked;
        synchronized (turns) {
            Turn turn = turns.get(log);
            if (turn != null) {
                turn.next = turn.next == null ? new CompletableFuture<>() : turn.next;
                return turn.next;
            }
            turn = new Turn();
            asked = turn.next;
            turns.put(log, turn);
        }
        submit(log);
        return asked;
    }

    private void submit(PartitionLog log) {
        try {
            threads.execute(() -> runOne(log));
        } catch (RejectedExecutionException closed) {
            CompletableFuture<Void> asked;
            synchronized (turns) {
                asked = turns.remove(log).next;
            }
            asked.completeExceptionally(new StorageFault("log " + log.name() + " is being closed", closed));
        }
    }

    private void runOne(PartitionLog log) {
        CompletableFuture<Void> asked;
        synchronized (turns) {
            Turn turn = turns.get(log);
            asked = turn.next;
            turn.next = null;
        }
        Throwable failure = null;
        try {
            log.force();
        } catch (RuntimeException | Error e) {
            failure = e;
        }
        boolean again;
        synchronized (turns) {
            again = turns.get(log).next != null;
            if (!again) {
                turns.remove(log);
            }
        }
        if (again) {
            submit(log);
        }
        if (failure == null) {
            asked.complete(null);
        } else {
            asked.completeExceptionally(failure);
        }
    }

    /** Forces what was asked for; does not wait for ever for a disk that hangs. */
    @Override
    public void close() {
        threads.shutdown();
        try {
            if (!threads.awaitTermination(CLOSE_S, TimeUnit.SECONDS)) {
                threads.shutdownNow();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
