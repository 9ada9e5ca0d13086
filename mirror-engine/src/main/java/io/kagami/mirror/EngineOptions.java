package io.kagami.mirror;

import io.kagami.mirror.core.RetryPolicy;

/**
 * Settings of the engine that hold for all mirrors of this broker.
 *
 * @param refreshIntervalMs {@code mirror.metadata.refresh.interval.ms}
 * @param fetchersPerBroker {@code mirror.num.replica.fetchers}: connections of one mirror to one source broker
 * @param retry {@code mirror.failed.retry.*}
 * @param inFlightBytesMax bytes asked for or not yet appended, over all mirrors
 * @param frameBytesMax {@code mirror.fetch.hard.max.bytes}: a larger answer fails the partition
 */
public record EngineOptions(
        long refreshIntervalMs, int fetchersPerBroker, RetryPolicy retry, long inFlightBytesMax, int frameBytesMax) {
    public static final EngineOptions DEFAULT =
            new EngineOptions(60_000, 1, RetryPolicy.DEFAULT, 128L * 1024 * 1024, 128 * 1024 * 1024);

    public EngineOptions {
        require(refreshIntervalMs >= 100, "mirror.metadata.refresh.interval.ms must be at least 100");
        require(fetchersPerBroker >= 1 && fetchersPerBroker <= 64, "mirror.num.replica.fetchers must lie in 1..64");
        require(inFlightBytesMax >= 1024 * 1024, "the budget of bytes in flight must be at least 1 MiB");
        require(frameBytesMax >= 1024 * 1024, "mirror.fetch.hard.max.bytes must be at least 1 MiB");
    }

    private static void require(boolean condition, String text) {
        if (!condition) {
            throw new IllegalArgumentException(text);
        }
    }
}
