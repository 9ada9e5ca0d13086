package io.kagami.mirror.core;

/**
 * Where two logs stand to each other. The source's high watermark is never evidence of divergence (a new leader's lags): only the end
 * of our last epoch at the source is.
 */
public final class OffsetRules {
    /** Answers without a known epoch before the partition fails for good. */
    public static final int UNDEFINED_MAX = 3;

    private OffsetRules() {}

    /**
     * What is known.
     *
     * @param localStart log start here
     * @param localEnd log end here, exclusive
     * @param lastEpoch epoch of our last batch, -1 when the log is empty or the batches have none
     * @param sourceStart the source's log start
     * @param epochEnd the source's answer for lastEpoch, null when it was not asked (lastEpoch -1)
     * @param undefinedBefore answers in a row so far in which the source did not know the epoch
     */
    public record Facts(
            long localStart,
            long localEnd,
            int lastEpoch,
            long sourceStart,
            EpochAnswer epochEnd,
            int undefinedBefore) {
        boolean empty() {
            return localStart == localEnd;
        }
    }

    /** OffsetForLeaderEpoch: the largest epoch not above the one asked for, and its end; -1/-1 when there is none. */
    public record EpochAnswer(int epoch, long endOffset) {}

    /** What to do. */
    public sealed interface Verdict {
        /** Fetch from the local log end. */
        record Aligned() implements Verdict {}

        /** Nothing is lost: the empty local log is put at the source's start. */
        record StartAt(long offset) implements Verdict {}

        /** Records [first, sourceStart) are gone at the source before they were copied. */
        record RetentionGap(long firstMissing, long sourceStart) implements Verdict {}

        /** The source does not know our epoch: ask again. */
        record AskAgain(int undefined) implements Verdict {}

        /** The source's log ends our last epoch earlier, or has another history. {@code epoch}, {@code endOffset}: its answer. */
        record Diverged(int epoch, long endOffset) implements Verdict {}

        record Failed(Failure failure) implements Verdict {}
    }

    public static Verdict judge(Facts f) {
        if (f.empty() && f.localEnd() == 0) {
            return f.sourceStart() == 0 ? new Verdict.Aligned() : new Verdict.StartAt(f.sourceStart());
        }
        if (f.sourceStart() > f.localEnd()) {
            return new Verdict.RetentionGap(f.localEnd(), f.sourceStart());
        }
        if (f.empty() || f.lastEpoch() < 0 || f.epochEnd() == null) {
            return new Verdict.Aligned();
        }
        EpochAnswer answer = f.epochEnd();
        if (answer.epoch() < 0 || answer.endOffset() < 0) {
            int undefined = f.undefinedBefore() + 1;
            return undefined >= UNDEFINED_MAX
                    ? new Verdict.Failed(
                            Failure.permanent("the source does not know epoch " + f.lastEpoch() + " of our last batch"))
                    : new Verdict.AskAgain(undefined);
        }
        if (answer.epoch() == f.lastEpoch() && answer.endOffset() >= f.localEnd()) {
            return new Verdict.Aligned();
        }
        return new Verdict.Diverged(answer.epoch(), answer.endOffset());
    }

    /**
     * The would-be cut after a divergence.
     *
     * @param sourceEnd end of the common epoch at the source
     * @param localEndOfEpoch end of that epoch here, or -1 when it is not in the local history (then nothing above sourceEnd is common)
     */
    public static long cut(long sourceEnd, long localEndOfEpoch, long localStart, long localEnd) {
        long cut = localEndOfEpoch < 0 ? sourceEnd : Math.min(sourceEnd, localEndOfEpoch);
        return Math.max(localStart, Math.min(cut, localEnd));
    }

    /** Lag in records; -1 when the source's end is unknown or behind ours (its high watermark lags), never a made-up 0. */
    public static long lag(long sourceHighWatermark, long localEnd, boolean current) {
        return !current || sourceHighWatermark < localEnd ? -1 : sourceHighWatermark - localEnd;
    }
}
