package io.kagami.protocol.codec;

import io.kagami.protocol.PrivateApi;
import io.netty.buffer.ByteBuf;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.types.ArrayOf;
import org.apache.kafka.common.protocol.types.BoundField;
import org.apache.kafka.common.protocol.types.CompactArrayOf;
import org.apache.kafka.common.protocol.types.Schema;
import org.apache.kafka.common.protocol.types.TaggedFields;
import org.apache.kafka.common.protocol.types.Type;

/** Compiles and keeps the {@link Shape} of every body, and checks frames by them. */
final class Shapes {
    /** Allocation that a request may cause: times its own size, and this much on top. */
    static final int REQUEST_FACTOR = 8;

    static final int REQUEST_SLACK = 64 << 10;

    // An answer to our own question may be richer: metadata of many partitions is mostly small numbers in lists.
    static final int RESPONSE_FACTOR = 32;
    static final int RESPONSE_SLACK = 1 << 20;

    // Private bodies are read by code that grows with what it reads; a string field costs most, 56 bytes for two on the
    // wire.
    private static final int KEY_SHIFT = 16;

    private static final Map<Integer, Shape> REQUESTS = new ConcurrentHashMap<>();
    private static final Map<Integer, Shape> RESPONSES = new ConcurrentHashMap<>();
    private static final List<Shape> REQUEST_HEADERS = List.of(
            header(RequestHeaderData.SCHEMAS[1], RequestHeaderData.class),
            header(RequestHeaderData.SCHEMAS[2], RequestHeaderData.class));

    private Shapes() {}

    /**
     * Checks a whole request frame, header first.
     *
     * @return what decoding will allocate, estimated
     * @throws MalformedFrame naming the field
     */
    static long checkRequest(ByteBuf frame, short key, short version, short headerVersion) {
        long budget = (long) REQUEST_FACTOR * frame.readableBytes() + REQUEST_SLACK;
        ShapeCursor in = new ShapeCursor(frame, budget);
        REQUEST_HEADERS.get(headerVersion - 1).walk(in);
        return PrivateApi.find(key) == null ? finish(in, request(key, version)) : in.charged();
    }

    /** Checks the body of a response from the reader index on. */
    static long checkResponse(ByteBuf frame, short key, short version) {
        long budget = (long) RESPONSE_FACTOR * frame.readableBytes() + RESPONSE_SLACK;
        ShapeCursor in = new ShapeCursor(frame, budget);
        return PrivateApi.find(key) == null ? finish(in, response(key, version)) : 0;
    }

    private static long finish(ShapeCursor in, Shape shape) {
        shape.walk(in);
        if (in.remaining() > 0) {
            throw new MalformedFrame(in.remaining() + " bytes are left over");
        }
        return in.charged();
    }

    static Shape request(short key, short version) {
        return REQUESTS.computeIfAbsent(key << KEY_SHIFT | version, id -> {
            ApiMessageType type = ApiMessageType.fromApiKey(key);
            return struct(
                    type.name, type.requestSchemas()[version], type.newRequest().getClass(), false);
        });
    }

    static Shape response(short key, short version) {
        return RESPONSES.computeIfAbsent(key << KEY_SHIFT | version, id -> {
            ApiMessageType type = ApiMessageType.fromApiKey(key);
            return struct(
                    type.name,
                    type.responseSchemas()[version],
                    type.newResponse().getClass(),
                    false);
        });
    }

    private static Shape header(Schema schema, Class<?> type) {
        return struct("header", schema, type, false);
    }

    private static Shape.Struct struct(String name, Schema schema, Class<?> type, boolean nullable) {
        List<Shape> fields = new ArrayList<>();
        List<String> read = new ArrayList<>();
        int sizeMin = nullable ? 1 : 0;
        for (BoundField bound : schema.fields()) {
            Shape shape;
            if (bound.def.type instanceof TaggedFields tagged) {
                shape = tags(name, tagged, type);
            } else {
                shape = field(bound.def.name, bound.def.type, ObjectSizes.find(type, bound.def.name));
                read.add(ObjectSizes.flat(bound.def.name));
            }
            fields.add(shape);
            sizeMin += nullable ? 0 : shape.sizeMin();
        }
        return new Shape.Struct(name, List.copyOf(fields), sizeMin, ObjectSizes.of(type, read), nullable);
    }

    private static Shape tags(String name, TaggedFields tagged, Class<?> type) {
        Map<Integer, Shape> known = new HashMap<>();
        tagged.fields()
                .forEach((tag, field) ->
                        known.put(tag, field(field.name, field.type, ObjectSizes.find(type, field.name))));
        return new Shape.Tags(name, Map.copyOf(known));
    }

    private static Shape field(String name, Type type, Field field) {
        if (type instanceof ArrayOf || type instanceof CompactArrayOf) {
            Type element = type.arrayElementType().orElseThrow();
            return new Shape.Array(
                    name,
                    element instanceof Schema schema
                            ? struct(name, schema, ObjectSizes.element(field), schema.isNullable())
                            : scalar(name, element, true),
                    type instanceof CompactArrayOf,
                    type.isNullable(),
                    hashKey(element, field));
        }
        return type instanceof Schema schema
                ? struct(name, schema, field.getType(), schema.isNullable())
                : scalar(name, type, false);
    }

    private static HashKey hashKey(Type element, Field field) {
        if (!(element instanceof Schema schema) || !ObjectSizes.isHashCollection(field.getType())) {
            return null;
        }
        List<String> wire = new ArrayList<>();
        for (BoundField bound : schema.fields()) {
            wire.add(ObjectSizes.flat(bound.def.name));
        }
        return HashKey.of(ObjectSizes.element(field), wire);
    }

    private static Shape scalar(String name, Type type, boolean boxed) {
        String kind = type.toString();
        boolean compact = kind.startsWith("COMPACT_");
        boolean nullable = kind.contains("NULLABLE_");
        return switch (kind) {
            case "BOOLEAN", "INT8" -> new Shape.Fixed(name, Byte.BYTES, 0);
            case "INT16", "UINT16" -> new Shape.Fixed(name, Short.BYTES, boxed ? 16 : 0);
            case "INT32" -> new Shape.Fixed(name, Integer.BYTES, boxed ? 16 : 0);
            case "UINT32" -> new Shape.Fixed(name, Integer.BYTES, boxed ? 24 : 0);
            case "INT64", "FLOAT64" -> new Shape.Fixed(name, Long.BYTES, boxed ? 24 : 0);
            case "UUID" -> new Shape.Fixed(name, 2 * Long.BYTES, 32);
            case "VARINT", "VARLONG" -> new Shape.Variable(name);
            case "STRING", "COMPACT_STRING", "NULLABLE_STRING", "COMPACT_NULLABLE_STRING" ->
                new Shape.Text(name, compact, nullable);
            case "BYTES", "COMPACT_BYTES", "NULLABLE_BYTES", "COMPACT_NULLABLE_BYTES" ->
                new Shape.Blob(name, compact, nullable, false);
            case "RECORDS", "COMPACT_RECORDS", "NULLABLE_RECORDS", "COMPACT_NULLABLE_RECORDS" ->
                new Shape.Blob(name, compact, true, true);
            default -> throw new IllegalStateException("schema type " + kind + " of field " + name);
        };
    }
}
