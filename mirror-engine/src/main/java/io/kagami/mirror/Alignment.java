package io.kagami.mirror;

import io.kagami.mirror.Questions.Answer;
import io.kagami.mirror.Questions.Question;
import io.kagami.mirror.SourceCluster.Leader;
import io.kagami.mirror.core.EpochFence;
import io.kagami.mirror.core.Failure;
import io.kagami.mirror.core.OffsetRules;
import io.kagami.mirror.core.OffsetRules.Verdict;
import io.kagami.mirror.core.RetryPolicy;
import io.kagami.mirror.ports.LocalPartitions.EpochEnd;
import io.kagami.mirror.ports.LocalPartitions.Position;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Finds out where the local log stands to the source's, before fetching and after an offset out of range. Loop only. */
final class Alignment {
    private static final Logger LOG = LoggerFactory.getLogger(Alignment.class);
    private static final long LOCAL_WAIT_MS = 200;
    private static final long RETRY_INITIAL_MS = 100;
    private static final long RETRY_MAX_MS = 5000;

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final Questions questions;
    private final Outcome outcome;

    /** What comes of it. */
    interface Outcome {
        void aligned(MirrorPart part, boolean epochTooLow);

        /** The log was put at the source's start after an offset out of range: fetch again. */
        void restarted(MirrorPart part);

        void failed(MirrorPart part, Failure failure);

        /** The leader is not known or did not answer. */
        void leaderNeeded(MirrorPart part, Runnable then);
    }

    Alignment(MirrorContext mirror, SourceCluster source, Questions questions, Outcome outcome) {
        this.mirror = mirror;
        this.source = source;
        this.questions = questions;
        this.outcome = outcome;
    }

    /** The action of LOG_ALIGNMENT. */
    void align(MirrorPart part) {
        long work = part.work;
        ask(part, 1, false, () -> part.work == work);
    }

    /** A fetch from the local end was out of range; the partition is off its fetcher. */
    void outOfRange(MirrorPart part) {
        long work = part.work;
        long generation = part.generation;
        ask(part, 1, true, () -> part.work == work && part.generation == generation);
    }

    private void ask(MirrorPart part, int attempt, boolean outOfRange, BooleanSupplier current) {
        if (!current.getAsBoolean() || source.isForeign()) {
            return;
        }
        Optional<Position> local = mirror.local().position(part.id);
        if (local.isEmpty()) {
            part.note = "waiting for the local log";
            mirror.turns().after(LOCAL_WAIT_MS, () -> ask(part, attempt, outOfRange, current));
            return;
        }
        Position at = local.get();
        boolean empty = at.startOffset() == at.endOffset();
        int lastEpoch = empty ? -1 : at.lastBatchEpoch();
        questions.ask(new Question(part.id.topic(), part.id.partition(), lastEpoch, answer -> {
            if (current.getAsBoolean()) {
                onAnswer(part, lastEpoch, answer, attempt, outOfRange, current);
            }
        }));
    }

    private void onAnswer(
            MirrorPart part, int lastEpoch, Answer answer, int attempt, boolean outOfRange, BooleanSupplier current) {
        Optional<Position> local = mirror.local().position(part.id);
        if (answer.refused()) {
            outcome.failed(part, Failure.retryable("alignment: " + answer.text()));
            return;
        }
        if (!answer.ok() || local.isEmpty()) {
            again(part, answer.text(), attempt, outOfRange, current);
            return;
        }
        part.sourceStart = answer.sourceStart();
        Position at = local.get();
        Verdict verdict = OffsetRules.judge(new OffsetRules.Facts(
                at.startOffset(),
                at.endOffset(),
                lastEpoch,
                answer.sourceStart(),
                answer.epochEnd(),
                part.undefinedEpochs));
        if (verdict instanceof Verdict.AskAgain undefined) {
            part.undefinedEpochs = undefined.undefined();
            again(part, "the source does not know epoch " + lastEpoch, attempt, outOfRange, current);
            return;
        }
        part.undefinedEpochs = 0;
        part.note = null;
        if (verdict instanceof Verdict.Aligned) {
            if (outOfRange) {
                outcome.failed(
                        part,
                        Failure.realign("offset " + at.endOffset()
                                + " is out of range at the source, whose log starts at " + answer.sourceStart()));
            } else {
                aligned(part, at);
            }
        } else if (verdict instanceof Verdict.StartAt start) {
            restart(part, start.offset(), outOfRange, current);
        } else if (verdict instanceof Verdict.RetentionGap gap) {
            onGap(part, gap, outOfRange, current);
        } else if (verdict instanceof Verdict.Diverged diverged) {
            outcome.failed(part, divergence(part, diverged.epoch(), diverged.endOffset()));
        } else if (verdict instanceof Verdict.Failed failed) {
            outcome.failed(part, failed.failure());
        } else {
            throw new AssertionError(verdict);
        }
    }

    private void again(MirrorPart part, String why, int attempt, boolean outOfRange, BooleanSupplier current) {
        part.note = why;
        long delay = RetryPolicy.backoffMs(
                attempt, RETRY_INITIAL_MS, RETRY_MAX_MS, mirror.turns().jitter());
        mirror.turns()
                .after(delay, () -> outcome.leaderNeeded(part, () -> ask(part, attempt + 1, outOfRange, current)));
    }

    private void aligned(MirrorPart part, Position at) {
        Leader leader = source.leader(part.id.topic(), part.id.partition());
        EpochFence.Verdict fence = EpochFence.judge(-1, leader.epoch(), at.leaderEpoch());
        if (fence.action() == EpochFence.Action.FAIL) {
            outcome.failed(part, Failure.permanent(fence.text()));
            return;
        }
        int source = Math.max(leader.epoch(), at.lastBatchEpoch());
        outcome.aligned(part, EpochFence.tooLow(source, at.leaderEpoch()));
    }

    private void onGap(MirrorPart part, Verdict.RetentionGap gap, boolean outOfRange, BooleanSupplier current) {
        String text = "the source deleted offsets " + gap.firstMissing() + " to " + (gap.sourceStart() - 1)
                + " before they were copied";
        if (mirror.config().haltOnRetentionGap()) {
            outcome.failed(part, Failure.permanent(text + "; retention.gap.policy is halt"));
            return;
        }
        LOG.atWarn()
                .addKeyValue("mirror", mirror.name())
                .addKeyValue("topic", part.id.topic())
                .addKeyValue("partition", part.id.partition())
                .addKeyValue("firstMissing", gap.firstMissing())
                .addKeyValue("sourceStart", gap.sourceStart())
                .log("Retention gap: the local log restarts at the source's start");
        mirror.meters().retentionGap(gap.sourceStart() - gap.firstMissing());
        part.gap = text;
        restart(part, gap.sourceStart(), outOfRange, current);
    }

    private void restart(MirrorPart part, long offset, boolean outOfRange, BooleanSupplier current) {
        CompletionStage<Position> moved = mirror.local().restartAt(part.id, offset);
        source.onLoop(
                moved,
                at -> {
                    if (!current.getAsBoolean()) {
                        return;
                    }
                    if (outOfRange) {
                        outcome.restarted(part);
                    } else {
                        aligned(part, at);
                    }
                },
                failure -> {
                    if (current.getAsBoolean()) {
                        outcome.failed(
                                part,
                                Failure.realign("the local log can't be put at offset " + offset + ": "
                                        + SourceCluster.text(failure)));
                    }
                });
    }

    /** Nothing is cut; the text says what would be. */
    Failure divergence(MirrorPart part, int sourceEpoch, long sourceEnd) {
        Optional<Position> local = mirror.local().position(part.id);
        if (local.isEmpty()) {
            return Failure.permanent("the logs diverge: the source ends epoch " + sourceEpoch + " at " + sourceEnd);
        }
        Position at = local.get();
        Optional<EpochEnd> ours =
                sourceEpoch < 0 ? Optional.empty() : mirror.local().endOfEpoch(part.id, sourceEpoch);
        long cut =
                OffsetRules.cut(sourceEnd, ours.map(EpochEnd::endOffset).orElse(-1L), at.startOffset(), at.endOffset());
        return Failure.permanent("the logs diverge: the source ends epoch " + sourceEpoch + " at offset " + sourceEnd
                + ", the local log ends at " + at.endOffset() + " in epoch " + at.lastBatchEpoch()
                + "; converging would cut " + (at.endOffset() - cut) + " offsets, [" + cut + ", " + at.endOffset()
                + "); nothing was cut, because mirror.support.unclean.leader.election is off");
    }
}
