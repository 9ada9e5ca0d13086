package io.kagami.broker.clean;

import io.kagami.broker.partition.Cleanable;
import io.kagami.log.LogName;
import io.kagami.log.LogOptions;
import io.kagami.log.PartitionLog;
import io.kagami.log.clean.core.DirtyRange;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * Which log is compacted next, which are at it, and which failed and when they are tried again (KAFKA-3587, KAFKA-19895). Any thread.
 */
final class CleanerState {
    private static final long FIRST_RETRY_MS = 60_000;
    private static final long LAST_RETRY_MS = 3_600_000;

    /**
     * A log that could not be compacted.
     *
     * @param attempts so far, one after another
     * @param options a change of them makes it due at once
     */
    record Failure(String reason, int attempts, long retryAtMs, LogOptions options) {}

    private final long backoffMs;
    private final Set<LogName> busy = new HashSet<>();
    private final Map<LogName, Long> restingUntilMs = new HashMap<>();
    private final Map<LogName, Failure> failures = new HashMap<>();
    private double dirtiest;

    /** @param backoffMs rest of a log of which nothing could be compacted although it was due */
    CleanerState(long backoffMs) {
        this.backoffMs = backoffMs;
    }

    /** The dirtiest of the logs that are due; it is taken until {@link #done} or {@link #failed}. */
    synchronized Optional<Cleanable> take(Collection<Cleanable> all, long nowMs) {
        Cleanable best = null;
        double bestRatio = -1;
        dirtiest = 0;
        Set<LogName> present = new HashSet<>();
        for (Cleanable each : all) {
            PartitionLog log = each.log();
            present.add(log.name());
            Optional<DirtyRange> dirty = log.dirty(nowMs, each.bound().getAsLong());
            if (dirty.isEmpty()) {
                failures.remove(log.name());
                continue;
            }
            dirtiest = Math.max(dirtiest, dirty.get().ratio());
            boolean due = dirty.get().isDue(log.options().compaction().minDirtyRatio());
            if (due && mayRun(log, nowMs) && dirty.get().ratio() > bestRatio) {
                best = each;
                bestRatio = dirty.get().ratio();
            }
        }
        failures.keySet().retainAll(present);
        restingUntilMs.values().removeIf(until -> until <= nowMs);
        if (best != null) {
            busy.add(best.log().name());
        }
        return Optional.ofNullable(best);
    }

    private boolean mayRun(PartitionLog log, long nowMs) {
        Failure failure = failures.get(log.name());
        boolean waiting = failure != null
                && failure.retryAtMs() > nowMs
                && failure.options().equals(log.options());
        return !waiting && !busy.contains(log.name()) && restingUntilMs.getOrDefault(log.name(), 0L) <= nowMs;
    }

    /** @param progress false when nothing was compacted: the log then rests for a while */
    synchronized void done(Cleanable log, boolean progress, long nowMs) {
        busy.remove(log.log().name());
        if (progress) {
            failures.remove(log.log().name());
        } else {
            restingUntilMs.put(log.log().name(), nowMs + backoffMs);
        }
    }

    synchronized Failure failed(Cleanable log, String reason, long nowMs) {
        LogName name = log.log().name();
        busy.remove(name);
        Failure before = failures.get(name);
        int attempts = before == null ? 1 : before.attempts() + 1;
        long wait = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS << Math.min(attempts - 1, 10));
        Failure failure = new Failure(reason, attempts, nowMs + wait, log.log().options());
        failures.put(name, failure);
        return failure;
    }

    /** By log; those that failed last time. */
    synchronized Map<LogName, Failure> failures() {
        return Map.copyOf(failures);
    }

    /** Largest dirty part of a log at the last look, 0 to 1. */
    synchronized double dirtiest() {
        return dirtiest;
    }
}
