package io.kagami.broker;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread {@code shutdown} that the JVM starts at SIGTERM or Ctrl-C: stops the broker, then ends the process with code 0. */
final class ShutdownLoop {
    private static final Logger LOG = LoggerFactory.getLogger(ShutdownLoop.class);
    private static final long STOP_S = 30;

    private final CountDownLatch never = new CountDownLatch(1);
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final Thread stopping;

    ShutdownLoop(Broker broker) {
        stopping = new Thread(
                () -> {
                    int code = Main.FAILED;
                    try {
                        long begun = System.nanoTime();
                        LOG.info("stopping");
                        code = broker.stop() ? Main.OK : Main.FAILED;
                        LOG.info("stopped after {} ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
                    } finally {
                        stopped.countDown();
                        // the JVM would report the signal as exit code 143; a clean stop is no failure
                        Runtime.getRuntime().halt(code);
                    }
                },
                "shutdown");
        Thread watchdog = new Thread(
                () -> {
                    try {
                        // not join: the JVM starts both in any order, and joining a thread that has not begun returns
                        // at once
                        if (!stopped.await(STOP_S, TimeUnit.SECONDS)) {
                            LOG.error(
                                    "the broker has not stopped within {} s; ending without the mark of a clean stop",
                                    STOP_S);
                            Runtime.getRuntime().halt(Main.FAILED);
                        }
                    } catch (InterruptedException e) {
                        Thread.currentThread().interrupt();
                    }
                },
                "shutdown-watchdog");
        watchdog.setDaemon(true);
        Runtime.getRuntime().addShutdownHook(stopping);
        Runtime.getRuntime().addShutdownHook(watchdog);
    }

    /** Keeps the calling thread until the process ends. */
    void await() throws InterruptedException {
        never.await();
    }
}
