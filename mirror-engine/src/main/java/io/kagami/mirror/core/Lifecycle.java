package io.kagami.mirror.core;

import static io.kagami.mirror.core.Phase.EPOCH_FENCING;
import static io.kagami.mirror.core.Phase.FAILED;
import static io.kagami.mirror.core.Phase.LOG_ALIGNMENT;
import static io.kagami.mirror.core.Phase.MIRRORING;
import static io.kagami.mirror.core.Phase.PAUSED;
import static io.kagami.mirror.core.Phase.PAUSING;
import static io.kagami.mirror.core.Phase.STOPPED;
import static io.kagami.mirror.core.Phase.STOPPING;
import static io.kagami.mirror.core.Phase.ULE_RECOVERY;

import io.kagami.mirror.core.Decision.Illegal;
import io.kagami.mirror.core.Decision.Step;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The life of one mirror partition. A partition that was never seen has the state null ("none"). Re-entering the same state is always
 * legal and runs its action again, which is how a restart and a leader change resume.
 */
public final class Lifecycle {
    /** Where the pauses of a failure that is retried for ever stop growing: a few seconds by default. */
    private static final int ENDLESS_ATTEMPTS = 6;

    /** Target state to the states it may be entered from. */
    private static final Map<Phase, Set<Phase>> FROM = new EnumMap<>(Phase.class);
    /** Targets that may be the first state of a partition. */
    private static final Set<Phase> FROM_NONE = EnumSet.of(LOG_ALIGNMENT, PAUSING, STOPPING, STOPPED, FAILED);

    static {
        FROM.put(LOG_ALIGNMENT, EnumSet.of(STOPPED, FAILED, PAUSED));
        FROM.put(EPOCH_FENCING, EnumSet.of(LOG_ALIGNMENT, MIRRORING));
        FROM.put(ULE_RECOVERY, EnumSet.of(MIRRORING, PAUSED));
        FROM.put(MIRRORING, EnumSet.of(LOG_ALIGNMENT, EPOCH_FENCING, ULE_RECOVERY, PAUSED, FAILED));
        FROM.put(PAUSING, EnumSet.of(MIRRORING, LOG_ALIGNMENT, EPOCH_FENCING, ULE_RECOVERY, FAILED));
        FROM.put(PAUSED, EnumSet.of(PAUSING));
        FROM.put(STOPPING, EnumSet.complementOf(EnumSet.of(STOPPED)));
        FROM.put(STOPPED, EnumSet.of(STOPPING));
        FROM.put(FAILED, EnumSet.complementOf(EnumSet.of(STOPPED)));
    }

    private Lifecycle() {}

    /** Whether the table has this transition; {@code from} null = none. */
    public static boolean legal(Phase from, Phase to) {
        return from == null
                ? FROM_NONE.contains(to)
                : from == to || FROM.get(to).contains(from);
    }

    /**
     * (Re-)evaluates a partition; the first match wins, and a stop beats a failure.
     *
     * @param emptyLog whether the local log has no records
     * @param retryDelayMs delay to use when a failed partition's timer is armed again; that does not count as an attempt
     */
    public static Decision onDesired(PartitionState s, Desired wanted, boolean emptyLog, long retryDelayMs) {
        Phase phase = s == null ? null : s.phase();
        if (wanted == Desired.STOPPED) {
            if (phase == STOPPED) {
                return new Step(s, List.of(new Effect.Release()));
            }
            if (phase == null && emptyLog) {
                return go(s, STOPPED, null, 0, null, new Effect.Release());
            }
            return go(s, STOPPING, previousOf(s), 0, null, new Effect.Quiesce());
        }
        if (phase == STOPPING) {
            // only an explicit start leaves STOPPED, and what is being stopped gets there first
            return new Step(s, List.of(new Effect.Quiesce()));
        }
        if (wanted == Desired.PAUSED) {
            return switch (phase == null ? MIRRORING : phase) {
                case PAUSED -> new Step(s, List.of());
                case PAUSING -> new Step(s, List.of(new Effect.Quiesce()));
                case STOPPED -> new Illegal("a stopped partition can't be paused");
                default -> go(s, PAUSING, previousOf(s), 0, keptError(s), new Effect.Quiesce());
            };
        }
        if (phase == null || phase == STOPPED) {
            return go(s, LOG_ALIGNMENT, null, 0, null, new Effect.Align());
        }
        return switch (phase) {
            case FAILED -> new Step(s, s.retryAttempt() < 0 ? List.of() : List.of(new Effect.RetryAfter(retryDelayMs)));
            case PAUSED -> resumed(s);
            case PAUSING -> new Step(s, List.of(new Effect.Quiesce()));
            case LOG_ALIGNMENT -> new Step(s, List.of(new Effect.Align()));
            case EPOCH_FENCING -> new Step(s, List.of(new Effect.RaiseEpoch()));
            // with one copy of a partition the wait for all replicas is over at once
            case ULE_RECOVERY -> go(s, MIRRORING, null, s.retryAttempt(), null, new Effect.Fetch());
            case MIRRORING -> new Step(s, List.of(new Effect.Fetch()));
            case STOPPING, STOPPED -> throw new AssertionError(phase);
        };
    }

    private static Decision resumed(PartitionState s) {
        if (s.previous() == MIRRORING) {
            return go(s, MIRRORING, null, 0, null, new Effect.Fetch());
        }
        if (s.previous() == ULE_RECOVERY) {
            return go(s, ULE_RECOVERY, null, 0, null);
        }
        if (s.previous() == FAILED) {
            String text = s.errorMessage() == null ? "had failed before it was paused" : s.errorMessage();
            return go(s, FAILED, LOG_ALIGNMENT, -1, text);
        }
        return go(s, LOG_ALIGNMENT, null, 0, null, new Effect.Align());
    }

    /** The two logs agree. The attempt count is kept until an append succeeds, else a failing alignment would be retried at full speed. */
    public static Decision onAligned(PartitionState s, boolean epochTooLow) {
        if (s == null || s.phase() != LOG_ALIGNMENT) {
            return illegal(s, "aligned");
        }
        return epochTooLow
                ? go(s, EPOCH_FENCING, null, s.retryAttempt(), null, new Effect.RaiseEpoch())
                : go(s, MIRRORING, null, s.retryAttempt(), null, new Effect.Fetch());
    }

    /** A batch of the source has an epoch above the local leader epoch. */
    public static Decision onEpochTooLow(PartitionState s) {
        if (s == null || s.phase() != MIRRORING) {
            return illegal(s, "epoch too low");
        }
        return go(s, EPOCH_FENCING, null, s.retryAttempt(), null, new Effect.StopFetch(), new Effect.RaiseEpoch());
    }

    public static Decision onEpochRaised(PartitionState s) {
        if (s == null || s.phase() != EPOCH_FENCING) {
            return illegal(s, "epoch raised");
        }
        return go(s, MIRRORING, null, s.retryAttempt(), null, new Effect.Fetch());
    }

    /** An append succeeded: failures before it no longer count. */
    public static Decision onProgress(PartitionState s) {
        if (s == null || s.phase() != MIRRORING) {
            return illegal(s, "progress");
        }
        return go(s, MIRRORING, null, 0, null);
    }

    /** No fetch and no append is in flight. */
    public static Decision onQuiet(PartitionState s) {
        if (s != null && s.phase() == PAUSING) {
            return go(s, PAUSED, s.previous(), 0, s.errorMessage());
        }
        if (s != null && s.phase() == STOPPING) {
            return new Step(s, List.of(new Effect.HandOver()));
        }
        return illegal(s, "quiet");
    }

    public static Decision onHandedOver(PartitionState s) {
        if (s == null || s.phase() != STOPPING) {
            return illegal(s, "handed over");
        }
        return go(s, STOPPED, null, 0, null, new Effect.Release());
    }

    /** @param jitter in [0, 1) */
    public static Decision onFailure(PartitionState s, Failure failure, RetryPolicy policy, double jitter) {
        if (s != null && s.phase() == STOPPED) {
            return illegal(s, "failure");
        }
        Phase before = failure.realign() ? LOG_ALIGNMENT : previousOf(s);
        if (failure.permanent()) {
            return go(s, FAILED, before, -1, failure.text(), new Effect.StopFetch());
        }
        if (s != null && s.phase() == FAILED) {
            return new Step(s, List.of());
        }
        int attempt = (s == null ? 0 : Math.max(0, s.retryAttempt())) + 1;
        if (failure.endless()) {
            attempt = Math.min(attempt, ENDLESS_ATTEMPTS);
        } else if (!policy.allows(attempt)) {
            String text = policy.maxAttempts() == 0
                    ? failure.text()
                    : failure.text() + " (gave up after " + policy.maxAttempts() + " attempts)";
            return go(s, FAILED, before, -1, text, new Effect.StopFetch());
        }
        return go(
                s,
                FAILED,
                before,
                attempt,
                failure.text(),
                new Effect.StopFetch(),
                new Effect.RetryAfter(policy.delayMs(attempt, jitter)));
    }

    /** The retry timer of a failed partition fired. */
    public static Decision onRetryDue(PartitionState s, Desired wanted) {
        if (s == null || s.phase() != FAILED || s.retryAttempt() < 0) {
            return illegal(s, "retry");
        }
        return switch (wanted) {
            case STOPPED -> go(s, STOPPING, s.previous(), s.retryAttempt(), null, new Effect.Quiesce());
            case PAUSED -> go(s, PAUSING, FAILED, 0, s.errorMessage(), new Effect.Quiesce());
            case MIRRORING ->
                s.previous() == MIRRORING
                        ? go(s, MIRRORING, null, s.retryAttempt(), null, new Effect.Fetch())
                        : go(s, LOG_ALIGNMENT, null, s.retryAttempt(), null, new Effect.Align());
        };
    }

    private static Phase previousOf(PartitionState s) {
        if (s == null) {
            return null;
        }
        // states on the way somewhere keep what they came from
        return s.phase() == PAUSING || s.phase() == PAUSED || s.phase() == STOPPING ? s.previous() : s.phase();
    }

    private static String keptError(PartitionState s) {
        return s != null && s.phase() == FAILED ? s.errorMessage() : null;
    }

    private static Decision illegal(PartitionState s, String event) {
        return new Illegal("\"" + event + "\" is not legal in state " + (s == null ? "none" : s.phase()));
    }

    private static Decision go(
            PartitionState s, Phase to, Phase previous, int attempt, String error, Effect... effects) {
        Phase from = s == null ? null : s.phase();
        if (!legal(from, to)) {
            return new Illegal("no transition from " + (from == null ? "none" : from) + " to " + to);
        }
        int epoch = s == null ? 0 : s.stateEpoch();
        return new Step(new PartitionState(to, epoch, previous, attempt, error), List.of(effects));
    }
}
