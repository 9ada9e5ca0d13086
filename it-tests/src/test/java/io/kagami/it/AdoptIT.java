package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.DigestInputStream;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.junit.jupiter.api.Test;

/** {@code kagami storage adopt}: the directories of a stopped Apache Kafka, and of another Kagami, become ours as they are. */
class AdoptIT {
    private static final List<String> TOPICS = List.of("codecs", "compacted", "transactions", "trimmed", "empty");
    private static final String GROUP = "readers";

    /** What clients see of a cluster. */
    private record Picture(
            Map<String, String> ids,
            Map<String, Map<String, String>> configs,
            Map<String, List<String>> records,
            Map<TopicPartition, Long> stable,
            Map<String, Long> commits) {
        static Picture of(String bootstrap) {
            Map<String, List<String>> records = new TreeMap<>();
            for (String topic : TOPICS) {
                records.put(topic, Reading.all(bootstrap, topic, "read_uncommitted"));
            }
            records.put("transactions, committed", Reading.all(bootstrap, "transactions", "read_committed"));
            try (Admin admin = Fill.admin(bootstrap)) {
                Map<String, String> ids = new TreeMap<>();
                Map<TopicPartition, OffsetSpec> latest =
                        new TreeMap<>(java.util.Comparator.comparing(TopicPartition::toString));
                for (TopicDescription each :
                        get(admin.describeTopics(TOPICS).allTopicNames()).values()) {
                    ids.put(
                            each.name(),
                            each.topicId() + " " + each.partitions().size());
                    each.partitions()
                            .forEach(p ->
                                    latest.put(new TopicPartition(each.name(), p.partition()), OffsetSpec.latest()));
                }
                Map<String, Map<String, String>> configs = new TreeMap<>();
                List<ConfigResource> resources = TOPICS.stream()
                        .map(topic -> new ConfigResource(ConfigResource.Type.TOPIC, topic))
                        .toList();
                get(admin.describeConfigs(resources).all())
                        .forEach((resource, config) -> configs.put(resource.name(), overrides(config)));
                Map<TopicPartition, Long> stable =
                        new TreeMap<>(java.util.Comparator.comparing(TopicPartition::toString));
                Map<TopicPartition, ListOffsetsResultInfo> ends = get(admin.listOffsets(
                                latest,
                                new org.apache.kafka.clients.admin.ListOffsetsOptions(
                                        org.apache.kafka.common.IsolationLevel.READ_COMMITTED))
                        .all());
                ends.forEach((partition, info) -> stable.put(partition, info.offset()));
                Map<String, Long> commits = new TreeMap<>();
                get(admin.listConsumerGroupOffsets(GROUP).partitionsToOffsetAndMetadata())
                        .forEach((partition, commit) ->
                                commits.put(partition + " " + commit.metadata(), commit.offset()));
                return new Picture(ids, configs, records, stable, commits);
            }
        }

        private static Map<String, String> overrides(Config config) {
            Map<String, String> set = new TreeMap<>();
            config.entries().stream()
                    .filter(entry -> entry.source() == ConfigEntry.ConfigSource.DYNAMIC_TOPIC_CONFIG)
                    .forEach(entry -> set.put(entry.name(), entry.value()));
            return set;
        }
    }

    @Test
    void theDirectoryOfAStoppedKafkaIsServedAsItWasAndThenThatOfOurselves() throws Exception {
        Picture before;
        Path theirs = Checkout.scratch().resolve("source-adopted/data1");
        try (SourceKafka kafka = start("adopted")) {
            fill(kafka);
            before = Picture.of(kafka.bootstrap());
            assertThat(before.commits()).hasSize(3);
            kafka.stop(1);
        }
        Map<String, String> files = digests(theirs);
        try (KagamiProcess kagami = KagamiProcess.stopped("adopts", Map.of())) {
            String config = kagami.configFile().toString();
            Cli.Result plan = Cli.kagami("storage", "adopt", theirs.toString(), "--config", config)
                    .ok();
            assertThat(plan.out())
                    .contains("stopped cleanly", "__consumer_offsets", "Nothing has been changed")
                    .containsPattern("codecs +2 +\\d+ +adopt");
            assertThat(kagami.data()).doesNotExist();

            killWhileItRuns(theirs, config);
            Cli.kagami("storage", "adopt", theirs.toString(), "--config", config, "--yes")
                    .ok();
            assertThat(digests(theirs)).as("the source is untouched").isEqualTo(files);
            assertThat(digests(kagami.data())).as("every log came as it was").containsAllEntriesOf(logs(files));

            kagami.start();
            assertThat(Picture.of(kagami.bootstrap())).isEqualTo(before);
            goesOn(kagami.bootstrap(), before);
            assertThat(kagami.logText()).doesNotContain("-stray").doesNotContain(" ERROR ");
            Picture grown = Picture.of(kagami.bootstrap());
            kagami.sigterm();
            assertThat(Cli.kagami("storage", "adopt", theirs.toString(), "--config", config, "--yes")
                            .ok()
                            .out())
                    .contains("There is nothing to adopt.");
            ofAnotherKagami(kagami, grown);
        }
    }

    /** The adoption is killed again and again, later each time; a broker never starts on the half of it. */
    private static void killWhileItRuns(Path theirs, String config) throws Exception {
        for (int ms = 350; ms <= 1_000; ms += 130) {
            Process process = new ProcessBuilder(
                            Checkout.distribution().resolve("bin/kagami").toString(),
                            "storage",
                            "adopt",
                            theirs.toString(),
                            "--config",
                            config,
                            "--yes")
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (!process.waitFor(ms, TimeUnit.MILLISECONDS)) {
                process.destroyForcibly().waitFor();
            }
        }
    }

    /** Consumers continue at their commits, producers append behind what was there, with ids that nobody had. */
    private static void goesOn(String bootstrap, Picture before) {
        String topic = "codecs";
        try (KafkaProducer<byte[], byte[]> producer =
                Fill.producer(bootstrap, Map.of(ProducerConfig.COMPRESSION_TYPE_CONFIG, "zstd"))) {
            for (int partition = 0; partition < 2; partition++) {
                long end = before.stable().get(new TopicPartition(topic, partition));
                assertThat(Fill.get(producer.send(new ProducerRecord<>(topic, partition, null, Fill.bytes("new"))))
                                .offset())
                        .isEqualTo(end);
            }
        }
        try (KafkaConsumer<byte[], byte[]> consumer =
                Reading.consumer(bootstrap, Map.of(ConsumerConfig.GROUP_ID_CONFIG, GROUP))) {
            consumer.subscribe(List.of(topic));
            int behind = Reading.all(bootstrap, topic, "read_committed").size() - 2 - 10 - 5;
            List<ConsumerRecord<byte[], byte[]>> got = Reading.poll(consumer, behind);
            assertThat(got).hasSize(behind);
            assertThat(got.stream()
                            .filter(r -> r.partition() == 0)
                            .findFirst()
                            .orElseThrow()
                            .offset())
                    .isEqualTo(10);
        }
    }

    private static void ofAnotherKagami(KagamiProcess first, Picture grown) throws IOException {
        try (KagamiProcess second = KagamiProcess.stopped("adopts-kagami", Map.of())) {
            String config = second.configFile().toString();
            Map<String, String> files = logs(digests(first.data()));
            assertThat(Cli.kagami("storage", "adopt", first.data().toString(), "--config", config, "--yes", "--move")
                            .ok()
                            .out())
                    .startsWith("Kagami, cluster ");
            assertThat(digests(second.data())).containsAllEntriesOf(files);
            second.start();
            assertThat(Picture.of(second.bootstrap())).isEqualTo(grown);
        }
    }

    @Test
    void aKilledKafkaIsRecoveredAsItWouldRecoverItself() throws Exception {
        Path theirs = Checkout.scratch().resolve("source-adopted-killed/data1");
        try (SourceKafka kafka = start("adopted-killed")) {
            Fill.create(kafka.bootstrap(), "orders", 2, Map.of("segment.bytes", "1048576"));
            Fill.everyKindOfBatch(kafka.bootstrap(), "orders", 2, Seed.random("adopt"));
            List<String> before = Reading.all(kafka.bootstrap(), "orders", "read_uncommitted");
            try (KagamiProcess kagami = KagamiProcess.stopped("adopts-killed", Map.of())) {
                String config = kagami.configFile().toString();
                Cli.Result locked =
                        Cli.kagami("storage", "adopt", theirs.toString(), "--config", config, "--yes", "--move");
                assertThat(locked.exitCode()).isEqualTo(1);
                assertThat(locked.err()).contains("is in use: a broker holds its lock file");
                kafka.kill(1);

                assertThat(Cli.kagami("storage", "adopt", theirs.toString(), "--config", config, "--yes", "--move")
                                .ok()
                                .out())
                        .contains("not stopped cleanly");
                assertThat(theirs.resolve("orders-0")).doesNotExist();
                assertThat(theirs.resolve("meta.properties"))
                        .as("the old broker cannot start on what is left")
                        .doesNotExist();
                kagami.start();
                assertThat(Reading.all(kagami.bootstrap(), "orders", "read_uncommitted"))
                        .isEqualTo(before);
            }
        }
    }

    private static SourceKafka start(String name) {
        return new ForkedSource(
                name,
                new SourceKafka.Spec(
                        Sources.NEWEST,
                        1,
                        Map.of(
                                "offsets.topic.num.partitions", "3",
                                "message.max.bytes", "33554432",
                                "log.cleaner.backoff.ms", "500",
                                "log.retention.ms", "-1",
                                "auto.create.topics.enable", "false"),
                        "512m"));
    }

    private static void fill(SourceKafka kafka) {
        String bootstrap = kafka.bootstrap();
        Fill.create(bootstrap, "codecs", 2, Map.of("segment.bytes", "1048576", "retention.ms", "-1"));
        Fill.everyKindOfBatch(bootstrap, "codecs", 2, Seed.random("adopt"));
        CompactedAndTransactionalIT.compacted(bootstrap, "compacted");
        Fill.create(bootstrap, "transactions", 2, Map.of());
        CompactedAndTransactionalIT.startInsideABatch(kafka, "trimmed");
        Fill.create(bootstrap, "empty", 3, Map.of("max.message.bytes", "123456"));
        Fill.create(bootstrap, "gone", 1, Map.of());
        try (Admin admin = Fill.admin(bootstrap)) {
            get(admin.deleteTopics(List.of("gone")).all());
        }
        commits(bootstrap);
        // one transaction stays open: its producer is gone with its broker
        CompactedAndTransactionalIT.transactions(kafka, "transactions").close(Duration.ZERO);
    }

    /** Commits of a consumer; and of transactions, of which the aborted one does not count. */
    private static void commits(String bootstrap) {
        TopicPartition first = new TopicPartition("codecs", 0);
        TopicPartition second = new TopicPartition("codecs", 1);
        TopicPartition third = new TopicPartition("trimmed", 0);
        try (KafkaConsumer<byte[], byte[]> consumer =
                        Reading.consumer(bootstrap, Map.of(ConsumerConfig.GROUP_ID_CONFIG, GROUP));
                KafkaProducer<byte[], byte[]> producer =
                        Fill.producer(bootstrap, Map.of(ProducerConfig.TRANSACTIONAL_ID_CONFIG, "offsets"))) {
            consumer.assign(List.of(first, second, third));
            consumer.commitSync(Map.of(
                    first, new OffsetAndMetadata(10, "by hand"), second, new OffsetAndMetadata(3, "not the last")));
            producer.initTransactions();
            ConsumerGroupMetadata group = consumer.groupMetadata();
            producer.beginTransaction();
            producer.sendOffsetsToTransaction(
                    Map.of(second, new OffsetAndMetadata(5), third, new OffsetAndMetadata(20)), group);
            producer.commitTransaction();
            producer.beginTransaction();
            producer.sendOffsetsToTransaction(
                    Map.of(first, new OffsetAndMetadata(77), third, new OffsetAndMetadata(30)), group);
            producer.abortTransaction();
        }
    }

    private static <T> T get(org.apache.kafka.common.KafkaFuture<T> future) {
        return Fill.get(future.toCompletionStage().toCompletableFuture());
    }

    /** SHA-256 of every file below a directory, by its relative name. */
    private static Map<String, String> digests(Path root) throws IOException {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.walk(root)) {
            // a command that was killed may leave an empty lock file
            all.filter(Files::isRegularFile)
                    .filter(file -> !file.endsWith(".lock"))
                    .forEach(files::add);
        }
        Map<String, String> digests = new TreeMap<>();
        for (Path file : files) {
            digests.put(root.relativize(file).toString(), digest(file));
        }
        return digests;
    }

    private static String digest(Path file) throws IOException {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            try (DigestInputStream in = new DigestInputStream(Files.newInputStream(file), sha)) {
                in.transferTo(java.io.OutputStream.nullOutputStream());
            }
            return HexFormat.of().formatHex(sha.digest());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The segments of partitions that are adopted. */
    private static Map<String, String> logs(Map<String, String> digests) {
        return digests.entrySet().stream()
                .filter(e -> e.getKey().matches("[^/]+-\\d+/\\d{20}\\.log"))
                .filter(e -> !e.getKey().startsWith("__cluster_metadata"))
                .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
    }
}
