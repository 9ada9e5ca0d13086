package io.kagami.protocol.codec;

import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.util.AbstractCollection;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import org.apache.kafka.common.protocol.Message;

/** What objects of generated message classes weigh on a 64-bit JVM with compressed references, counted from their fields. */
final class ObjectSizes {
    static final int REFERENCE = 4;
    static final int ARRAY_HEADER = 16;
    static final int LIST = 24;
    /** The collection, its head element and room for its smallest table. */
    static final int HASH_COLLECTION = 128;

    private static final int OBJECT_HEADER = 12;
    private static final int ALIGNMENT = 8;

    private ObjectSizes() {}

    static long align(long bytes) {
        return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }

    /** The object itself, and what its constructor puts into those fields that are not in {@code read}. */
    static int of(Class<?> type, List<String> read) {
        long size = OBJECT_HEADER;
        long defaults = 0;
        for (Class<?> c = type; c != null; c = c.getSuperclass()) {
            for (Field field : c.getDeclaredFields()) {
                if (Modifier.isStatic(field.getModifiers())) {
                    continue;
                }
                size += width(field.getType());
                if (!read.contains(flat(field.getName()))) {
                    defaults += byDefault(field.getType());
                }
            }
        }
        return (int) (align(size) + defaults);
    }

    private static long byDefault(Class<?> type) {
        if (Message.class.isAssignableFrom(type)) {
            return of(type, List.of());
        }
        if (isHashCollection(type)) {
            return HASH_COLLECTION;
        }
        return Collection.class.isAssignableFrom(type) ? LIST : 0;
    }

    private static int width(Class<?> type) {
        if (type == long.class || type == double.class) {
            return Long.BYTES;
        }
        if (type == short.class || type == char.class) {
            return Short.BYTES;
        }
        return type == byte.class || type == boolean.class ? 1 : REFERENCE;
    }

    static boolean isHashCollection(Class<?> type) {
        return AbstractCollection.class.isAssignableFrom(type) && !List.class.isAssignableFrom(type);
    }

    /** {@code max_wait_ms} and {@code maxWaitMs} are the same field. */
    static String flat(String name) {
        return name.replace("_", "").toLowerCase(Locale.ROOT);
    }

    /** The field of a message class that a schema field is read into. */
    static Field find(Class<?> type, String schemaName) {
        List<String> names = new ArrayList<>();
        for (Field field : type.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers())
                    && flat(field.getName()).equals(flat(schemaName))) {
                return field;
            }
            names.add(field.getName());
        }
        throw new IllegalStateException(type.getName() + " has no field for " + schemaName + ", only " + names);
    }

    /** The class of the structures in a field: its own, or that of its elements. */
    static Class<?> element(Field field) {
        Type type = field.getGenericType();
        if (isHashCollection(field.getType())) {
            type = field.getType().getGenericSuperclass();
        }
        return type instanceof ParameterizedType generic
                ? (Class<?>) generic.getActualTypeArguments()[0]
                : field.getType();
    }
}
