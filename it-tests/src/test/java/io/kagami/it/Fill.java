package io.kagami.it;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Creates topics at a source and fills them, with Kafka's own client. */
final class Fill {
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

    private static final int TIMEOUT_SECONDS = 60;

    private Fill() {}

    static Admin admin(String bootstrap) {
        return Admin.create(Map.of(
                AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG,
                bootstrap,
                AdminClientConfig.REQUEST_TIMEOUT_MS_CONFIG,
                "30000"));
    }

    static void create(String bootstrap, String topic, int partitions, Map<String, String> configs) {
        create(bootstrap, List.of(new NewTopic(topic, Optional.of(partitions), Optional.empty()).configs(configs)));
    }

    static void create(String bootstrap, Collection<NewTopic> topics) {
        try (Admin admin = admin(bootstrap)) {
            // sources before 2.4 know no default replication factor in a request
            List<NewTopic> explicit = topics.stream()
                    .map(t -> t.replicationFactor() > 0 || t.replicasAssignments() != null
                            ? t
                            : new NewTopic(t.name(), t.numPartitions(), (short) 1).configs(t.configs()))
                    .toList();
            get(admin.createTopics(explicit).all().toCompletionStage().toCompletableFuture());
        }
    }

    static KafkaProducer<byte[], byte[]> producer(String bootstrap, Map<String, Object> settings) {
        Map<String, Object> all = new HashMap<>();
        all.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, bootstrap);
        all.put(ProducerConfig.ACKS_CONFIG, "all");
        all.put(ProducerConfig.LINGER_MS_CONFIG, 5);
        all.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 30_000);
        all.putAll(settings);
        return new KafkaProducer<>(all, new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** Records of 1 byte, 1 KiB and 900 KiB, null keys and values, headers: in batches of every codec, in every partition. */
    static void everyKindOfBatch(String bootstrap, String topic, int partitions, Random random) {
        for (String codec : CODECS) {
            try (KafkaProducer<byte[], byte[]> producer =
                    producer(bootstrap, Map.of(ProducerConfig.COMPRESSION_TYPE_CONFIG, codec))) {
                List<Future<RecordMetadata>> sent = new ArrayList<>();
                for (int partition = 0; partition < partitions; partition++) {
                    sent.add(producer.send(new ProducerRecord<>(topic, partition, null, new byte[] {1})));
                    sent.add(producer.send(new ProducerRecord<>(topic, partition, bytes("key-only"), null)));
                    sent.add(producer.send(new ProducerRecord<>(topic, partition, null, (byte[]) null)));
                    for (int i = 0; i < 40; i++) {
                        ProducerRecord<byte[], byte[]> record =
                                new ProducerRecord<>(topic, partition, bytes("key-" + i), text(random, 1024));
                        record.headers()
                                .add("codec", bytes(codec))
                                .add("number", bytes("" + i))
                                .add("none", null);
                        sent.add(producer.send(record));
                    }
                    producer.flush();
                    sent.add(producer.send(
                            new ProducerRecord<>(topic, partition, bytes("large"), text(random, 900 * 1024))));
                    producer.flush();
                }
                sent.forEach(Fill::get);
            }
        }
    }

    /** Words in random order: compressible like real data. */
    static byte[] text(Random random, int size) {
        byte[] text = new byte[size];
        int at = 0;
        while (at < size) {
            byte[] word = bytes(Integer.toString(random.nextInt(2_000), 36) + " mirror ");
            int length = Math.min(word.length, size - at);
            System.arraycopy(word, 0, text, at, length);
            at += length;
        }
        return text;
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Waits for a future; its failure comes out as the exception that Kafka gave. */
    static <T> T get(Future<T> future) {
        try {
            return future.get(TIMEOUT_SECONDS, TimeUnit.SECONDS);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw new IllegalStateException(e.getCause());
        } catch (TimeoutException e) {
            throw new IllegalStateException("no answer within " + Duration.ofSeconds(TIMEOUT_SECONDS), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }
}
