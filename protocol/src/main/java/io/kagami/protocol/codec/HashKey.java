package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.Uuid;

/**
 * The hash code of an element of a hash collection, computed from the wire. The library's collections probe linearly and are cubic
 * in the number of equal or colliding keys: a thousand of them in a few kilobytes hold a thread for a second. So the keys are looked
 * at before the collection is built.
 *
 * @param parts in the order in which the generated hashCode combines them, which is that of the wire
 */
record HashKey(List<Part> parts) {
    /**
     * @param field index among the fields on the wire; -1 when this version lacks it
     * @param absent hash of the value that the field has then
     */
    record Part(int field, int absent) {}

    static final int FACTOR = 31;

    /** @param wire Java field names, flat, in wire order; null for the section of tagged fields */
    static HashKey of(Class<?> element, List<String> wire) {
        try {
            List<Part> parts = new ArrayList<>();
            int last = -1;
            for (Field field : element.getDeclaredFields()) {
                if (!Modifier.isStatic(field.getModifiers()) && counts(element, field)) {
                    int at = wire.indexOf(ObjectSizes.flat(field.getName()));
                    if (at >= 0 && at < last) {
                        throw new IllegalStateException("keys of " + element + " are not in wire order");
                    }
                    last = Math.max(last, at);
                    Object byDefault = field.get(newInstance(element));
                    parts.add(new Part(at, byDefault == null ? 0 : byDefault.hashCode()));
                }
            }
            return new HashKey(List.copyOf(parts));
        } catch (ReflectiveOperationException e) {
            throw new LinkageError("hash code of " + element, e);
        }
    }

    /** Whether the generated hashCode depends on a field. */
    private static boolean counts(Class<?> element, Field field) throws ReflectiveOperationException {
        field.setAccessible(true);
        Object value = newInstance(element);
        int before = value.hashCode();
        Class<?> type = field.getType();
        if (type == String.class) {
            field.set(value, "x");
        } else if (type == Uuid.class) {
            field.set(value, new Uuid(1, 2));
        } else if (type == int.class) {
            field.setInt(value, field.getInt(value) + 1);
        } else if (type == short.class) {
            field.setShort(value, (short) (field.getShort(value) + 1));
        } else if (type == byte.class) {
            field.setByte(value, (byte) (field.getByte(value) + 1));
        } else {
            return false;
        }
        return value.hashCode() != before;
    }

    private static Object newInstance(Class<?> element) throws ReflectiveOperationException {
        Constructor<?> constructor = element.getDeclaredConstructor();
        constructor.setAccessible(true);
        return constructor.newInstance();
    }

    /** The hash of a string as {@link String#hashCode} has it; nothing is allocated for ASCII. */
    static int ofText(ByteBuf buf, int at, int length) {
        int hash = 0;
        for (int i = at; i < at + length; i++) {
            byte b = buf.getByte(i);
            if (b < 0) {
                return buf.toString(at, length, StandardCharsets.UTF_8).hashCode();
            }
            hash = FACTOR * hash + b;
        }
        return hash;
    }

    static int ofUuid(ByteBuf buf, int at) {
        long both = buf.getLong(at) ^ buf.getLong(at + Long.BYTES);
        return (int) (both >> 32) ^ (int) both;
    }
}
