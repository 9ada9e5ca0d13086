package io.kagami.protocol;

import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import io.kagami.protocol.records.RecordBatches;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/** Messages with every field of a version set, known tagged fields included; from a seed. */
public final class SampleMessages {
    private final Random random;
    private final int elements;

    /** @param elements in each array */
    public SampleMessages(long seed, int elements) {
        this.random = new Random(seed);
        this.elements = elements;
    }

    public ApiMessage request(short key, short version) {
        ApiMessageType type = ApiMessageType.fromApiKey(key);
        ApiMessage message = type.newRequest();
        fill(message, type.requestSchemas()[version]);
        return message;
    }

    public ApiMessage response(short key, short version) {
        ApiMessageType type = ApiMessageType.fromApiKey(key);
        ApiMessage message = type.newResponse();
        fill(message, type.responseSchemas()[version]);
        return message;
    }

    private void fill(Object target, Schema schema) {
        for (BoundField bound : schema.fields()) {
            if (bound.def.type instanceof TaggedFields tagged) {
                tagged.fields().values().forEach(field -> set(target, field.name, field.type));
            } else {
                set(target, bound.def.name, bound.def.type);
            }
        }
    }

    private void set(Object target, String name, Type type) {
        try {
            Field field = field(target.getClass(), name);
            Object value = value(field, type);
            for (Method method : target.getClass().getMethods()) {
                if (method.getName().equalsIgnoreCase("set" + field.getName()) && method.getParameterCount() == 1) {
                    method.invoke(target, value);
                    return;
                }
            }
            throw new AssertionError("no setter for " + name + " in " + target.getClass());
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(target.getClass() + " " + name, e);
        }
    }

    private static Field field(Class<?> type, String name) {
        for (Field field : type.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && field.getName().equalsIgnoreCase(name.replace("_", ""))) {
                return field;
            }
        }
        throw new AssertionError("no field " + name + " in " + type);
    }

    private Object value(Field field, Type type) throws ReflectiveOperationException {
        if (!type.isArray()) {
            return type instanceof Schema schema ? struct(field.getType(), schema) : scalar(field.getType(), type);
        }
        Type elementType = type.arrayElementType().orElseThrow();
        Collection<Object> values = collection(field.getType());
        java.lang.reflect.Type generic = field.getType() == List.class
                ? field.getGenericType()
                : field.getType().getGenericSuperclass();
        Class<?> element = (Class<?>) ((ParameterizedType) generic).getActualTypeArguments()[0];
        for (int i = 0; i < elements; i++) {
            values.add(elementType instanceof Schema schema ? struct(element, schema) : scalar(element, elementType));
        }
        return values;
    }

    @SuppressWarnings("unchecked")
    private static Collection<Object> collection(Class<?> type) throws ReflectiveOperationException {
        return type == List.class
                ? new ArrayList<>()
                : (Collection<Object>) type.getDeclaredConstructor().newInstance();
    }

    private Object struct(Class<?> type, Schema schema) throws ReflectiveOperationException {
        Constructor<?> constructor = type.getDeclaredConstructor();
        Object value = constructor.newInstance();
        fill(value, schema);
        return value;
    }

    private Object scalar(Class<?> type, Type wire) {
        if (type == String.class) {
            return "näme-" + Long.toString(random.nextLong(), 36).toLowerCase(Locale.ROOT);
        }
        if (type == byte[].class) {
            byte[] bytes = new byte[random.nextInt(30)];
            random.nextBytes(bytes);
            return bytes;
        }
        if (type == ByteBuffer.class) {
            return ByteBuffer.wrap(new byte[] {1, 2, 3});
        }
        if (type == Uuid.class) {
            return new Uuid(random.nextLong(), random.nextLong());
        }
        if (type.getName().endsWith("BaseRecords")) {
            return RecordBatches.toRecords(new BatchBuilder(Codec.NONE)
                    .append(random.nextInt(1_000_000), null, new byte[random.nextInt(50)])
                    .build());
        }
        return number(type, wire);
    }

    private Object number(Class<?> type, Type wire) {
        int small = random.nextInt(100) + 1;
        if (type == boolean.class) {
            return true;
        }
        if (type == byte.class || type == Byte.class) {
            return (byte) small;
        }
        if (type == short.class || type == Short.class) {
            return (short) small;
        }
        if (type == int.class || type == Integer.class) {
            return wire == Type.UINT16 ? small : random.nextInt();
        }
        if (type == long.class || type == Long.class) {
            return wire == Type.UNSIGNED_INT32 ? small : random.nextLong();
        }
        if (type == double.class) {
            return random.nextDouble();
        }
        throw new AssertionError("no sample for " + type);
    }
}
