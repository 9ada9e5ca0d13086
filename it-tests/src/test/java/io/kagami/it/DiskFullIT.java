package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** One of two data directories runs full, with the metadata in it: all else goes on, and with space again it is back by itself. */
@ExtendWith(Sources.class)
class DiskFullIT {
    private static final int VALUE_BYTES = 60_000;
    private static final Duration BACK = Duration.ofSeconds(30);

    @Test
    void aFullDirectoryTakesNoWritesLosesNothingAndComesBackByItself(SourceKafka source) throws Exception {
        Path dir = TestDirs.fresh("disk-full");
        Path small = Files.createDirectory(dir.resolve("small"));
        if (!mount(small)) {
            String why = "a tmpfs can be mounted by root only (" + small + ")";
            Announce.skipped("DiskFullIT", why);
            Assumptions.abort(why);
        }
        try {
            run(source, small, Files.createDirectory(dir.resolve("large")));
        } finally {
            Cli.run("umount", List.of("-l", small.toString()));
        }
    }

    private static boolean mount(Path at) {
        return Cli.run("mount", List.of("-t", "tmpfs", "-o", "size=40m", "tmpfs", at.toString()))
                        .exitCode()
                == 0;
    }

    private static void run(SourceKafka source, Path small, Path large) throws Exception {
        Fill.create(source.bootstrap(), "in", 2, Map.of());
        Map<String, String> config = Map.of("log.dirs", small + "," + large, "log.segment.bytes", "4194304");
        try (KagamiProcess kagami = KagamiProcess.start("disk-full-broker", config);
                KafkaProducer<byte[], byte[]> producer = producer(kagami.bootstrap());
                KafkaProducer<byte[], byte[]> upstream = Fill.producer(source.bootstrap(), Map.of())) {
            kagami.createMirror("m", source.bootstrap());
            kagami.startTopics("m", "in");
            mirror(upstream, 10);
            Eventually.mirrored(Duration.ofSeconds(30), source.bootstrap(), kagami.bootstrap(), List.of("in"));
            Fill.create(kagami.bootstrap(), "out", 2, Map.of());
            int full = Files.exists(small.resolve("out-0")) ? 0 : 1;
            assertThat(small.resolve("out-" + full)).exists();
            assertThat(large.resolve("out-" + (1 - full))).exists();

            Map<Long, Integer> acknowledged = new HashMap<>();
            Throwable refused = produceUntilRefused(producer, full, acknowledged);
            assertThat(refused).isInstanceOf(KafkaStorageException.class);
            assertThat(acknowledged).hasSizeGreaterThan(100);

            // the rest goes on: the other directory, reads of this one, the mirror of the other partition
            assertThat(Fill.get(producer.send(record(1 - full, 1))).offset()).isZero();
            assertThat(read(kagami.bootstrap(), full, acknowledged.size())).isEqualTo(new TreeMap<>(acknowledged));
            assertThat(kagami.http("/metrics").body())
                    .contains("kagami_log_directory_logs_offline{directory=\"" + large + "\"} 0")
                    .contains("kagami_log_directory_logs_offline{directory=\"" + small + "\"} 1");
            mirror(upstream, 60);
            Eventually.succeeds(
                    Duration.ofSeconds(20),
                    () -> assertThat(kagami.states("m")).containsValue("FAILED").containsValue("MIRRORING"));

            Cli.run("mount", List.of("-o", "remount,size=96m", small.toString()))
                    .ok();
            long freed = System.nanoTime();
            Eventually.succeeds(BACK, () -> {
                ConsumerRecordAt written = send(producer, full, 7);
                acknowledged.put(written.offset, written.hash);
            });
            Eventually.mirrored(BACK, source.bootstrap(), kagami.bootstrap(), List.of("in"));
            Announce.say("back after " + (System.nanoTime() - freed) / 1_000_000 + " ms");
            RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), "in");
            Map<Long, Integer> found = read(kagami.bootstrap(), full, acknowledged.size());
            assertThat(found).containsAllEntriesOf(acknowledged);
            kagami.restart();
            assertThat(read(kagami.bootstrap(), full, acknowledged.size())).isEqualTo(found);
            RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), "in");
        }
    }

    /** What is not acknowledged at once is not sent again. */
    private static KafkaProducer<byte[], byte[]> producer(String bootstrap) {
        return Fill.producer(
                bootstrap, Map.of(ProducerConfig.RETRIES_CONFIG, 0, ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, false));
    }

    private static void mirror(KafkaProducer<byte[], byte[]> upstream, int records) {
        for (int i = 0; i < records; i++) {
            byte[] value = new byte[VALUE_BYTES];
            new Random(i).nextBytes(value);
            upstream.send(new ProducerRecord<>("in", i % 2, null, value));
        }
        upstream.flush();
    }

    private static ProducerRecord<byte[], byte[]> record(int partition, int seed) {
        byte[] value = new byte[VALUE_BYTES];
        new Random(seed).nextBytes(value);
        return new ProducerRecord<>("out", partition, null, value);
    }

    private record ConsumerRecordAt(long offset, int hash) {}

    private static ConsumerRecordAt send(KafkaProducer<byte[], byte[]> producer, int partition, int seed)
            throws Exception {
        ProducerRecord<byte[], byte[]> record = record(partition, seed);
        return new ConsumerRecordAt(producer.send(record).get().offset(), Arrays.hashCode(record.value()));
    }

    private static Throwable produceUntilRefused(
            KafkaProducer<byte[], byte[]> producer, int partition, Map<Long, Integer> acknowledged) throws Exception {
        for (int i = 0; i < 2_000; i++) {
            try {
                ConsumerRecordAt written = send(producer, partition, i);
                acknowledged.put(written.offset, written.hash);
            } catch (ExecutionException e) {
                return e.getCause();
            }
        }
        throw new AssertionError("40 MiB take more than 2000 records");
    }

    /** Hashes by offset, at least that many. */
    private static Map<Long, Integer> read(String bootstrap, int partition, int atLeast) throws IOException {
        TopicPartition from = new TopicPartition("out", partition);
        Map<Long, Integer> found = new TreeMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = Reading.consumer(bootstrap, Map.of())) {
            consumer.assign(List.of(from));
            consumer.seekToBeginning(List.of(from));
            for (ConsumerRecord<byte[], byte[]> each : Reading.poll(consumer, atLeast)) {
                found.put(each.offset(), Arrays.hashCode(each.value()));
            }
            long end = consumer.endOffsets(List.of(from)).get(from);
            while (consumer.position(from) < end) {
                consumer.poll(Duration.ofMillis(200))
                        .forEach(each -> found.put(each.offset(), Arrays.hashCode(each.value())));
            }
        }
        return found;
    }
}
