package io.kagami.broker.clean;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import java.util.function.DoubleSupplier;
import java.util.function.IntSupplier;

/**
 * The meters of compaction: {@code kagami_cleaner_dirty_max_percent} largest dirty part of a log; {@code kagami_cleaner_failed_logs} that wait to be
 * tried again; {@code kagami_cleaner_runs_total}, {@code kagami_cleaner_failures_total}; {@code kagami_cleaner_before_bytes_total} and
 * {@code kagami_cleaner_after_bytes_total} of segments replaced and in their place.
 */
public final class CleanerMeters {
    private static final double PERCENT = 100;

    private final MeterRegistry registry;
    private final Counter runs;
    private final Counter failures;
    private final Counter before;
    private final Counter after;

    public CleanerMeters(MeterRegistry registry) {
        this.registry = registry;
        this.runs = Counter.builder("kagami.cleaner.runs").register(registry);
        this.failures = Counter.builder("kagami.cleaner.failures").register(registry);
        this.before = Counter.builder("kagami.cleaner.before").baseUnit("bytes").register(registry);
        this.after = Counter.builder("kagami.cleaner.after").baseUnit("bytes").register(registry);
    }

    void state(DoubleSupplier dirtiest, IntSupplier failed) {
        Gauge.builder("kagami.cleaner.dirty.max", () -> dirtiest.getAsDouble() * PERCENT)
                .baseUnit("percent")
                .register(registry);
        Gauge.builder("kagami.cleaner.failed.logs", failed::getAsInt).register(registry);
    }

    void cleaned(long bytesBefore, long bytesAfter) {
        runs.increment();
        before.increment((double) bytesBefore);
        after.increment((double) bytesAfter);
    }

    void failed() {
        failures.increment();
    }
}
