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
import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.mirror.core.Decision.Illegal;
import io.kagami.mirror.core.Decision.Step;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

class LifecycleTableTest {
    /** The specification's table, written a second time: target, then the states it may be entered from; "none" = never seen. */
    private static final Map<Phase, String> SPECIFIED = Map.of(
            LOG_ALIGNMENT, "none STOPPED FAILED PAUSED",
            EPOCH_FENCING, "LOG_ALIGNMENT MIRRORING",
            ULE_RECOVERY, "MIRRORING PAUSED",
            MIRRORING, "LOG_ALIGNMENT EPOCH_FENCING ULE_RECOVERY PAUSED FAILED",
            PAUSING, "none MIRRORING LOG_ALIGNMENT EPOCH_FENCING ULE_RECOVERY FAILED",
            PAUSED, "PAUSING",
            STOPPING, "none LOG_ALIGNMENT EPOCH_FENCING ULE_RECOVERY MIRRORING PAUSING PAUSED STOPPING FAILED",
            STOPPED, "none STOPPING",
            FAILED, "none LOG_ALIGNMENT EPOCH_FENCING ULE_RECOVERY MIRRORING PAUSING PAUSED STOPPING FAILED");

    private static PartitionState in(Phase phase) {
        return new PartitionState(phase, 5, null, 0, phase == FAILED ? "broken" : null);
    }

    private static PartitionState in(Phase phase, Phase previous, int attempt) {
        return new PartitionState(phase, 5, previous, attempt, phase == FAILED ? "broken" : null);
    }

    /** Every state a partition can be in, none included, with every previous state and attempt count that matters. */
    private static List<PartitionState> everyState() {
        List<PartitionState> states = new ArrayList<>();
        states.add(null);
        for (Phase phase : Phase.values()) {
            List<Phase> previous = new ArrayList<>(Arrays.asList(Phase.values()));
            previous.add(null);
            for (Phase before : previous) {
                for (int attempt : new int[] {-1, 0, 3}) {
                    states.add(in(phase, before, attempt));
                }
            }
        }
        return states;
    }

    @Test
    void theTableIsTheSpecifiedOneInEveryCell() {
        for (Phase to : Phase.values()) {
            Set<String> allowed = Set.of(SPECIFIED.get(to).split(" "));
            assertThat(Lifecycle.legal(null, to)).as("none to " + to).isEqualTo(allowed.contains("none"));
            for (Phase from : Phase.values()) {
                boolean expected = from == to || allowed.contains(from.name());
                assertThat(Lifecycle.legal(from, to)).as(from + " to " + to).isEqualTo(expected);
            }
        }
    }

    @Test
    void noEventLeavesTheTableWhateverTheState() {
        for (PartitionState state : everyState()) {
            for (Decision decision : everyEvent(state)) {
                if (decision instanceof Step step) {
                    Phase from = state == null ? null : state.phase();
                    assertThat(Lifecycle.legal(from, step.next().phase()))
                            .as(state + " to " + step.next())
                            .isTrue();
                    if (step.next().phase() == FAILED) {
                        assertThat(step.next().errorMessage())
                                .as(step.next().toString())
                                .isNotBlank();
                    }
                } else {
                    assertThat(((Illegal) decision).reason()).isNotBlank();
                }
            }
        }
    }

    private static List<Decision> everyEvent(PartitionState s) {
        List<Decision> decisions = new ArrayList<>();
        for (Desired wanted : Desired.values()) {
            decisions.add(Lifecycle.onDesired(s, wanted, true, 10));
            decisions.add(Lifecycle.onDesired(s, wanted, false, 10));
            decisions.add(Lifecycle.onRetryDue(s, wanted));
        }
        decisions.add(Lifecycle.onAligned(s, true));
        decisions.add(Lifecycle.onAligned(s, false));
        decisions.add(Lifecycle.onEpochTooLow(s));
        decisions.add(Lifecycle.onEpochRaised(s));
        decisions.add(Lifecycle.onProgress(s));
        decisions.add(Lifecycle.onQuiet(s));
        decisions.add(Lifecycle.onHandedOver(s));
        for (Failure failure : List.of(Failure.permanent("p"), Failure.retryable("r"), Failure.realign("a"))) {
            decisions.add(Lifecycle.onFailure(s, failure, RetryPolicy.DEFAULT, 0.5));
        }
        return decisions;
    }

    @Test
    void onlyAnExplicitStartLeavesStopped() {
        PartitionState stopped = in(STOPPED);
        for (Decision decision : everyEvent(stopped)) {
            boolean left = decision instanceof Step step && step.next().phase() != STOPPED;
            assertThat(left)
                    .as(decision.toString())
                    .isEqualTo(decision instanceof Step step && step.next().phase() == LOG_ALIGNMENT);
        }
        Step start = (Step) Lifecycle.onDesired(stopped, Desired.MIRRORING, false, 10);
        assertThat(start.next().phase()).isEqualTo(LOG_ALIGNMENT);
        assertThat(start.effects()).containsExactly(new Effect.Align());
    }

    @Test
    void aStopBeatsEveryOtherState() {
        for (Phase phase : Phase.values()) {
            Step step = (Step) Lifecycle.onDesired(in(phase), Desired.STOPPED, false, 10);
            assertThat(step.next().phase()).isEqualTo(phase == STOPPED ? STOPPED : STOPPING);
            assertThat(step.effects()).containsExactly(phase == STOPPED ? new Effect.Release() : new Effect.Quiesce());
        }
        assertThat(((Step) Lifecycle.onDesired(null, Desired.STOPPED, true, 10))
                        .next()
                        .phase())
                .isEqualTo(STOPPED);
        assertThat(((Step) Lifecycle.onDesired(null, Desired.STOPPED, false, 10))
                        .next()
                        .phase())
                .isEqualTo(STOPPING);
    }

    @Test
    void pauseIsRefusedWhenStopped() {
        assertThat(Lifecycle.onDesired(in(STOPPED), Desired.PAUSED, false, 10)).isInstanceOf(Illegal.class);
    }

    @Test
    void aPauseRemembersWhatItInterruptedAndResumeGoesBackThere() {
        Map<Phase, Phase> resumesTo = Map.of(
                MIRRORING, MIRRORING,
                ULE_RECOVERY, ULE_RECOVERY,
                LOG_ALIGNMENT, LOG_ALIGNMENT,
                EPOCH_FENCING, LOG_ALIGNMENT,
                FAILED, FAILED);
        resumesTo.forEach((before, after) -> {
            Step pausing = (Step) Lifecycle.onDesired(in(before), Desired.PAUSED, false, 10);
            assertThat(pausing.next().phase()).isEqualTo(PAUSING);
            Step paused = (Step) Lifecycle.onQuiet(pausing.next());
            assertThat(paused.next().phase()).isEqualTo(PAUSED);
            assertThat(paused.next().previous()).isEqualTo(before);
            Step resumed = (Step) Lifecycle.onDesired(paused.next(), Desired.MIRRORING, false, 10);
            assertThat(resumed.next().phase()).isEqualTo(after);
            if (before == FAILED) {
                assertThat(resumed.next().retryAttempt()).isEqualTo(-1);
                assertThat(resumed.next().errorMessage()).isEqualTo("broken");
            }
        });
    }

    @Test
    void reArmingAFailedPartitionDoesNotCountAsAnAttempt() {
        Step step = (Step) Lifecycle.onDesired(in(FAILED, MIRRORING, 3), Desired.MIRRORING, false, 77);
        assertThat(step.next()).isEqualTo(in(FAILED, MIRRORING, 3));
        assertThat(step.effects()).containsExactly(new Effect.RetryAfter(77));
        Step permanent = (Step) Lifecycle.onDesired(in(FAILED, MIRRORING, -1), Desired.MIRRORING, false, 77);
        assertThat(permanent.effects()).isEmpty();
    }

    @Test
    void aRetryGoesBackToMirroringOnlyIfTheFailureLeftTheLogIntact() {
        assertThat(retryOf(Failure.retryable("x"))).isEqualTo(MIRRORING);
        assertThat(retryOf(Failure.realign("x"))).isEqualTo(LOG_ALIGNMENT);
    }

    private static Phase retryOf(Failure failure) {
        Step failed = (Step) Lifecycle.onFailure(in(MIRRORING), failure, RetryPolicy.DEFAULT, 0.5);
        return ((Step) Lifecycle.onRetryDue(failed.next(), Desired.MIRRORING))
                .next()
                .phase();
    }

    @Test
    void attemptsCountUpToTheLimitAndAnAppendResetsThem() {
        RetryPolicy twice = new RetryPolicy(100, 1000, 2);
        PartitionState s = in(MIRRORING);
        for (int attempt = 1; attempt <= 2; attempt++) {
            Step failed = (Step) Lifecycle.onFailure(s, Failure.retryable("x"), twice, 0.5);
            assertThat(failed.next().retryAttempt()).isEqualTo(attempt);
            s = ((Step) Lifecycle.onRetryDue(failed.next(), Desired.MIRRORING)).next();
            assertThat(s.retryAttempt()).isEqualTo(attempt);
        }
        Step last = (Step) Lifecycle.onFailure(s, Failure.retryable("x"), twice, 0.5);
        assertThat(last.next().retryAttempt()).isEqualTo(-1);
        assertThat(last.next().errorMessage()).contains("gave up after 2 attempts");
        assertThat(last.effects()).containsExactly(new Effect.StopFetch());
        assertThat(((Step) Lifecycle.onProgress(s)).next().retryAttempt()).isZero();
    }

    @Test
    void noRetryAtAllMakesEveryFailurePermanent() {
        Step failed =
                (Step) Lifecycle.onFailure(in(MIRRORING), Failure.retryable("x"), new RetryPolicy(100, 1000, 0), 0.5);
        assertThat(failed.next().retryAttempt()).isEqualTo(-1);
    }

    @Test
    void everyEffectIsProducedBySomeEvent() {
        Set<String> produced = new TreeSet<>();
        for (PartitionState state : everyState()) {
            for (Decision decision : everyEvent(state)) {
                if (decision instanceof Step step) {
                    step.effects().forEach(e -> produced.add(e.getClass().getSimpleName()));
                }
            }
        }
        Set<String> all = Arrays.stream(Effect.class.getPermittedSubclasses())
                .map(Class::getSimpleName)
                .collect(Collectors.toCollection(TreeSet::new));
        assertThat(produced).isEqualTo(all);
    }
}
