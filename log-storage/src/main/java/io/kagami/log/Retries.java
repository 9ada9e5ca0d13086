package io.kagami.log;

import java.util.HashMap;
import java.util.Map;

/**
 * When a log that is offline is tried again: at once, then after pauses that double, and end at {@link #PAUSE_MAX_MS} when the disk is to
 * blame, so that a log is back soon after its disk is; damaged bytes do not heal by themselves and are looked at less and less often.
 * One thread.
 */
final class Retries {
    static final long PAUSE_MAX_MS = 12_000;
    static final long DAMAGED_PAUSE_MAX_MS = 600_000;

    private static final long PAUSE_MIN_MS = 3_000;

    /** A log that stayed online this long begins anew. */
    private static final long FORGOTTEN_AFTER_MS = 60_000;

    private final Map<LogName, Attempt> attempts = new HashMap<>();

    private record Attempt(long nextMs, long pauseMs) {}

    boolean due(LogName name, long nowMs) {
        Attempt last = attempts.get(name);
        return last == null || nowMs >= last.nextMs();
    }

    /** One was made now. */
    void made(LogName name, boolean damaged, long nowMs) {
        attempts.values().removeIf(each -> nowMs > each.nextMs() + FORGOTTEN_AFTER_MS);
        Attempt last = attempts.get(name);
        long doubled = last == null ? PAUSE_MIN_MS : 2 * last.pauseMs();
        long pause = Math.min(damaged ? DAMAGED_PAUSE_MAX_MS : PAUSE_MAX_MS, doubled);
        attempts.put(name, new Attempt(nowMs + pause, pause));
    }
}
