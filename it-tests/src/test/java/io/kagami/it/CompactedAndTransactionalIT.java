package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Logs with holes, with a start in the middle of a batch, and with transactions keep their offsets and bytes. */
@ExtendWith(Sources.class)
class CompactedAndTransactionalIT {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void gapsOfCompactionAndMovedStartsAndTransactionsComeOverAsTheyAre(SourceKafka source) {
        compacted(source.bootstrap(), "compacted");
        startInsideABatch(source, "cut");
        List<String> topics = List.of("compacted", "cut", "transactional");
        Fill.create(source.bootstrap(), "transactional", 2, Map.of());
        try (KafkaProducer<byte[], byte[]> open = transactions(source, "transactional");
                KagamiProcess kagami = KagamiProcess.start("compacted")) {
            kagami.createMirror("m", source.bootstrap());
            kagami.startTopics("m", String.join(",", topics));
            Eventually.mirrored(PATIENCE, source.bootstrap(), kagami.bootstrap(), topics);
            assertTheSame(source, kagami, topics);

            // what was open ends while the mirror follows, and the start moves once more
            open.commitTransaction();
            moveStart(source, "cut", 33);
            Eventually.mirrored(PATIENCE, source.bootstrap(), kagami.bootstrap(), topics);
            Eventually.succeeds(
                    PATIENCE, () -> assertThat(start(kagami.bootstrap(), "cut")).isEqualTo(33));
            assertTheSame(source, kagami, topics);
            assertThat(Reading.all(kagami.bootstrap(), "transactional", "read_committed"))
                    .anySatisfy(line -> assertThat(line).endsWith("left open"))
                    .noneSatisfy(line -> assertThat(line).contains("aborted"));
        }
    }

    private static void assertTheSame(SourceKafka source, KagamiProcess kagami, List<String> topics) {
        for (String topic : topics) {
            RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), topic)
                    .forEach(p -> Announce.say(p.toString()));
            for (String isolation : List.of("read_committed", "read_uncommitted")) {
                assertThat(Reading.all(kagami.bootstrap(), topic, isolation))
                        .as("%s, %s", topic, isolation)
                        .isEqualTo(Reading.all(source.bootstrap(), topic, isolation));
            }
        }
    }

    /** A log whose cleaner left holes, and is told to rest before anybody compares. */
    static void compacted(String bootstrap, String topic) {
        Fill.create(
                bootstrap,
                topic,
                1,
                Map.of(
                        "cleanup.policy", "compact",
                        "segment.ms", "500",
                        "min.cleanable.dirty.ratio", "0.01",
                        "max.compaction.lag.ms", "500"));
        TopicPartition partition = new TopicPartition(topic, 0);
        int rounds = 5;
        Eventually.within(PATIENCE).until(() -> {
            long records = Reading.all(bootstrap, topic, "read_uncommitted").size() - 1L;
            long end = Eventually.ends(bootstrap, List.of(topic)).get(partition.toString());
            if (end > 300 && records < end / 2) {
                return true;
            }
            produceKeys(bootstrap, topic, rounds);
            return false;
        });
        try (Admin admin = Fill.admin(bootstrap)) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            List<AlterConfigOp> rest = List.of(
                    set("min.cleanable.dirty.ratio", "1.0"),
                    set("max.compaction.lag.ms", "9223372036854775807"),
                    set("min.compaction.lag.ms", "86400000"),
                    set("segment.ms", "86400000"));
            Fill.get(admin.incrementalAlterConfigs(Map.of(resource, rest))
                    .all()
                    .toCompletionStage()
                    .toCompletableFuture());
        }
        // a round of cleaning that had begun may still end: wait for two seconds without a change
        List<List<String>> seen = new java.util.ArrayList<>();
        Eventually.within(PATIENCE).pollInterval(Duration.ofSeconds(2)).until(() -> {
            List<String> now = Reading.all(bootstrap, topic, "read_uncommitted");
            boolean still = !seen.isEmpty() && seen.get(0).equals(now);
            seen.clear();
            seen.add(now);
            return still;
        });
    }

    private static AlterConfigOp set(String key, String value) {
        return new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET);
    }

    private static void produceKeys(String bootstrap, String topic, int rounds) {
        try (KafkaProducer<byte[], byte[]> producer =
                Fill.producer(bootstrap, Map.of(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4"))) {
            for (int round = 0; round < rounds; round++) {
                for (int key = 0; key < 17; key++) {
                    // every fifth key is deleted in the end: tombstones are batches like any other
                    byte[] value = key % 5 == 0 && round == rounds - 1 ? null : Fill.bytes("round " + round);
                    producer.send(new ProducerRecord<>(topic, Fill.bytes("key-" + key), value));
                }
                producer.flush();
            }
        }
    }

    /** One batch of 50 records whose first 17 are deleted. */
    static void startInsideABatch(SourceKafka source, String topic) {
        Fill.create(source.bootstrap(), topic, 1, Map.of());
        try (KafkaProducer<byte[], byte[]> producer = Fill.producer(
                source.bootstrap(),
                Map.of(ProducerConfig.LINGER_MS_CONFIG, 60_000, ProducerConfig.BATCH_SIZE_CONFIG, 1 << 20))) {
            for (int i = 0; i < 50; i++) {
                producer.send(new ProducerRecord<>(topic, null, Fill.bytes("record " + i)));
            }
        }
        moveStart(source, topic, 17);
        assertThat(start(source.bootstrap(), topic)).isEqualTo(17);
    }

    static void moveStart(SourceKafka source, String topic, long offset) {
        try (Admin admin = Fill.admin(source.bootstrap())) {
            Fill.get(admin.deleteRecords(Map.of(new TopicPartition(topic, 0), RecordsToDelete.beforeOffset(offset)))
                    .all()
                    .toCompletionStage()
                    .toCompletableFuture());
        }
    }

    private static long start(String bootstrap, String topic) {
        try (RawKafka kafka = new RawKafka(bootstrap)) {
            return kafka.offset(kafka.leaders(topic).get(0), topic, 0, -2);
        }
    }

    /** Committed and aborted transactions between plain records; the returned producer has one open. */
    static KafkaProducer<byte[], byte[]> transactions(SourceKafka source, String topic) {
        try (KafkaProducer<byte[], byte[]> plain = Fill.producer(source.bootstrap(), Map.of());
                KafkaProducer<byte[], byte[]> inTransaction = transactional(source, "first")) {
            for (int round = 0; round < 6; round++) {
                boolean commit = round % 2 == 0;
                inTransaction.beginTransaction();
                for (int i = 0; i < 10; i++) {
                    Fill.get(plain.send(new ProducerRecord<>(topic, i % 2, null, Fill.bytes("plain"))));
                    String value = commit ? "committed" : "aborted";
                    Fill.get(inTransaction.send(new ProducerRecord<>(topic, i % 2, null, Fill.bytes(value))));
                }
                if (commit) {
                    inTransaction.commitTransaction();
                } else {
                    inTransaction.abortTransaction();
                }
            }
        }
        KafkaProducer<byte[], byte[]> open = transactional(source, "second");
        open.beginTransaction();
        Fill.get(open.send(new ProducerRecord<>(topic, 1, null, Fill.bytes("left open"))));
        try (KafkaProducer<byte[], byte[]> plain = Fill.producer(source.bootstrap(), Map.of())) {
            Fill.get(plain.send(new ProducerRecord<>(topic, 1, null, Fill.bytes("behind the open one"))));
        }
        return open;
    }

    private static KafkaProducer<byte[], byte[]> transactional(SourceKafka source, String id) {
        KafkaProducer<byte[], byte[]> producer = Fill.producer(
                source.bootstrap(),
                Map.of(ProducerConfig.TRANSACTIONAL_ID_CONFIG, id, ProducerConfig.TRANSACTION_TIMEOUT_CONFIG, 300_000));
        producer.initTransactions();
        return producer;
    }
}
