package io.kagami.log;

import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.core.DirtyRange;
import io.kagami.log.clean.core.RetentionPlan;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/**
 * The log of one partition. All methods but {@link #view()}, {@link #name()}, {@link #topicId()}, {@link #force()},
 * {@link #forceSoon()} and those about being offline are called by its one writer thread. Any {@link StorageFault} of a write takes the log
 * offline: later writes fail at once, reads go on while they are known to be right. {@link LogDirectory} opens it again.
 */
public interface PartitionLog {
    LogName name();

    UUID topicId();

    LogView view();

    /**
     * Appends v2 batches of a client: base offsets and leader epoch are stamped into the buffer's headers in place (the CRC covers
     * neither). The caller has validated the batches. One gathering write. A batch that its producer sent before is not written again:
     * the answer is that of the first time.
     *
     * @param batches whole batches between position and limit; the position is at the limit afterwards
     * @throws io.kagami.log.core.ProducerFault when a producer may not append its batch here; nothing is written then
     */
    Appended append(ByteBuffer batches, int leaderEpoch);

    /**
     * Appends batches of the source byte for byte. Their base offsets must not be below the log end and must increase; holes are kept.
     * Epoch history, producers and indexes learn from the headers.
     *
     * @param batches whole batches between position and limit; the position is at the limit afterwards
     * @throws IllegalArgumentException when the batches do not continue this log; nothing is written then
     */
    Appended appendMirrored(ByteBuffer batches);

    /**
     * Cuts everything at and above the offset; an offset inside a batch cuts the whole batch. The log then ends behind its last batch,
     * which may be below the offset. An offset below the start empties the log, which then begins there.
     */
    void truncateTo(long endOffset);

    /** Drops everything; the log is empty and starts and ends at the offset. */
    void restartAt(long offset);

    /** Moves the log start up (never down, never above the end); whole segments below it are deleted. */
    void advanceStart(long startOffset);

    /** Rolls the active segment when it is older than its options allow. */
    void rollIfDue(long nowMs);

    /** Forgets producers that have been idle for as long as the options say; how many. Never one with an open transaction. */
    int expireProducers(long nowMs);

    /**
     * Deletes the oldest segments as far as the options say and no segment reaches beyond the bound; the log start moves up to the first that
     * remains. When all are too old, the active one is rolled first.
     *
     * @param bound high watermark, or less where less is known to be safe
     * @return what went; asking again at the same time finds nothing
     */
    RetentionPlan retain(long nowMs, long bound);

    /**
     * What there is to compact, empty when {@code cleanup.policy} does not say so. Any thread.
     *
     * @param bound nothing at or above it is touched, nor above the last stable offset
     */
    Optional<DirtyRange> dirty(long nowMs, long bound);

    /**
     * Compacts the log once, on the calling thread, which must not be the writer's. Whatever happens, the log stays as it was or becomes
     * shorter by what is superfluous.
     *
     * @param bound as in {@link #dirty}; asked again before segments are replaced
     * @param writer runs tasks on the writer's thread, soon
     * @throws CleaningFailed when it does not work for now
     * @throws StorageFault when the disk failed while segments were being replaced; the log is offline
     */
    Cleaned compact(Compactor compactor, long nowMs, LongSupplier bound, Executor writer)
            throws CleaningFailed, Pace.Stopped;

    void reconfigure(LogOptions options);

    /** Any thread. */
    LogOptions options();

    /** Forces data to disk and returns when it is there. Any thread. */
    void force();

    /**
     * Completes when all that was appended before is on disk, or with a {@link StorageFault}; on a thread of its own, so that the caller
     * does not wait. Those who ask while a force is under way share the next one.
     */
    CompletionStage<Void> forceSoon();

    /** Whether {@code flush.messages} wants what was appended on disk before it is answered. */
    boolean flushDue();

    /** Whether the log takes no more writes. */
    boolean offline();

    /** Why it is offline; empty when it is not. */
    Optional<StorageFault> fault();

    /** Whether {@link #view()} still shows what is right; with a log that is offline it may not. */
    boolean readable();

    /** The writer will not call again: a log that is offline may be opened anew from now on. */
    void retire();
}
