package io.kagami.broker.core.group;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A growing big-endian byte array with Kafka's non-flexible string and bytes layouts. */
final class ByteWriter {
    private byte[] bytes = new byte[128];
    private int size;

    ByteWriter int16(int value) {
        room(2);
        bytes[size++] = (byte) (value >>> 8);
        bytes[size++] = (byte) value;
        return this;
    }

    ByteWriter int32(int value) {
        return int16(value >>> 16).int16(value);
    }

    ByteWriter int64(long value) {
        return int32((int) (value >>> 32)).int32((int) value);
    }

    ByteWriter string(String value) {
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        if (utf8.length > Short.MAX_VALUE) {
            throw new IllegalArgumentException("a string of " + utf8.length
                    + " bytes does not fit in a group record, the limit is " + Short.MAX_VALUE);
        }
        int16(utf8.length);
        return raw(utf8);
    }

    ByteWriter nullableString(String value) {
        return value == null ? int16(-1) : string(value);
    }

    ByteWriter bytes(byte[] value) {
        int32(value.length);
        return raw(value);
    }

    byte[] toArray() {
        return Arrays.copyOf(bytes, size);
    }

    private ByteWriter raw(byte[] value) {
        room(value.length);
        System.arraycopy(value, 0, bytes, size, value.length);
        size += value.length;
        return this;
    }

    private void room(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(Math.multiplyExact(bytes.length, 2), Math.addExact(size, more)));
        }
    }
}
