package io.kagami.broker.core.cluster;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;

/** Reads what {@link ByteWriter} wrote; a length or count that exceeds the bytes that remain is refused before anything is allocated. */
final class ByteReader {
    private final ByteBuffer in;

    ByteReader(ByteBuffer in) {
        this.in = in;
    }

    byte int8() {
        return in.get();
    }

    short int16() {
        return in.getShort();
    }

    int int32() {
        return in.getInt();
    }

    long int64() {
        return in.getLong();
    }

    String string() {
        int length = in.getInt();
        if (length == -1) {
            return null;
        }
        byte[] utf8 = new byte[checked(length)];
        in.get(utf8);
        return new String(utf8, StandardCharsets.UTF_8);
    }

    Uuid uuid() {
        return new Uuid(in.getLong(), in.getLong());
    }

    <T> List<T> list(Supplier<T> readOne) {
        int count = checked(in.getInt());
        List<T> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            values.add(readOne.get());
        }
        return values;
    }

    /** Values may be null. */
    Map<String, String> strings() {
        int count = checked(in.getInt());
        Map<String, String> values = new HashMap<>();
        for (int i = 0; i < count; i++) {
            values.put(string(), string());
        }
        return values;
    }

    int remaining() {
        return in.remaining();
    }

    private int checked(int length) {
        if (length < 0 || length > in.remaining()) {
            throw new BufferUnderflowException();
        }
        return length;
    }
}
