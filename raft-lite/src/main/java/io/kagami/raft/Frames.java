package io.kagami.raft;

import io.kagami.raft.core.Entry;
import io.kagami.raft.core.RaftConfig;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * Bytes of the log files. All numbers big endian.
 *
 * <pre>
 * file   := magic "KRLG" | int16 version 1 | int16 0 | int64 first index | int32 CRC-32C of the 16 bytes before
 * frame  := magic "KRFR" | int32 body length | int32 CRC-32C of length and body | body
 * body   := int32 count | count times (int64 index | int64 term | int8 kind | int32 length | bytes)
 * </pre>
 *
 * One frame is one group of entries that was written and forced together. A crash can therefore only damage the last frame of a file,
 * however the disk reorders its pages: whatever follows an intact later frame was acknowledged.
 */
final class Frames {
    static final int FILE_HEADER_BYTES = 20;
    private static final int FILE_MAGIC = 0x4B524C47;
    private static final int FRAME_MAGIC = 0x4B524652;
    private static final short VERSION = 1;
    private static final int FRAME_HEADER_BYTES = 12;
    private static final int ENTRY_HEADER_BYTES = 21;
    /** A batch, one largest entry beyond it, and their headers. */
    private static final int BODY_BYTES_MAX = 4 * RaftConfig.ENTRY_BYTES_LIMIT;

    private Frames() {}

    /** One intact frame and where the next one begins. */
    record Frame(List<Entry> entries, int nextPosition) {}

    static ByteBuffer fileHeader(long firstIndex) {
        ByteBuffer header = ByteBuffer.allocate(FILE_HEADER_BYTES);
        header.putInt(FILE_MAGIC).putShort(VERSION).putShort((short) 0).putLong(firstIndex);
        header.putInt(crc(header.array(), 0, header.position()));
        return header.flip();
    }

    /** Null when the header is damaged or not there; a later format version is refused by name. */
    static Long firstIndex(byte[] file, String where) {
        if (file.length < FILE_HEADER_BYTES) {
            return null;
        }
        ByteBuffer header = ByteBuffer.wrap(file);
        if (header.getInt(0) != FILE_MAGIC || header.getInt(16) != crc(file, 0, 16)) {
            return null;
        }
        if (header.getShort(4) != VERSION) {
            throw new StoreFault(where + " has format version " + header.getShort(4) + ", this program reads " + VERSION
                    + ". It was written by a newer program: start that one.");
        }
        return header.getLong(8);
    }

    static ByteBuffer frame(List<Entry> entries) {
        long body = 4;
        for (Entry entry : entries) {
            body += ENTRY_HEADER_BYTES + entry.sizeInBytes();
        }
        if (body > BODY_BYTES_MAX) {
            throw new IllegalArgumentException("a group of " + body + " bytes exceeds " + BODY_BYTES_MAX);
        }
        ByteBuffer frame = ByteBuffer.allocate(FRAME_HEADER_BYTES + (int) body);
        frame.putInt(FRAME_MAGIC).putInt((int) body).putInt(0).putInt(entries.size());
        for (Entry entry : entries) {
            frame.putLong(entry.index()).putLong(entry.term()).put(entry.kind().value());
            frame.putInt(entry.sizeInBytes()).put(entry.data());
        }
        frame.putInt(8, frameCrc(frame.array(), 0, (int) body));
        return frame.flip();
    }

    /** The frame that begins at the position, or null when there is no intact one. */
    static Frame read(byte[] file, int at) {
        if (at < 0 || file.length - at < FRAME_HEADER_BYTES + 4) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(file);
        int length = in.getInt(at + 4);
        if (in.getInt(at) != FRAME_MAGIC || length < 4 || length > file.length - at - FRAME_HEADER_BYTES) {
            return null;
        }
        if (in.getInt(at + 8) != frameCrc(file, at, length)) {
            return null;
        }
        in.position(at + FRAME_HEADER_BYTES).limit(at + FRAME_HEADER_BYTES + length);
        int count = in.getInt();
        List<Entry> entries = new ArrayList<>(Math.min(Math.max(count, 0), length / ENTRY_HEADER_BYTES));
        for (int i = 0; i < count; i++) {
            if (in.remaining() < ENTRY_HEADER_BYTES) {
                return null;
            }
            long index = in.getLong();
            long term = in.getLong();
            byte kind = in.get();
            int size = in.getInt();
            if (size < 0 || size > in.remaining() || kind < 0 || kind >= Entry.Kind.values().length) {
                return null;
            }
            byte[] data = new byte[size];
            in.get(data);
            entries.add(new Entry(index, term, Entry.Kind.of(kind), data));
        }
        return in.hasRemaining() || entries.isEmpty() ? null : new Frame(entries, in.position());
    }

    /** Position of the first intact frame at or after {@code from} that holds an entry at or above the index; -1 when there is none. */
    static int findAfter(byte[] file, int from, long index) {
        for (int at = from; at <= file.length - FRAME_HEADER_BYTES; at++) {
            if (file[at] == (byte) (FRAME_MAGIC >>> 24)) {
                Frame frame = read(file, at);
                if (frame != null && frame.entries().get(0).index() >= index) {
                    return at;
                }
            }
        }
        return -1;
    }

    static int crc(byte[] bytes, int from, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, from, length);
        return (int) crc.getValue();
    }

    private static int frameCrc(byte[] file, int at, int bodyLength) {
        CRC32C crc = new CRC32C();
        crc.update(file, at + 4, 4);
        crc.update(file, at + FRAME_HEADER_BYTES, bodyLength);
        return (int) crc.getValue();
    }
}
