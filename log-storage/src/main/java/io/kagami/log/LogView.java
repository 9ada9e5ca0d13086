package io.kagami.log;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * An immutable picture of one log, replaced at every change by the writer; any thread may use it and never waits.
 * Offsets are as in Kafka: start inclusive, end, high watermark and last stable offset exclusive.
 */
public interface LogView {
    long startOffset();

    long endOffset();

    /** First offset of the earliest open transaction, or the end offset. */
    long lastStableOffset();

    /** Leader epoch of the last batch; -1 when the log is empty or holds formats v0/v1 only. */
    int lastEpoch();

    /** Largest record timestamp in ms and the base offset of its batch; empty when there is no batch. */
    Optional<TimestampOffset> maxTimestamp();

    long sizeInBytes();

    /**
     * Whole batches from the one that contains {@code offset} (or the first after a hole) on, all from one segment.
     * Batches that start at or above {@code upperOffset} are left out. At most {@code bytesMax} bytes, but
     * with {@code atLeastOne} one whole batch however large. Empty when there is nothing below the limits.
     *
     * @throws IllegalArgumentException when offset is below start or above end, or was cut or deleted after this view was taken
     * @throws StorageFault when the disk fails
     */
    Optional<LogSlice> read(long offset, long upperOffset, int bytesMax, boolean atLeastOne);

    /** The first batch whose largest timestamp is at least {@code timestampMs}; the caller finds the record in it. */
    Optional<LogSlice> batchAtOrAfter(long timestampMs);

    /** Aborted transactions that overlap {@code [fromOffset, toOffset)}, ascending by first offset. */
    List<AbortedTxn> abortedIn(long fromOffset, long toOffset);

    /** Leader epoch of the batch that holds this offset, from the epoch history; -1 when unknown. */
    int epochAt(long offset);

    /**
     * KIP-320/279, as a Kafka leader answers: the largest cached epoch not above {@code epoch} and its end offset. An epoch older than
     * all cached ones is answered by itself and the start of the oldest; empty when it is -1 or newer than all.
     */
    Optional<EpochEnd> endOfEpoch(int epoch);

    /** Where an epoch begins in this log, if it has an entry. */
    OptionalLong startOfEpoch(int epoch);

    /** Largest producer id seen in any batch; -1 when none. */
    long maxProducerId();

    /** A timestamp in ms and an offset. */
    record TimestampOffset(long timestampMs, long offset) {}

    /** An epoch and its end offset, exclusive. */
    record EpochEnd(int epoch, long endOffset) {}
}
