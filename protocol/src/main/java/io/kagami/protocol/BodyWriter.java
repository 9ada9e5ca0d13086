package io.kagami.protocol;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.Objects;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;

/** Kafka's flexible encoding of the field types that private bodies use. */
final class BodyWriter {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream(256);

    void int16(short value) {
        out.write(value >> 8);
        out.write(value);
    }

    void int32(int value) {
        int16((short) (value >> 16));
        int16((short) value);
    }

    void int64(long value) {
        int32((int) (value >> 32));
        int32((int) value);
    }

    void uuid(Uuid value) {
        int64(value.getMostSignificantBits());
        int64(value.getLeastSignificantBits());
    }

    void string(String value) {
        nullableString(Objects.requireNonNull(value, "a string of a private message"));
    }

    void nullableString(String value) {
        if (value == null) {
            varint(0);
            return;
        }
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
        varint(bytes.length + 1);
        out.writeBytes(bytes);
    }

    /** The element writer of a structure ends with {@link #tags()}. */
    <T> void list(Collection<T> values, Consumer<T> element) {
        varint(values.size() + 1);
        values.forEach(element);
    }

    /** The end of a structure: no tagged fields. */
    void tags() {
        varint(0);
    }

    byte[] bytes() {
        return out.toByteArray();
    }

    private void varint(int value) {
        int rest = value;
        while ((rest & ~0x7f) != 0) {
            out.write((rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        out.write(rest);
    }
}
