package io.kagami.mirror.core;

/**
 * Keeps the local leader epoch at or above every mirrored epoch. A consumer that holds a committed epoch above its metadata's refreshes
 * metadata for ever, so no batch is appended whose epoch the local leader has not passed.
 */
public final class EpochFence {
    /** Distance that a raise puts between the source's epoch and ours; ten source elections cost about one raise. */
    public static final int HEADROOM = 10;
    /** A source epoch above (local - this) asks for a raise in the background. */
    public static final int THRESHOLD = 3;
    /** Above this a source epoch is not followed. */
    public static final int EPOCH_MAX = 1 << 30;
    /** A larger jump at once is taken for a mistake (another cluster, a restored one). */
    public static final int JUMP_MAX = 100_000;

    private EpochFence() {}

    /** What to do with batches of an epoch. */
    public enum Action {
        /** Append. */
        APPEND,
        /** Append, and raise the local epoch to the target meanwhile. */
        APPEND_AND_RAISE,
        /** Do not append: raise the local epoch to the target first. */
        FENCE,
        /** Do not append: the partition fails with the text. */
        FAIL
    }

    /** @param target epoch to raise to, -1 when there is nothing to raise */
    public record Verdict(Action action, int target, String text) {}

    /** First local epoch of a new mirror partition; an unknown source epoch (-1) counts as 0. */
    public static int initial(int sourceEpoch) {
        return Math.addExact(Math.max(0, sourceEpoch), HEADROOM);
    }

    /** Null, or why a source epoch can't be followed at the start of a partition. */
    public static String refusal(int sourceEpoch) {
        return sourceEpoch > EPOCH_MAX
                ? "source leader epoch " + sourceEpoch + " is above the largest that is followed, " + EPOCH_MAX
                : null;
    }

    /**
     * @param batchEpoch largest epoch of the batches at hand, -1 when they have none
     * @param metadataEpoch source leader epoch as metadata has it, -1 when unknown
     * @param localEpoch local leader epoch
     */
    public static Verdict judge(int batchEpoch, int metadataEpoch, int localEpoch) {
        int source = Math.max(batchEpoch, metadataEpoch);
        if (source > EPOCH_MAX) {
            return new Verdict(Action.FAIL, -1, refusal(source));
        }
        if (Math.subtractExact((long) source, localEpoch) > JUMP_MAX) {
            return new Verdict(
                    Action.FAIL,
                    -1,
                    "source leader epoch jumped to " + source + " while ours is " + localEpoch + "; a jump above "
                            + JUMP_MAX + " is not followed");
        }
        int target = initial(source);
        if (batchEpoch > localEpoch) {
            return new Verdict(Action.FENCE, target, null);
        }
        if (source > localEpoch - THRESHOLD && target > localEpoch) {
            return new Verdict(Action.APPEND_AND_RAISE, target, null);
        }
        return new Verdict(Action.APPEND, -1, null);
    }

    /** Whether alignment must end in EPOCH_FENCING. */
    public static boolean tooLow(int sourceEpoch, int localEpoch) {
        return sourceEpoch > localEpoch - THRESHOLD;
    }

    /** Epoch of the partition when clients may write again: above every mirrored one and never below the local one. */
    public static int handOver(int lastBatchEpoch, int localEpoch) {
        return Math.addExact(Math.max(lastBatchEpoch, localEpoch), 1);
    }
}
