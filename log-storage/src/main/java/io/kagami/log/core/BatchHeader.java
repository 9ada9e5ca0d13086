package io.kagami.log.core;

import java.nio.ByteBuffer;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/**
 * Reads the header of one batch in place; {@code at} is the index of its first byte. Nothing is checked beyond the buffer's own bounds
 * and no position moves: a caller that does not trust the bytes walks them with {@link BatchWalker} first.
 *
 * <pre>
 *  at  v2 batch (KIP-98)                      at  v0/v1 message (KIP-32)
 *   0  int64  base offset                      0  int64 offset; of a compressed message the offset of its LAST record
 *   8  int32  bytes that follow                8  int32 bytes that follow
 *  12  int32  leader epoch                    12  int32 CRC-32 of all from byte 16 on
 *  16  int8   magic = 2                       16  int8  magic = 0 or 1
 *  17  int32  CRC-32C of all from byte 21 on  17  int8  attributes
 *  21  int16  attributes                      18  int64 timestamp in ms (v1 only), then key and value
 *  23  int32  last offset delta
 *  27  int64  base timestamp in ms
 *  35  int64  largest timestamp in ms
 *  43  int64  producer id
 *  51  int16  producer epoch
 *  53  int32  base sequence
 *  57  int32  record count
 *  61  records
 * </pre>
 *
 * Attributes: bits 0-2 compression, 3 log append time; v2 also 4 transactional, 5 control, 6 delete horizon.
 */
public final class BatchHeader {
    /** Offset and length field. */
    public static final int LOG_OVERHEAD = 12;

    /** Up to and with the magic byte, which is at the same place in every version. */
    public static final int MAGIC_END = 17;

    /** A v2 header, records excluded. */
    public static final int V2_HEADER = 61;

    /** A v0 message without key and value. */
    public static final int V0_MIN = 26;

    /** A v1 message without key and value. */
    public static final int V1_MIN = 34;

    private static final int COMPRESSION = 0x07;
    private static final int LOG_APPEND_TIME = 0x08;
    private static final int TRANSACTIONAL = 0x10;
    private static final int CONTROL = 0x20;
    private static final int DELETE_HORIZON = 0x40;

    private BatchHeader() {}

    /** First offset; of a compressed v0/v1 message its last offset. */
    public static long baseOffset(ByteBuffer buf, int at) {
        return buf.getLong(at);
    }

    /** Bytes of the whole batch, offset and length field included. Overflow is possible in untrusted bytes. */
    public static int sizeInBytes(ByteBuffer buf, int at) {
        return buf.getInt(at + 8) + LOG_OVERHEAD;
    }

    /** Leader epoch, -1 when the format has none. */
    public static int leaderEpoch(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getInt(at + 12) : -1;
    }

    public static byte magic(ByteBuffer buf, int at) {
        return buf.get(at + 16);
    }

    /** Smallest size in bytes that a batch of this magic can have. */
    public static int sizeMin(byte magic) {
        return magic >= 2 ? V2_HEADER : magic == 1 ? V1_MIN : V0_MIN;
    }

    /** Whether the checksum fits the bytes; the whole batch must be in the buffer. */
    public static boolean crcValid(ByteBuffer buf, int at) {
        int size = sizeInBytes(buf, at);
        if (magic(buf, at) >= 2) {
            CRC32C crc = new CRC32C();
            crc.update(buf.slice(at + 21, size - 21));
            return (int) crc.getValue() == buf.getInt(at + 17);
        }
        CRC32 crc = new CRC32();
        crc.update(buf.slice(at + 16, size - 16));
        return (int) crc.getValue() == buf.getInt(at + 12);
    }

    public static short attributes(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getShort(at + 21) : buf.get(at + 17);
    }

    /** 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd. */
    public static int compression(ByteBuffer buf, int at) {
        return attributes(buf, at) & COMPRESSION;
    }

    public static boolean logAppendTime(ByteBuffer buf, int at) {
        return (attributes(buf, at) & LOG_APPEND_TIME) != 0;
    }

    public static boolean transactional(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 && (attributes(buf, at) & TRANSACTIONAL) != 0;
    }

    public static boolean control(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 && (attributes(buf, at) & CONTROL) != 0;
    }

    /** Last offset minus base offset; 0 for v0/v1. */
    public static int lastOffsetDelta(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getInt(at + 23) : 0;
    }

    /** Last offset, inclusive. */
    public static long lastOffset(ByteBuffer buf, int at) {
        return baseOffset(buf, at) + lastOffsetDelta(buf, at);
    }

    /** Timestamp in ms of the first record (v2) or of the message (v1); -1 for v0. */
    public static long baseTimestamp(ByteBuffer buf, int at) {
        byte magic = magic(buf, at);
        return magic >= 2 ? buf.getLong(at + 27) : magic == 1 ? buf.getLong(at + 18) : -1;
    }

    /** When tombstones or the marker of this batch may go, in ms; -1 when it has no such time yet. Takes the place of the base timestamp (KIP-534). */
    public static long deleteHorizonMs(ByteBuffer buf, int at) {
        boolean has = magic(buf, at) >= 2 && (attributes(buf, at) & DELETE_HORIZON) != 0;
        return has ? baseTimestamp(buf, at) : -1;
    }

    /** Largest timestamp in ms (a compressed v1 message carries the largest of its records); -1 for v0. */
    public static long maxTimestamp(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getLong(at + 35) : baseTimestamp(buf, at);
    }

    /** Producer id, -1 when there is none. */
    public static long producerId(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getLong(at + 43) : -1;
    }

    public static short producerEpoch(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getShort(at + 51) : -1;
    }

    public static int baseSequence(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getInt(at + 53) : -1;
    }

    /** Records in a v2 batch (0 is legal: compaction keeps empty ones); 1 for v0/v1, whose wrappers do not tell. */
    public static int recordCount(ByteBuffer buf, int at) {
        return magic(buf, at) >= 2 ? buf.getInt(at + 57) : 1;
    }

    /** Not covered by any checksum, so it can be set without touching the rest. */
    public static void stampBaseOffset(ByteBuffer buf, int at, long baseOffset) {
        buf.putLong(at, baseOffset);
    }

    /** v2 only; not covered by the checksum. */
    public static void stampLeaderEpoch(ByteBuffer buf, int at, int leaderEpoch) {
        buf.putInt(at + 12, leaderEpoch);
    }
}
