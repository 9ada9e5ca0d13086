package io.kagami.it.bench;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** The records that are measured: text like JSON, with ids and amounts at random and keys that repeat; and who sends them. */
final class Payloads {
    private static final int SEED = 42;
    private static final int DIFFERENT = 4_000;
    private static final String[] STATUS = {"pending", "shipped", "returned", "cancelled", "refunded", "delivered"};

    private Payloads() {}

    /** Values of one size; lz4 makes about half of them, zstd about a third. */
    static List<byte[]> values(int size) {
        Random random = new Random(SEED);
        List<byte[]> values = new ArrayList<>(DIFFERENT);
        for (int i = 0; i < DIFFERENT; i++) {
            StringBuilder text = new StringBuilder(size + 256);
            while (text.length() < size) {
                text.append("{\"orderId\":\"").append(Long.toHexString(random.nextLong()));
                text.append(Long.toHexString(random.nextLong())).append("\",\"customer\":");
                text.append(random.nextInt(100_000_000)).append(",\"status\":\"");
                text.append(STATUS[random.nextInt(STATUS.length)]).append("\",\"amount\":");
                text.append(random.nextInt(1_000_000) / 100.0).append(",\"ref\":\"");
                text.append(Long.toString(random.nextLong() & Long.MAX_VALUE, 36));
                text.append("\",\"note\":\"leave at the door\"}");
            }
            values.add(text.substring(0, size).getBytes(StandardCharsets.ISO_8859_1));
        }
        return values;
    }

    /** A value with its number in the first bytes: no two records are the same. */
    static byte[] numbered(byte[] value, long number) {
        byte[] copy = value.clone();
        if (copy.length >= Long.BYTES) {
            ByteBuffer.wrap(copy).putLong(number);
        }
        return copy;
    }

    static KafkaProducer<byte[], byte[]> producer(String bootstrap, Map<String, Object> config) {
        Map<String, Object> all = new java.util.HashMap<>(Map.of(
                ProducerConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrap,
                ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG,
                false,
                ProducerConfig.BUFFER_MEMORY_CONFIG,
                64L << 20,
                ProducerConfig.MAX_REQUEST_SIZE_CONFIG,
                4 << 20));
        all.putAll(config);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** Sends that many records to the partitions in turn and waits for the last answer; the first refusal is thrown. */
    static void send(KafkaProducer<byte[], byte[]> producer, String topic, int partitions, long records, int size) {
        List<byte[]> values = values(size);
        AtomicReference<Exception> refusal = new AtomicReference<>();
        for (long i = 0; i < records && refusal.get() == null; i++) {
            byte[] value = numbered(values.get((int) (i % values.size())), i);
            producer.send(
                    new ProducerRecord<>(topic, (int) (i % partitions), null, value),
                    (metadata, error) -> refusal.compareAndSet(null, error));
        }
        producer.flush();
        if (refusal.get() != null) {
            throw new IllegalStateException("a record for " + topic + " was refused", refusal.get());
        }
    }

    static void create(String bootstrap, NewTopic topic) throws InterruptedException {
        create(bootstrap, List.of(topic));
    }

    static void create(String bootstrap, List<NewTopic> topics) throws InterruptedException {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap, "request.timeout.ms", "60000"))) {
            admin.createTopics(topics).all().get();
        } catch (ExecutionException e) {
            if (!(e.getCause() instanceof TopicExistsException)) {
                throw new IllegalStateException("topics cannot be created at " + bootstrap, e.getCause());
            }
        }
    }

    static void delete(String bootstrap, String topic) throws InterruptedException {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", bootstrap))) {
            admin.deleteTopics(List.of(topic)).all().get();
        } catch (ExecutionException e) {
            throw new IllegalStateException(topic + " cannot be deleted at " + bootstrap, e.getCause());
        }
    }
}
