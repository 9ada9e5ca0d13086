package io.kagami.protocol.client;

import java.util.random.RandomGenerator;

/** How long to wait before the next connect: 100 ms, doubled up to 5 s, each 20 % up or down so that clients do not march in step. */
final class Backoff {
    static final long FIRST_MS = 100;
    static final long MAX_MS = 5_000;
    private static final int DOUBLINGS_MAX = 6;
    private static final double JITTER = 0.2;

    private final RandomGenerator random;
    private int failures;
    private long notBeforeNanos;

    Backoff(RandomGenerator random) {
        this.random = random;
    }

    synchronized void failed(long nowNanos) {
        long base = Math.min(MAX_MS, FIRST_MS << Math.min(failures, DOUBLINGS_MAX));
        failures++;
        double factor = 1 + JITTER * (2 * random.nextDouble() - 1);
        notBeforeNanos = nowNanos + (long) (base * factor * 1e6);
    }

    synchronized void succeeded() {
        failures = 0;
    }

    /** 0 when a connect may start at once. */
    synchronized long waitNanos(long nowNanos) {
        return failures == 0 ? 0 : Math.max(0, notBeforeNanos - nowNanos);
    }
}
