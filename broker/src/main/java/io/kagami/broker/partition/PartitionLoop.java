package io.kagami.broker.partition;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiConsumer;

/**
 * A thread that owns many partitions: their logs, modes and epochs, and the coordinator shards on them. Tasks run one at a time in the
 * order they were handed over.
 *
 * <p>Two bounds on one queue: clients' work ({@link #offer}) is refused beyond {@link #CLIENT_TASKS_MAX}, so that the broker's own work
 * ({@link #execute}: mode changes, coordinators, mirrors) always finds room; that is refused beyond {@link #TASKS_MAX}, which only a bug
 * can reach. A task that throws is a bug as well: the state it left may be half-changed, so the fatal handler is told.
 */
final class PartitionLoop implements Executor, AutoCloseable {
    static final int CLIENT_TASKS_MAX = 10_000;
    static final int TASKS_MAX = 1_000_000;

    private final BlockingQueue<Runnable> tasks = new LinkedBlockingQueue<>(TASKS_MAX);
    private final AtomicInteger clientTasks = new AtomicInteger();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread thread;
    private final BiConsumer<String, Throwable> fatal;
    private volatile boolean closing;

    PartitionLoop(String name, BiConsumer<String, Throwable> fatal) {
        this.fatal = fatal;
        this.thread = new Thread(this::run, name);
        thread.setDaemon(true);
        thread.start();
    }

    boolean inLoop() {
        return Thread.currentThread() == thread;
    }

    @Override
    public void execute(Runnable task) {
        if (closing || !tasks.offer(task)) {
            throw new RejectedExecutionException(thread.getName() + (closing ? " is closed" : " has too much to do"));
        }
    }

    /** Queues a client's work; false when there is too much of it already. */
    boolean offer(Runnable task) {
        if (clientTasks.incrementAndGet() > CLIENT_TASKS_MAX) {
            clientTasks.decrementAndGet();
            return false;
        }
        try {
            execute(() -> {
                clientTasks.decrementAndGet();
                task.run();
            });
            return true;
        } catch (RejectedExecutionException e) {
            clientTasks.decrementAndGet();
            return false;
        }
    }

    int queued() {
        return tasks.size();
    }

    private void run() {
        try {
            while (!closing || !tasks.isEmpty()) {
                Runnable task = tasks.poll(closing ? 0 : 1, TimeUnit.SECONDS);
                if (task != null) {
                    runOne(task);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            fatal.accept(thread.getName() + " was interrupted", e);
        } finally {
            ended.countDown();
        }
    }

    private void runOne(Runnable task) {
        try {
            task.run();
        } catch (RuntimeException | Error e) {
            fatal.accept(thread.getName() + " met a broken invariant", e);
        }
    }

    /** Runs what is queued, takes nothing new, and waits for the end. Not from the loop itself. */
    @Override
    public void close() {
        closing = true;
        tasks.offer(() -> {});
        try {
            if (!ended.await(10, TimeUnit.SECONDS)) {
                fatal.accept(thread.getName() + " does not end", new IllegalStateException("still busy after 10 s"));
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
