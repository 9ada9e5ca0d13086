package io.kagami.log;

import java.nio.ByteBuffer;
import java.util.UUID;

/**
 * The log of one partition. All methods but {@link #view()}, {@link #name()}, {@link #topicId()}, {@link #force()} and
 * {@link #offline()} are called by its one writer thread. Any {@link StorageFault} takes the log offline: later writes fail at once, reads of what is known to be good go on.
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

    void reconfigure(LogOptions options);

    /** Forces data to disk and returns when it is there. Any thread. */
    void force();

    boolean offline();
}
