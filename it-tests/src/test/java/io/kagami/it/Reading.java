package io.kagami.it;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Reads with Kafka's own consumer, and writes down all that a consumer sees of a record. */
final class Reading {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private Reading() {}

    static KafkaConsumer<byte[], byte[]> consumer(String bootstrap, Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>();
        all.put(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        all.put(ConsumerConfig.AUTO_OFFSET_RESET_CONFIG, "earliest");
        all.put(ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, "false");
        all.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, "false");
        all.putAll(settings);
        return new KafkaConsumer<>(all, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    /** Everything in a topic that this isolation shows, in partition order, by assignment without a group. */
    static List<String> all(String bootstrap, String topic, String isolation) {
        try (KafkaConsumer<byte[], byte[]> consumer =
                consumer(bootstrap, Map.of(ConsumerConfig.ISOLATION_LEVEL_CONFIG, isolation))) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(p -> new TopicPartition(topic, p.partition()))
                    .sorted((a, b) -> Integer.compare(a.partition(), b.partition()))
                    .toList();
            List<String> lines = new ArrayList<>();
            for (TopicPartition partition : partitions) {
                consumer.assign(List.of(partition));
                consumer.seekToBeginning(List.of(partition));
                long end = consumer.endOffsets(List.of(partition)).get(partition);
                long deadline = System.nanoTime() + PATIENCE.toNanos();
                lines.add(partition.partition() + " from "
                        + consumer.beginningOffsets(List.of(partition)).get(partition) + " to " + end);
                while (consumer.position(partition) < end) {
                    consumer.poll(POLL).forEach(r -> lines.add(line(r)));
                    if (System.nanoTime() > deadline) {
                        throw new AssertionError("reading " + partition + " from " + bootstrap + " got stuck at "
                                + consumer.position(partition) + " of " + end + " after " + lines.size() + " records");
                    }
                }
            }
            return lines;
        }
    }

    /** Polls until that many records came, or fails after a minute. */
    static List<ConsumerRecord<byte[], byte[]>> poll(KafkaConsumer<byte[], byte[]> consumer, int records) {
        List<ConsumerRecord<byte[], byte[]>> got = new ArrayList<>();
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (got.size() < records) {
            consumer.poll(POLL).forEach(got::add);
            if (System.nanoTime() > deadline) {
                throw new AssertionError("only " + got.size() + " of " + records + " records came within " + PATIENCE);
            }
        }
        return got;
    }

    /** All that a consumer sees of one record, large values by their hash. */
    static String line(ConsumerRecord<byte[], byte[]> r) {
        StringBuilder headers = new StringBuilder();
        r.headers().forEach(h -> headers.append(h.key())
                .append('=')
                .append(text(h.value()))
                .append(','));
        return r.partition() + " " + r.offset() + " " + r.timestampType() + " " + r.timestamp() + " [" + headers + "] "
                + text(r.key()) + " " + text(r.value());
    }

    private static String text(byte[] bytes) {
        if (bytes == null) {
            return "null";
        }
        return bytes.length > 64
                ? bytes.length + "#" + Arrays.hashCode(bytes)
                : new String(bytes, java.nio.charset.StandardCharsets.UTF_8);
    }
}
