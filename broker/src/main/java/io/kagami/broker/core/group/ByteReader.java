package io.kagami.broker.core.group;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;

/** Reads Kafka's string and bytes layouts with every length checked against what is left. */
final class ByteReader {
    private final ByteBuffer in;

    ByteReader(ByteBuffer in) {
        this.in = in.duplicate();
    }

    int left() {
        return in.remaining();
    }

    short int16() {
        need(2);
        return in.getShort();
    }

    int int32() {
        need(4);
        return in.getInt();
    }

    long int64() {
        need(8);
        return in.getLong();
    }

    String string(boolean compact) {
        String value = nullableString(compact);
        if (value == null) {
            throw new IllegalArgumentException("null string where none is allowed");
        }
        return value;
    }

    String nullableString(boolean compact) {
        int length = compact ? uvarint() - 1 : int16();
        return length < 0 ? null : new String(raw(length), StandardCharsets.UTF_8);
    }

    byte[] bytes(boolean compact) {
        return raw(compact ? uvarint() - 1 : int32());
    }

    /** An element count; {@code elementMin} bytes at least are needed by each. */
    int count(boolean compact, int elementMin) {
        int count = compact ? uvarint() - 1 : int32();
        if (count < 0 || (long) count * elementMin > left()) {
            throw new IllegalArgumentException("a count of " + count + " with " + left() + " bytes left");
        }
        return count;
    }

    /** Tagged fields of a flexible version; none of them matters here. */
    void skipTags() {
        int tags = uvarint();
        for (int i = 0; i < tags; i++) {
            uvarint();
            raw(uvarint());
        }
    }

    private byte[] raw(int length) {
        if (length < 0) {
            throw new IllegalArgumentException("negative length " + length);
        }
        need(length);
        byte[] value = new byte[length];
        in.get(value);
        return value;
    }

    private int uvarint() {
        int value = 0;
        for (int shift = 0; shift < 35; shift += 7) {
            need(1);
            int next = in.get();
            value |= (next & 0x7f) << shift;
            if (next >= 0) {
                return value;
            }
        }
        throw new IllegalArgumentException("a varint of more than 5 bytes");
    }

    private void need(int bytes) {
        if (in.remaining() < bytes) {
            throw new IllegalArgumentException("cut short: " + bytes + " bytes wanted, " + in.remaining() + " left");
        }
    }
}
