package io.kagami.log.core;

import java.nio.ByteBuffer;

/** Walks untrusted bytes batch by batch and stops at the first one that is torn or cannot be right. */
public final class BatchWalker {
    private BatchWalker() {}

    /**
     * What a buffer holds.
     *
     * @param batches number of good batches
     * @param validBytes their bytes; a torn last batch (cut by a fetch limit) or the faulty one begins there
     * @param firstOffset base offset of the first batch, -1 when there is none
     * @param nextOffset last offset of the last good batch plus 1, -1 when there is none
     * @param firstEpoch leader epoch of the first batch, -1 for v0/v1
     * @param lastEpoch leader epoch of the last good batch, -1 for v0/v1
     * @param maxEpoch largest leader epoch, -1 when no batch has one
     * @param records records of v2 batches plus one for each v0/v1 message
     * @param fault null, or a sentence that names offset, position and what is wrong with the batch at {@code validBytes}
     */
    public record Walk(
            int batches,
            int validBytes,
            long firstOffset,
            long nextOffset,
            int firstEpoch,
            int lastEpoch,
            int maxEpoch,
            long records,
            String fault) {}

    /**
     * Walks from position to limit and moves neither. Checked: length, magic, CRC (if asked), offsets that increase, leader epochs
     * that do not decrease.
     */
    public static Walk walk(ByteBuffer batches, boolean checkCrc) {
        int start = batches.position();
        int limit = batches.limit();
        int at = start;
        int count = 0;
        long firstOffset = -1;
        long nextOffset = -1;
        int firstEpoch = -1;
        int lastEpoch = -1;
        int maxEpoch = -1;
        long records = 0;
        String fault = null;
        while (limit - at >= BatchHeader.LOG_OVERHEAD) {
            fault = lengthFault(batches, at);
            if (fault == null && BatchHeader.sizeInBytes(batches, at) > limit - at) {
                break; // torn: the rest was not sent
            }
            if (fault == null) {
                fault = fault(batches, at, nextOffset, maxEpoch, checkCrc);
            }
            if (fault != null) {
                fault = "batch with base offset " + BatchHeader.baseOffset(batches, at) + " at byte " + (at - start)
                        + " of " + (limit - start) + ": " + fault;
                break;
            }
            int epoch = BatchHeader.leaderEpoch(batches, at);
            if (count == 0) {
                firstOffset = BatchHeader.baseOffset(batches, at);
                firstEpoch = epoch;
            }
            count++;
            nextOffset = BatchHeader.lastOffset(batches, at) + 1;
            lastEpoch = epoch;
            maxEpoch = Math.max(maxEpoch, epoch);
            records += BatchHeader.recordCount(batches, at);
            at += BatchHeader.sizeInBytes(batches, at);
        }
        return new Walk(count, at - start, firstOffset, nextOffset, firstEpoch, lastEpoch, maxEpoch, records, fault);
    }

    /**
     * What is wrong with the whole batch at {@code at}, or null; it lies between position and limit.
     *
     * @param nextOffset the least offset it may start at, -1 for any
     * @param maxEpoch the least leader epoch it may have, if it has one
     */
    public static String fault(ByteBuffer buf, int at, long nextOffset, int maxEpoch, boolean checkCrc) {
        String header = headerFault(buf, at);
        if (header != null) {
            return header;
        }
        long base = BatchHeader.baseOffset(buf, at);
        if (base < nextOffset) {
            return "offsets must increase, but the batch before it ends at " + (nextOffset - 1);
        }
        int epoch = BatchHeader.leaderEpoch(buf, at);
        if (epoch >= 0 && epoch < maxEpoch) {
            return "leader epoch " + epoch + " is below epoch " + maxEpoch + " of an earlier batch";
        }
        if (checkCrc && !BatchHeader.crcValid(buf, at)) {
            return "its checksum does not fit its bytes";
        }
        return null;
    }

    /**
     * What is wrong with the header fields alone, or null. Needs {@link BatchHeader#V2_HEADER} bytes of a v2 batch and
     * {@link BatchHeader#V0_MIN} of an older message; the rest of the batch need not be in the buffer.
     */
    public static String headerFault(ByteBuffer buf, int at) {
        String length = lengthFault(buf, at);
        if (length != null) {
            return length;
        }
        byte magic = BatchHeader.magic(buf, at);
        if (magic < 0 || magic > 2) {
            return "unknown magic " + magic;
        }
        int size = BatchHeader.sizeInBytes(buf, at);
        if (size < BatchHeader.sizeMin(magic)) {
            return "its length of " + size + " bytes is less than the header of a v" + magic + " batch";
        }
        long base = BatchHeader.baseOffset(buf, at);
        int delta = BatchHeader.lastOffsetDelta(buf, at);
        if (base < 0 || delta < 0 || base > Long.MAX_VALUE - 1 - delta) {
            return "impossible offsets: base " + base + ", last offset delta " + delta;
        }
        int count = BatchHeader.recordCount(buf, at);
        if (count < 0 || count > delta + 1L) {
            return "impossible record count " + count + " with last offset delta " + delta;
        }
        return null;
    }

    private static String lengthFault(ByteBuffer buf, int at) {
        int length = buf.getInt(at + 8);
        if (length < BatchHeader.V0_MIN - BatchHeader.LOG_OVERHEAD
                || length > Integer.MAX_VALUE - BatchHeader.LOG_OVERHEAD) {
            return "impossible length field " + length;
        }
        return null;
    }
}
