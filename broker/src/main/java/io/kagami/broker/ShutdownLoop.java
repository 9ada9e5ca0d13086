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
    private final Thread stopping;

    ShutdownLoop(Broker broker) {
        stopping = new Thread(
                () -> {
                    long begun = System.nanoTime();
                    LOG.info("stopping");
                    broker.close();
                    LOG.info("stopped after {} ms", TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - begun));
                    // the JVM would report the signal as exit code 143; a clean stop is no failure
                    Runtime.getRuntime().halt(0);
                },
                "shutdown");
        Thread watchdog = new Thread(
                () -> {
                    try {
                        stopping.join(TimeUnit.SECONDS.toMillis(STOP_S));
                        LOG.error(
                                "the broker has not stopped within {} s; ending without the mark of a clean stop",
                                STOP_S);
                        Runtime.getRuntime().halt(1);
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
