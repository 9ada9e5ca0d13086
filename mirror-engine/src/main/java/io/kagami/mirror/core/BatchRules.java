package io.kagami.mirror.core;

import io.kagami.log.core.BatchWalker.Walk;
import io.kagami.mirror.core.EpochFence.Action;

/** May the batches of an answer be appended? Asked after the walk (length, magic, CRC, order) and before the append. */
public final class BatchRules {
    private BatchRules() {}

    /**
     * @param askedOffset offset the fetch began at: the local log end when the append runs
     * @param askedEpoch epoch of the batch before it, -1 when unknown
     * @param localEmpty whether the local log will be empty then
     * @param metadataEpoch source leader epoch as we know it, -1 when unknown
     * @param localEpoch local leader epoch
     */
    public record Facts(long askedOffset, int askedEpoch, boolean localEmpty, int metadataEpoch, int localEpoch) {}

    /** What to do with the batches. */
    public sealed interface Verdict {
        /** Only the beginning of a batch was sent: ask again. */
        record Nothing() implements Verdict {}

        /**
         * Append the first {@code bytes}.
         *
         * @param restartAt offset to put the empty log at first because the batch begins below the source's log start; -1 = no need
         * @param raiseTo local leader epoch to reach meanwhile, -1 = no need
         */
        record Append(int bytes, long restartAt, int raiseTo) implements Verdict {}

        /** Raise the local leader epoch first. */
        record Fence() implements Verdict {}

        /** The batches are newer than what we know of the source's leader: refresh metadata and ask again. */
        record RefreshMetadata(String text) implements Verdict {}

        record Failed(Failure failure) implements Verdict {}
    }

    public static Verdict judge(Walk walk, Facts facts) {
        if (walk.batches() == 0) {
            return walk.fault() == null
                    ? new Verdict.Nothing()
                    : new Verdict.Failed(Failure.retryable("bad data from the source: " + walk.fault()));
        }
        long restartAt = -1;
        if (walk.firstOffset() < facts.askedOffset()) {
            if (!facts.localEmpty()) {
                return new Verdict.Failed(Failure.retryable("the source answered a fetch from offset "
                        + facts.askedOffset() + " with a batch that begins at " + walk.firstOffset()
                        + ", over records that are here already"));
            }
            if (walk.nextOffset() <= facts.askedOffset()) {
                return new Verdict.Failed(Failure.retryable("the source answered a fetch from offset "
                        + facts.askedOffset() + " with batches that end at " + walk.nextOffset()));
            }
            restartAt = walk.firstOffset();
        }
        if (walk.firstEpoch() >= 0 && walk.firstEpoch() < facts.askedEpoch()) {
            return new Verdict.Failed(Failure.realign("the source sent leader epoch " + walk.firstEpoch()
                    + " at offset " + walk.firstOffset() + " after epoch " + facts.askedEpoch()));
        }
        if (facts.metadataEpoch() >= 0 && walk.maxEpoch() > facts.metadataEpoch()) {
            return new Verdict.RefreshMetadata("a batch has leader epoch " + walk.maxEpoch()
                    + " while the source's is known as " + facts.metadataEpoch());
        }
        EpochFence.Verdict fence = EpochFence.judge(walk.maxEpoch(), facts.metadataEpoch(), facts.localEpoch());
        if (fence.action() == Action.FAIL) {
            return new Verdict.Failed(Failure.permanent(fence.text()));
        }
        if (fence.action() == Action.FENCE) {
            return new Verdict.Fence();
        }
        return new Verdict.Append(walk.validBytes(), restartAt, fence.target());
    }
}
