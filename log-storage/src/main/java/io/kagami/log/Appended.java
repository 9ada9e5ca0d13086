package io.kagami.log;

/**
 * What an append did.
 *
 * @param baseOffset first offset of the first batch; of a duplicate that of the batch appended before
 * @param endOffset log end after the append, exclusive
 * @param bytes bytes written, 0 for a duplicate
 * @param duplicate whether the batch was in the log already, sent by the same producer with the same sequences; nothing was written then
 * @param originalTimestampMs largest timestamp of the batch appended before, -1 when this is no duplicate
 */
public record Appended(long baseOffset, long endOffset, int bytes, boolean duplicate, long originalTimestampMs) {
    /** Of batches that were written. */
    public Appended(long baseOffset, long endOffset, int bytes) {
        this(baseOffset, endOffset, bytes, false, -1);
    }
}
