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

    private static final int BUDGET_SLACK = 64 << 10;
    private static final int STRING_BYTES = 56;
    private static final int STRUCT_BYTES = 96;
    private static final int LIST_BYTES = 104;
    /** One slot, and what growing the list by halves left behind. */
    private static final int SLOT_BYTES = 20;

    private final Readable in;
    private final int sent;
    private long budget;

    /** @param factor memory that decoding may take, as a multiple of the bytes sent, and 64 KiB on top */
    BodyReader(Readable in, int factor) {
        this.in = in;
        sent = in.remaining();
        budget = (long) factor * sent + BUDGET_SLACK;
    }

    private void charge(long bytes) {
        budget -= bytes;
        if (budget < 0) {
            throw new IllegalArgumentException(
                    "decoding it would take far more memory than the " + sent + " bytes sent");
        }
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
        if (length < 0) {
            return null;
        }
        if (length > 0) {
            charge(STRING_BYTES + 2L * Math.min(length, in.remaining()));
        }
        return in.readString(length);
    }

    <T> List<T> list(Supplier<T> element) {
        int count = in.readUnsignedVarint() - 1;
        // every element takes at least one byte
        if (count < 0 || count > in.remaining()) {
            throw new IllegalArgumentException("an array of " + count + " where " + in.remaining() + " bytes remain");
        }
        charge(LIST_BYTES + (long) SLOT_BYTES * count);
        List<T> values = new ArrayList<>(Math.min(count, LIST_STEP));
        for (int i = 0; i < count; i++) {
            values.add(element.get());
        }
        return values;
    }

    /** A structure: its fields, then its tagged fields. */
    <T> T struct(Supplier<T> fields) {
        charge(STRUCT_BYTES);
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
