package io.kagami.it.bench;

import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;

/** Waiting for a condition at a fine and known interval, on the thread that asks. */
final class Wait {
    private Wait() {}

    /** True when the condition came true in time. */
    static boolean upTo(Duration most, Duration every, BooleanSupplier condition) {
        long deadline = System.nanoTime() + most.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - deadline > 0) {
                return false;
            }
            LockSupport.parkNanos(every.toNanos());
        }
        return true;
    }

    /** @throws IllegalStateException when it does not come true in time */
    static void until(String what, Duration most, Duration every, BooleanSupplier condition) {
        if (!upTo(most, every, condition)) {
            throw new IllegalStateException(what + ": not within " + most.toSeconds() + " s");
        }
    }

    /** Lets that much time pass: measuring what a process does while nobody asks it. */
    static void pass(Duration time) {
        long deadline = System.nanoTime() + time.toNanos();
        upTo(time.plusSeconds(1), Duration.ofMillis(1), () -> System.nanoTime() - deadline >= 0);
    }

    /** Seconds since a reading of {@link System#nanoTime}. */
    static double secondsSince(long nanos) {
        return (System.nanoTime() - nanos) / 1e9;
    }
}
