package io.kagami.mirror.ports;

import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletionStage;

/**
 * The local logs. Every method may be called from any thread and never blocks; stages complete on the partition's loop.
 * A disk fault completes the stage with {@link io.kagami.log.StorageFault}.
 */
public interface LocalPartitions {
    /**
     * Where a local log stands.
     *
     * @param lastBatchEpoch epoch of the last batch, -1 when unknown
     * @param leaderEpoch local leader epoch
     */
    record Position(
            long startOffset,
            long endOffset,
            long highWatermark,
            int lastBatchEpoch,
            int leaderEpoch,
            long sizeInBytes) {}

    /** Outcome of an append. */
    enum Result {
        APPENDED,
        /** The log end is not where the fetch began: the answer is stale and was dropped. */
        STALE,
        /** The partition is not in mirror mode any more, or its topic id changed: dropped. */
        NOT_MIRRORED,
        /** A batch has an epoch above the local leader epoch: nothing was appended. */
        EPOCH_TOO_LOW
    }

    record AppendOutcome(Result result, Position position) {}

    /** Empty while the partition does not exist here, or its log takes no writes: wait and ask again. */
    Optional<Position> position(MirrorPartition partition);

    /**
     * Appends validated batches as received. {@code expectedEndOffset} is the offset the fetch began at; it must equal the log end at
     * append time. The buffer belongs to the callee's loop until the stage completes.
     */
    CompletionStage<AppendOutcome> appendMirrored(
            MirrorPartition partition, long expectedEndOffset, ByteBuffer batches);

    /** Follows the source's log start up. Never past the local end: for that, {@link #restartAt}. */
    CompletionStage<Position> advanceStart(MirrorPartition partition, long startOffset);

    CompletionStage<Position> truncateTo(MirrorPartition partition, long endOffset);

    /** Empties the log and starts it at the offset. */
    CompletionStage<Position> restartAt(MirrorPartition partition, long offset);

    /** Raises the local leader epoch to at least {@code epoch}, durably; lower values change nothing. */
    CompletionStage<Position> raiseLeaderEpoch(MirrorPartition partition, int epoch);

    /** Largest epoch in the local epoch history not above {@code epoch}; its end offset. */
    Optional<EpochEnd> endOfEpoch(MirrorPartition partition, int epoch);

    /** An epoch and its end offset, exclusive. */
    record EpochEnd(int epoch, long endOffset) {}

    /** After this nothing from the mirror is appended any more; ends the read-only mode when {@code writable}. */
    CompletionStage<Position> closeMirror(MirrorPartition partition, boolean writable);
}
