package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;

/** A position in a frame that is being checked, and what reading it for real would allocate so far. */
final class ShapeCursor {
    private final ByteBuf buf;
    private final int start;
    private final int end;
    private final long budget;
    private int at;
    private long charged;

    ShapeCursor(ByteBuf buf, long budget) {
        this.buf = buf;
        this.start = buf.readerIndex();
        this.at = start;
        this.end = buf.writerIndex();
        this.budget = budget;
    }

    ByteBuf buf() {
        return buf;
    }

    /** Of the buffer, as {@link #position} is of the frame. */
    int index() {
        return at;
    }

    long charged() {
        return charged;
    }

    int remaining() {
        return end - at;
    }

    int position() {
        return at - start;
    }

    void charge(long bytes) {
        charged += bytes;
        if (charged > budget) {
            throw new MalformedFrame(
                    "decoding it would take more than " + budget + " bytes of memory, " + (end - start) + " were sent");
        }
    }

    void skip(int bytes, String name) {
        if (bytes < 0 || bytes > remaining()) {
            throw new MalformedFrame("field " + name + " at byte " + position() + " takes "
                    + Integer.toUnsignedString(bytes) + " bytes, " + remaining() + " remain");
        }
        at += bytes;
    }

    /** Skips, and tells whether all bytes were ASCII. */
    boolean skipAscii(int bytes, String name) {
        int from = at;
        skip(bytes, name);
        for (int i = from; i < at; i++) {
            if (buf.getByte(i) < 0) {
                return false;
            }
        }
        return true;
    }

    byte int8(String name) {
        int from = at;
        skip(Byte.BYTES, name);
        return buf.getByte(from);
    }

    short int16(String name) {
        int from = at;
        skip(Short.BYTES, name);
        return buf.getShort(from);
    }

    int int32(String name) {
        int from = at;
        skip(Integer.BYTES, name);
        return buf.getInt(from);
    }

    int varint(String name) {
        int value = 0;
        for (int shift = 0; shift < 35; shift += 7) {
            byte b = int8(name);
            value |= (b & 0x7f) << shift;
            if (b >= 0) {
                if (shift == 28 && b > 0x0f) {
                    break;
                }
                return value;
            }
        }
        throw new MalformedFrame("field " + name + " before byte " + position() + " is a number longer than 32 bits");
    }
}
