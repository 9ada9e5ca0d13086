package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.DataInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Compaction leaves what Kafka's leaves, and retention takes segments from under nobody's hands. */
@ExtendWith(Sources.class)
class RetentionAndCompactionIT {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long MINUTE_MS = 60_000;
    private static final int KEYS = 23;

    private static final Map<String, String> QUICK = Map.of(
            "log.cleaner.backoff.ms", "200",
            "log.cleaner.min.cleanable.ratio", "0.01",
            "log.retention.check.interval.ms", "200",
            "log.segment.delete.delay.ms", "500");

    @Test
    void theSameRecordsSurviveHereAndInKafka(SourceKafka source) throws IOException {
        String mirrored = "compacted-twice";
        String produced = "compacted-apart";
        Map<String, String> configs =
                Map.of("cleanup.policy", "compact", "segment.ms", "600000", "min.compaction.lag.ms", "86400000");
        Fill.create(source.bootstrap(), mirrored, 1, configs);
        Fill.create(source.bootstrap(), produced, 1, configs);
        try (KagamiProcess kagami = KagamiProcess.start("retention", QUICK)) {
            Fill.create(kagami.bootstrap(), produced, 1, configs);
            long nowMs = System.currentTimeMillis();
            everyRound(source.bootstrap(), mirrored, nowMs, true);
            everyRound(source.bootstrap(), produced, nowMs, false);
            everyRound(kagami.bootstrap(), produced, nowMs, false);
            kagami.createMirror("m", source.bootstrap());
            kagami.startTopics("m", mirrored);
            Eventually.mirrored(PATIENCE, source.bootstrap(), kagami.bootstrap(), List.of(mirrored));
            int before = Reading.all(source.bootstrap(), mirrored, "read_uncommitted")
                    .size();
            Map<String, String> eager = Map.of("min.compaction.lag.ms", "0", "min.cleanable.dirty.ratio", "0.01");
            for (String topic : List.of(mirrored, produced)) {
                alter(source.bootstrap(), topic, eager);
                alter(kagami.bootstrap(), topic, eager);
            }
            for (String topic : List.of(mirrored, produced)) {
                Eventually.succeeds(PATIENCE, () -> {
                    List<String> theirs = Reading.all(source.bootstrap(), topic, "read_uncommitted");
                    assertThat(theirs).hasSizeLessThan(KEYS + 10);
                    assertThat(Reading.all(kagami.bootstrap(), topic, "read_uncommitted"))
                            .isEqualTo(theirs);
                });
                assertThat(Reading.all(kagami.bootstrap(), topic, "read_committed"))
                        .isEqualTo(Reading.all(source.bootstrap(), topic, "read_committed"));
            }
            assertThat(before).isGreaterThan(5 * KEYS);
            assertThat(kagami.http("/metrics").body())
                    .containsPattern("kagami_cleaner_runs_total [1-9]")
                    .contains("kagami_cleaner_failures_total 0.0");
            List<String> kept = Reading.all(kagami.bootstrap(), mirrored, "read_uncommitted");
            kagami.sigterm();
            dump(source, kagami, mirrored);
            dump(source, kagami, produced);
            kagami.start();
            assertThat(Reading.all(kagami.bootstrap(), mirrored, "read_uncommitted"))
                    .isEqualTo(kept);
        }
    }

    /** Rounds of the same keys twenty minutes apart, so that each begins a segment; the last record seals the one before. */
    private static void everyRound(String bootstrap, String topic, long nowMs, boolean transactions) {
        List<String> codecs = Fill.CODECS;
        for (int round = 0; round < codecs.size(); round++) {
            long timeMs = nowMs - (codecs.size() - round) * 20L * MINUTE_MS;
            Map<String, Object> settings = Map.of(
                    ProducerConfig.COMPRESSION_TYPE_CONFIG, codecs.get(round), ProducerConfig.LINGER_MS_CONFIG, 50);
            try (KafkaProducer<byte[], byte[]> producer = Fill.producer(bootstrap, settings)) {
                for (int key = 0; key < KEYS; key++) {
                    boolean deleted = round > 1 && key % 7 == round;
                    byte[] value = deleted ? null : Fill.bytes("round " + round + " of " + key);
                    ProducerRecord<byte[], byte[]> record =
                            new ProducerRecord<>(topic, 0, timeMs + key, Fill.bytes("key-" + key), value);
                    record.headers().add("round", Fill.bytes("" + round));
                    producer.send(record);
                }
                producer.flush();
            }
            if (transactions) {
                transaction(bootstrap, topic, timeMs + 5 * MINUTE_MS, round);
            }
        }
        try (KafkaProducer<byte[], byte[]> producer = Fill.producer(bootstrap, Map.of())) {
            // ahead of the markers too, which have the time of the broker
            long aheadMs = nowMs + 30 * MINUTE_MS;
            producer.send(new ProducerRecord<>(topic, 0, aheadMs, Fill.bytes("the last"), Fill.bytes("value")));
        }
    }

    /** Markers have the broker's time, which seals a segment as well. */
    private static void transaction(String bootstrap, String topic, long timeMs, int round) {
        try (KafkaProducer<byte[], byte[]> producer =
                Fill.producer(bootstrap, Map.of(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "compacting-" + topic))) {
            producer.initTransactions();
            producer.beginTransaction();
            for (int key = 0; key < 4; key++) {
                producer.send(
                        new ProducerRecord<>(topic, 0, timeMs, Fill.bytes("txn-" + key), Fill.bytes("round " + round)));
            }
            producer.flush();
            if (round % 2 == 0) {
                producer.commitTransaction();
            } else {
                producer.abortTransaction();
            }
        }
    }

    private static void alter(String bootstrap, String topic, Map<String, String> configs) {
        try (Admin admin = Fill.admin(bootstrap)) {
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            List<AlterConfigOp> changes = configs.entrySet().stream()
                    .map(e -> new AlterConfigOp(new ConfigEntry(e.getKey(), e.getValue()), AlterConfigOp.OpType.SET))
                    .toList();
            Fill.get(admin.incrementalAlterConfigs(Map.of(resource, changes))
                    .all()
                    .toCompletionStage()
                    .toCompletableFuture());
        }
    }

    private static void dump(SourceKafka source, KagamiProcess kagami, String topic) throws IOException {
        Path out = kagami.dir().resolve("dump-" + topic + ".out");
        try (Stream<Path> all = Files.list(kagami.data().resolve(topic + "-0"))) {
            String files = all.map(Path::toString)
                    .filter(name -> name.matches(".*\\.(log|index|timeindex|txnindex)"))
                    .sorted()
                    .collect(Collectors.joining(","));
            int exit = source.runTool(
                    "org.apache.kafka.tools.DumpLogSegments", List.of("--deep-iteration", "--files", files), out);
            assertThat(exit).as("exit code of dump-log, see %s", out).isZero();
        }
        assertThat(Checkout.read(out).lines().toList())
                .as("complaints of dump-log in %s", out)
                .anyMatch(line -> line.contains("isvalid: true"))
                .noneMatch(line -> line.contains("isvalid: false")
                        || line.contains("ismatch")
                        || line.contains("Exception")
                        || line.contains("out of order")
                        || line.contains("Found "));
    }

    @Test
    void oldSegmentsGoFromUnderASlowReaderWhoStillGetsHisBytes() throws IOException {
        String topic = "short-lived";
        try (KagamiProcess kagami = KagamiProcess.start("short-lived", QUICK)) {
            Fill.create(kagami.bootstrap(), topic, 1, Map.of("segment.bytes", "25165824", "retention.ms", "-1"));
            Random random = new Random(3);
            try (KafkaProducer<byte[], byte[]> producer = Fill.producer(kagami.bootstrap(), Map.of())) {
                for (int i = 0; i < 40; i++) {
                    producer.send(new ProducerRecord<>(topic, 0, null, null, Fill.text(random, 800_000)));
                }
            }
            try (Socket slow = new Socket()) {
                slow.setReceiveBufferSize(16 * 1024);
                slow.setSoTimeout(60_000);
                slow.connect(RawKafka.address(kagami.bootstrap()));
                slow.getOutputStream().write(RawKafka.frame(ApiKeys.FETCH, (short) 10, 1, fetch(topic, 24_000_000)));
                DataInputStream in = new DataInputStream(slow.getInputStream());
                ByteBuffer answer = ByteBuffer.allocate(in.readInt());
                in.readFully(answer.array(), 0, 1000);

                alter(kagami.bootstrap(), topic, Map.of("retention.ms", "1"));
                Path first = kagami.data().resolve(topic + "-0").resolve("00000000000000000000.log");
                Eventually.succeeds(PATIENCE, () -> {
                    assertThat(first).doesNotExist();
                    assertThat(first.resolveSibling(first.getFileName() + ".deleted"))
                            .doesNotExist();
                });
                outOfRange(kagami, topic);

                in.readFully(answer.array(), 1000, answer.capacity() - 1000);
                assertThat(checked(answer)).isGreaterThan(25);
            }
            assertThat(Reading.all(kagami.bootstrap(), topic, "read_uncommitted"))
                    .containsExactly("0 from 40 to 40");
        }
    }

    private static FetchRequestData fetch(String topic, int bytes) {
        return new FetchRequestData()
                .setReplicaId(-1)
                .setMaxWaitMs(500)
                .setMinBytes(1)
                .setMaxBytes(bytes)
                .setSessionEpoch(-1)
                .setTopics(List.of(new FetchRequestData.FetchTopic()
                        .setTopic(topic)
                        .setPartitions(List.of(new FetchRequestData.FetchPartition()
                                .setCurrentLeaderEpoch(-1)
                                .setLogStartOffset(-1)
                                .setPartitionMaxBytes(bytes)))));
    }

    /** Batches of the answer, each with a right checksum. */
    private static int checked(ByteBuffer answer) {
        ByteBufferAccessor in = new ByteBufferAccessor(answer);
        new ResponseHeaderData(in, ApiKeys.FETCH.responseHeaderVersion((short) 10));
        FetchResponseData data = new FetchResponseData(in, (short) 10);
        List<Long> offsets = new ArrayList<>();
        MemoryRecords records =
                (MemoryRecords) data.responses().get(0).partitions().get(0).records();
        for (MutableRecordBatch batch : records.batches()) {
            batch.ensureValid();
            offsets.add(batch.baseOffset());
        }
        assertThat(offsets).isSorted().startsWith(0L);
        return offsets.size();
    }

    /** A consumer whose place is gone starts over at what is there now. */
    private static void outOfRange(KagamiProcess kagami, String topic) {
        TopicPartition partition = new TopicPartition(topic, 0);
        try (RawKafka raw = new RawKafka(kagami.bootstrap())) {
            org.assertj.core.api.Assertions.assertThatThrownBy(
                            () -> raw.fetch(RawKafka.address(kagami.bootstrap()), topic, 0, 0, 1000))
                    .isInstanceOf(org.apache.kafka.common.errors.OffsetOutOfRangeException.class);
        }
        try (KafkaConsumer<byte[], byte[]> consumer = Reading.consumer(kagami.bootstrap(), Map.of())) {
            consumer.assign(List.of(partition));
            consumer.seek(partition, 0);
            List<ConsumerRecord<byte[], byte[]>> none = new ArrayList<>();
            Eventually.within(PATIENCE).until(() -> {
                consumer.poll(Duration.ofMillis(100)).forEach(none::add);
                return consumer.position(partition) == 40;
            });
            assertThat(none).isEmpty();
        }
    }
}
