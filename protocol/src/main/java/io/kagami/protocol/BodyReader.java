package io.kagami.protocol;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Readable;

/** Reads what {@link BodyWriter} wrote. Lists grow as elements are read, whatever count was declared. */
final class BodyReader {
    private static final int TAGS_MAX = 64;
    private static final int LIST_STEP = 16;

    private final Readable in;

    BodyReader(Readable in) {
        this.in = in;
    }

    short int16() {
        return in.readShort();
    }

    int int32() {
        return in.readInt();
    }

    long int64() {
        return in.readLong();
    }

    Uuid uuid() {
        return in.readUuid();
    }

    String string() {
        String value = nullableString();
        if (value == null) {
            throw new IllegalArgumentException("null where a string is needed");
        }
        return value;
    }

    String nullableString() {
        int length = in.readUnsignedVarint() - 1;
        return length < 0 ? null : in.readString(length);
    }

    <T> List<T> list(Supplier<T> element) {
        int count = in.readUnsignedVarint() - 1;
        // every element takes at least one byte
        if (count < 0 || count > in.remaining()) {
            throw new IllegalArgumentException("an array of " + count + " where " + in.remaining() + " bytes remain");
        }
        List<T> values = new ArrayList<>(Math.min(count, LIST_STEP));
        for (int i = 0; i < count; i++) {
            values.add(element.get());
        }
        return values;
    }

    /** A structure: its fields, then its tagged fields. */
    <T> T struct(Supplier<T> fields) {
        T value = fields.get();
        tags();
        return value;
    }

    void tags() {
        int count = in.readUnsignedVarint();
        if (count < 0 || count > TAGS_MAX) {
            throw new IllegalArgumentException(Integer.toUnsignedString(count) + " tagged fields");
        }
        for (int i = 0; i < count; i++) {
            in.readUnsignedVarint();
            in.readByteBuffer(in.readUnsignedVarint());
        }
    }
}
