package io.kagami.broker.core.cluster;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;

/** Big-endian numbers, UTF-8 strings with a length (-1 = null), collections with a count, in a buffer that grows. */
final class ByteWriter {
    private byte[] bytes = new byte[256];
    private int size;

    ByteWriter int8(int value) {
        room(1);
        bytes[size++] = (byte) value;
        return this;
    }

    ByteWriter int16(int value) {
        return int8(value >> 8).int8(value);
    }

    ByteWriter int32(int value) {
        return int16(value >> 16).int16(value);
    }

    ByteWriter int64(long value) {
        return int32((int) (value >> 32)).int32((int) value);
    }

    ByteWriter string(String value) {
        if (value == null) {
            return int32(-1);
        }
        byte[] utf8 = value.getBytes(StandardCharsets.UTF_8);
        int32(utf8.length);
        room(utf8.length);
        System.arraycopy(utf8, 0, bytes, size, utf8.length);
        size += utf8.length;
        return this;
    }

    ByteWriter uuid(Uuid value) {
        return int64(value.getMostSignificantBits()).int64(value.getLeastSignificantBits());
    }

    <T> ByteWriter list(Collection<T> values, Consumer<T> writeOne) {
        int32(values.size());
        values.forEach(writeOne);
        return this;
    }

    /** Sorted by key, so that equal maps give equal bytes. */
    ByteWriter strings(Map<String, String> values) {
        return list(new TreeMap<>(values).entrySet(), e -> string(e.getKey()).string(e.getValue()));
    }

    byte[] toBytes() {
        return Arrays.copyOf(bytes, size);
    }

    private void room(int more) {
        if (bytes.length - size < more) {
            bytes = Arrays.copyOf(bytes, Math.max(Math.addExact(size, more), Math.multiplyExact(bytes.length, 2)));
        }
    }
}
