package io.kagami.log;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Consumer;

/** The threads {@code recovery-N} that open and close many logs at once; they live as long as that takes. */
final class RecoveryLoop implements AutoCloseable {
    /** For work that is all waiting for the disk: forces of different files that are under way together share commits of its journal. */
    static final int DISK_THREADS = 8;

    private final ExecutorService threads;

    private RecoveryLoop(int count) {
        int[] number = {0};
        this.threads = Executors.newFixedThreadPool(count, task -> {
            Thread made = new Thread(task, "recovery-" + number[0]++);
            made.setDaemon(true);
            return made;
        });
    }

    /**
     * Does the task for each, on that many threads, and returns when all are done. With one thread, or one thing to do, that is the caller's.
     * What a task throws is thrown here, after all have ended.
     */
    static <T> void forEach(int threads, Collection<T> all, Consumer<T> task) {
        if (threads <= 1 || all.size() <= 1) {
            all.forEach(task);
            return;
        }
        try (RecoveryLoop loop = new RecoveryLoop(Math.min(threads, all.size()))) {
            loop.run(all, task);
        }
    }

    /**
     * Does the task for each, all at once, and returns when all are done or the time is over; those that are not are left behind.
     *
     * @return what went wrong, by what it went wrong with
     */
    static <T> Map<T, Throwable> forEachWithin(int seconds, Collection<T> all, Consumer<T> task) {
        Map<T, Throwable> failed = new LinkedHashMap<>();
        if (all.isEmpty()) {
            return failed;
        }
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(seconds);
        try (RecoveryLoop loop = new RecoveryLoop(all.size())) {
            Map<T, Future<?>> results = new LinkedHashMap<>();
            all.forEach(each -> results.put(each, loop.threads.submit(() -> task.accept(each))));
            results.forEach((each, result) -> {
                try {
                    result.get(Math.max(0, end - System.nanoTime()), TimeUnit.NANOSECONDS);
                } catch (ExecutionException e) {
                    failed.put(each, e.getCause());
                } catch (TimeoutException e) {
                    failed.put(each, new TimeoutException("its disk has not answered for " + seconds + " s"));
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                    failed.put(each, e);
                }
            });
        }
        return failed;
    }

    private <T> void run(Collection<T> all, Consumer<T> task) {
        List<Future<?>> results = new ArrayList<>(all.size());
        all.forEach(each -> results.add(threads.submit(() -> task.accept(each))));
        Throwable failed = null;
        for (Future<?> result : results) {
            try {
                result.get();
            } catch (ExecutionException e) {
                failed = failed == null ? e.getCause() : failed;
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new StorageFault("interrupted while logs were opened or closed", e);
            }
        }
        if (failed instanceof Error error) {
            throw error;
        }
        if (failed != null) {
            throw (RuntimeException) failed; // a task declares no other
        }
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
