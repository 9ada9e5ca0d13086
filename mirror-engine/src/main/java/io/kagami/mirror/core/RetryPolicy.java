package io.kagami.mirror.core;

/**
 * Backoff of a partition's own errors: doubling with full jitter.
 *
 * @param initialMs upper bound of the first delay
 * @param maxMs upper bound of every delay
 * @param maxAttempts attempts before the failure becomes permanent; 0 = never retry
 */
public record RetryPolicy(long initialMs, long maxMs, int maxAttempts) {
    public static final RetryPolicy DEFAULT = new RetryPolicy(100, 300_000, 20);

    public RetryPolicy {
        if (initialMs < 1 || maxMs < initialMs) {
            throw new IllegalArgumentException(
                    "retry backoff must be at least 1 ms and not above its maximum: " + initialMs + ", " + maxMs);
        }
        if (maxAttempts < 0 || maxAttempts > Short.MAX_VALUE) {
            throw new IllegalArgumentException("retry attempts must lie in 0.." + Short.MAX_VALUE + ": " + maxAttempts);
        }
    }

    /** True when the attempt of this number (from 1) may still be made. */
    public boolean allows(int attempt) {
        return attempt <= maxAttempts;
    }

    /** Delay in ms before the attempt of this number (from 1); {@code jitter} in [0, 1). */
    public long delayMs(int attempt, double jitter) {
        return backoffMs(attempt, initialMs, maxMs, jitter);
    }

    /** Full jitter: uniform between 1 ms and the doubled bound. */
    public static long backoffMs(int attempt, long initialMs, long maxMs, double jitter) {
        int doublings = Math.max(0, attempt - 1);
        long bound = maxMs;
        if (doublings < Long.numberOfLeadingZeros(initialMs) - 1) {
            bound = Math.min(maxMs, initialMs << doublings);
        }
        return Math.max(1, (long) Math.ceil(bound * jitter));
    }
}
