package io.kagami.broker.core.adopt;

import io.kagami.broker.core.adopt.KafkaRecord.ConfigSet;
import io.kagami.broker.core.adopt.KafkaRecord.EligibleCleared;
import io.kagami.broker.core.adopt.KafkaRecord.Foreign;
import io.kagami.broker.core.adopt.KafkaRecord.PartitionChanged;
import io.kagami.broker.core.adopt.KafkaRecord.PartitionMade;
import io.kagami.broker.core.adopt.KafkaRecord.ProducerIdsTaken;
import io.kagami.broker.core.adopt.KafkaRecord.TopicMade;
import io.kagami.broker.core.adopt.KafkaRecord.TopicRemoved;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionAborted;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionBegun;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionEnded;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;

/**
 * Reads the values of Apache Kafka's metadata records, up to those of Kafka 4.4.
 *
 * <pre>
 * value   varint 1 (frame version), varint type, varint version, fields, tagged fields
 * type 2  topic              string name, uuid id
 * type 3  partition          int32 partition, uuid topic, int32[] replicas, isr, removing, adding, int32 leader, leader epoch,
 *                            partition epoch, from version 1 on uuid[] directories, tag 1 int32[] eligible leaders,
 *                            tag 2 int32[] last known leader; versions 0 to 2
 * type 4  config             int8 resource type, string resource, string key, string? value
 * type 5  partition change   int32 partition, uuid topic, tag 0 int32[] isr, tag 1 int32 leader, tag 2 int32[] replicas,
 *                            tag 6 int32[] eligible leaders, tag 7 int32[] last known leader; versions 0 to 2
 * type 9  topic removed      uuid id
 * type 15 producer ids       int32 broker, int64 broker epoch, int64 next producer id
 * type 28 eligible cleared   string topic, empty for all
 * types 23, 24, 25           a transaction of metadata begins, ends, is aborted
 * </pre>
 *
 * Lengths are unsigned varints of length plus one, 0 for null (Kafka's flexible form). Other types are told by their number alone. A
 * version above the known ones of a type that counts is refused: it could say something that must not be missed.
 */
public final class KafkaRecords {
    private static final int FRAME_VERSION = 1;
    private static final int VARINT_BITS_MAX = 35;
    private static final int UUID_BYTES = 16;

    private final ByteBuffer in;

    private KafkaRecords(ByteBuffer in) {
        this.in = in;
    }

    /** @throws IllegalArgumentException when the value is no record that this program can read */
    public static KafkaRecord decode(ByteBuffer value) {
        try {
            return new KafkaRecords(value.slice()).record();
        } catch (BufferUnderflowException | ArithmeticException e) {
            throw new IllegalArgumentException("a metadata record of " + value.remaining() + " bytes is cut off", e);
        }
    }

    private KafkaRecord record() {
        int frame = varint();
        if (frame != FRAME_VERSION) {
            throw new IllegalArgumentException(
                    "a metadata record has frame version " + frame + ", known is " + FRAME_VERSION);
        }
        int type = varint();
        int version = varint();
        int known = newestVersion(type);
        if (known < 0) {
            return new Foreign(type);
        }
        if (version > known) {
            throw new IllegalArgumentException("a metadata record of type " + type + " has version " + version
                    + ", known are those up to " + known + ": a newer Kafka wrote it");
        }
        return switch (type) {
            case 2 -> new TopicMade(string(), uuid());
            case 3 -> partition(version);
            case 4 -> new ConfigSet(in.get(), string(), string(), nullableString());
            case 5 -> partitionChange();
            case 9 -> new TopicRemoved(uuid());
            case 15 -> producerIds();
            case 23 -> new TransactionBegun();
            case 24 -> new TransactionEnded();
            case 25 -> new TransactionAborted();
            case 28 -> new EligibleCleared(string());
            default -> throw new AssertionError(type);
        };
    }

    /** -1 for types that do not matter. */
    private static int newestVersion(int type) {
        return switch (type) {
            case 3, 5 -> 2;
            case 2, 4, 9, 15, 23, 24, 25, 28 -> 0;
            default -> -1;
        };
    }

    private PartitionMade partition(int version) {
        int number = in.getInt();
        Uuid topic = uuid();
        List<Integer> replicas = numbers();
        List<Integer> isr = numbers();
        numbers();
        numbers();
        int leader = in.getInt();
        int leaderEpoch = in.getInt();
        in.getInt();
        if (version >= 1) {
            int directories = Math.max(0, varint() - 1);
            in.position(in.position() + checked(Math.multiplyExact(directories, UUID_BYTES)));
        }
        Map<Integer, ByteBuffer> tags = tags();
        return new PartitionMade(
                topic,
                number,
                replicas,
                isr,
                leader,
                leaderEpoch,
                numbers(tags, 1, List.of()),
                numbers(tags, 2, List.of()));
    }

    private PartitionChanged partitionChange() {
        int number = in.getInt();
        Uuid topic = uuid();
        Map<Integer, ByteBuffer> tags = tags();
        ByteBuffer leader = tags.get(1);
        return new PartitionChanged(
                topic,
                number,
                numbers(tags, 2, null),
                numbers(tags, 0, null),
                leader == null ? KafkaRecord.SAME_LEADER : leader.getInt(),
                numbers(tags, 6, null),
                numbers(tags, 7, null));
    }

    private static List<Integer> numbers(Map<Integer, ByteBuffer> tags, int tag, List<Integer> absent) {
        ByteBuffer value = tags.get(tag);
        return value == null ? absent : new KafkaRecords(value).numbers();
    }

    private ProducerIdsTaken producerIds() {
        in.getInt();
        in.getLong();
        return new ProducerIdsTaken(in.getLong());
    }

    private Map<Integer, ByteBuffer> tags() {
        Map<Integer, ByteBuffer> tags = new HashMap<>();
        int count = varint();
        for (int i = 0; i < count; i++) {
            int tag = varint();
            int size = checked(varint());
            tags.put(tag, in.slice(in.position(), size));
            in.position(in.position() + size);
        }
        return tags;
    }

    private Uuid uuid() {
        return new Uuid(in.getLong(), in.getLong());
    }

    private String string() {
        String value = nullableString();
        if (value == null) {
            throw new IllegalArgumentException("a metadata record has no text where one belongs");
        }
        return value;
    }

    private String nullableString() {
        int length = varint() - 1;
        if (length < 0) {
            return null;
        }
        byte[] utf8 = new byte[checked(length)];
        in.get(utf8);
        return new String(utf8, StandardCharsets.UTF_8);
    }

    /** Null and empty are the same here. */
    private List<Integer> numbers() {
        int count = Math.max(0, varint() - 1);
        checked(count);
        List<Integer> numbers = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            numbers.add(in.getInt());
        }
        return List.copyOf(numbers);
    }

    private int varint() {
        int value = 0;
        for (int shift = 0; shift < VARINT_BITS_MAX; shift += 7) {
            byte b = in.get();
            value |= (b & 0x7f) << shift;
            if (b >= 0) {
                return value;
            }
        }
        throw new IllegalArgumentException("a metadata record has a number of more than 32 bits");
    }

    private int checked(int length) {
        if (length < 0 || length > in.remaining()) {
            throw new BufferUnderflowException();
        }
        return length;
    }
}
