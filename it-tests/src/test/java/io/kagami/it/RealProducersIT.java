package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URISyntaxException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Producers of the wild write to Kagami, and what was acknowledged is there: once, when the producer is idempotent. */
@ExtendWith(Sources.class)
class RealProducersIT {
    private static final int PARTITIONS = 2;
    private static final int COUNT = 100;
    private static final Path NODE_MODULES = Checkout.root().resolve("it-tests/target/clients/node_modules");
    private static final AtomicInteger TOPICS = new AtomicInteger();

    private static SourceKafka tools;
    private static KagamiProcess kagami;

    @BeforeAll
    static void start(SourceKafka shared) {
        tools = shared;
        kagami = KagamiProcess.start("producers", Map.of("log.segment.bytes", "1048576"));
    }

    @AfterAll
    static void stop() {
        if (kagami != null) {
            kagami.close();
        }
    }

    private static String topic() {
        String topic = "produced-" + TOPICS.incrementAndGet();
        Fill.create(kagami.bootstrap(), topic, PARTITIONS, Map.of());
        return topic;
    }

    /** Values in any order. */
    private static List<String> values(String topic) {
        List<String> values = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                Reading.consumer(kagami.bootstrap(), Map.of(ConsumerConfig.CHECK_CRCS_CONFIG, true))) {
            List<TopicPartition> partitions = IntStream.range(0, PARTITIONS)
                    .mapToObj(p -> new TopicPartition(topic, p))
                    .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            int all = consumer.endOffsets(partitions).values().stream()
                    .mapToInt(Long::intValue)
                    .sum();
            Reading.poll(consumer, all)
                    .forEach(record -> values.add(new String(record.value(), StandardCharsets.UTF_8)));
        }
        return values;
    }

    private static List<String> numbered(String prefix, int count) {
        return IntStream.range(0, count).mapToObj(i -> prefix + " " + i).toList();
    }

    @Test
    void theJavaProducerWithEachCodecIdempotentOrNot() {
        for (String codec : Fill.CODECS) {
            String topic = topic();
            for (String acks : List.of("all", "1", "0")) {
                for (boolean idempotent : acks.equals("all") ? List.of(true, false) : List.of(false)) {
                    Map<String, Object> settings = Map.of(
                            ProducerConfig.COMPRESSION_TYPE_CONFIG, codec,
                            ProducerConfig.ACKS_CONFIG, acks,
                            ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, idempotent);
                    try (KafkaProducer<byte[], byte[]> producer = Fill.producer(kagami.bootstrap(), settings)) {
                        List<Future<RecordMetadata>> answers = new ArrayList<>();
                        for (String value : numbered(acks + idempotent, COUNT)) {
                            answers.add(
                                    producer.send(new ProducerRecord<>(topic, Fill.bytes(value), Fill.bytes(value))));
                        }
                        producer.flush();
                        answers.forEach(Fill::get);
                    }
                }
            }
            List<String> wanted = new ArrayList<>();
            List.of("alltrue", "allfalse", "1false", "0false")
                    .forEach(prefix -> wanted.addAll(numbered(prefix, COUNT)));
            assertThat(values(topic)).as(codec).containsExactlyInAnyOrderElementsOf(wanted);
        }
    }

    @Test
    void aTopicWithItsOwnCompressionTakesEveryCodec() {
        for (String wanted : List.of("uncompressed", "zstd", "gzip")) {
            String topic = "produced-" + TOPICS.incrementAndGet();
            Fill.create(kagami.bootstrap(), topic, PARTITIONS, Map.of("compression.type", wanted));
            List<String> sent = new ArrayList<>();
            for (String codec : Fill.CODECS) {
                try (KafkaProducer<byte[], byte[]> producer =
                        Fill.producer(kagami.bootstrap(), Map.of(ProducerConfig.COMPRESSION_TYPE_CONFIG, codec))) {
                    for (String value : numbered(codec, 30)) {
                        producer.send(new ProducerRecord<>(topic, Fill.bytes(value), Fill.bytes(value)));
                        sent.add(value);
                    }
                }
            }
            assertThat(values(topic)).as(wanted).containsExactlyInAnyOrderElementsOf(sent);
        }
    }

    @Test
    void kcat() throws IOException {
        requireClient("kcat", Cli.works("kcat", "-V"));
        String topic = topic();
        List<String> sent = new ArrayList<>();
        for (String codec : Fill.CODECS) {
            for (boolean idempotent : List.of(true, false)) {
                List<String> lines = numbered(codec + idempotent, COUNT);
                Path file = Files.write(Checkout.scratch().resolve("kcat-" + codec + idempotent), lines);
                List<String> args = new ArrayList<>(List.of("-P", "-b", kagami.bootstrap(), "-t", topic, "-z", codec));
                args.addAll(List.of("-X", "enable.idempotence=" + idempotent, "-l", file.toString()));
                Cli.run("kcat", args).ok();
                sent.addAll(lines);
            }
        }
        assertThat(values(topic)).containsExactlyInAnyOrderElementsOf(sent);
    }

    @Test
    void confluentsPythonClient() {
        requireClient("python3-confluent-kafka", Cli.works("/usr/bin/python3", "-c", "import confluent_kafka"));
        String topic = topic();
        List<String> sent = new ArrayList<>();
        for (String codec : Fill.CODECS) {
            for (String idempotent : List.of("true", "false")) {
                String prefix = codec + idempotent;
                Cli.Result result = Cli.run(
                                "/usr/bin/python3",
                                List.of(
                                        script("write.py"),
                                        kagami.bootstrap(),
                                        topic,
                                        codec,
                                        idempotent,
                                        prefix,
                                        "" + COUNT))
                        .ok();
                assertThat(result.out()).startsWith(COUNT + " ");
                sent.addAll(numbered(prefix, COUNT));
            }
        }
        assertThat(values(topic)).containsExactlyInAnyOrderElementsOf(sent);
    }

    @Test
    void kafkajs() {
        requireClient("kafkajs", Files.isDirectory(NODE_MODULES.resolve("kafkajs")) && Cli.works("node", "--version"));
        String topic = topic();
        List<String> sent = new ArrayList<>();
        for (String codec : List.of("none", "gzip")) { // it has no others of its own
            for (String idempotent : List.of("true", "false")) {
                String prefix = codec + idempotent;
                Cli.run(
                                "node",
                                List.of(
                                        script("write.js"),
                                        kagami.bootstrap(),
                                        topic,
                                        codec,
                                        idempotent,
                                        prefix,
                                        "" + COUNT),
                                Map.of("NODE_PATH", NODE_MODULES.toString(), "KAFKAJS_NO_PARTITIONER_WARNING", "1"),
                                120)
                        .ok();
                sent.addAll(numbered(prefix, COUNT));
            }
        }
        assertThat(values(topic)).containsExactlyInAnyOrderElementsOf(sent);
    }

    @Test
    void kafkaProducerPerfTest() {
        String topic = topic();
        Path out = Checkout.scratch().resolve("perf.out");
        int exit = tools.runTool(
                "org.apache.kafka.tools.ProducerPerformance",
                List.of(
                        "--topic",
                        topic,
                        "--num-records",
                        "20000",
                        "--record-size",
                        "500",
                        "--throughput",
                        "-1",
                        "--producer-props",
                        "bootstrap.servers=" + kagami.bootstrap(),
                        "acks=all",
                        "compression.type=lz4"),
                out);
        assertThat(exit).as("exit code, see %s", out).isZero();
        assertThat(Checkout.read(out)).contains("20000 records sent");
        assertThat(Eventually.ends(kagami.bootstrap(), List.of(topic)).values().stream()
                        .mapToLong(Long::longValue)
                        .sum())
                .isEqualTo(20_000);
    }

    @Test
    void theVerifiableToolsOverKills() {
        Path idempotent = Checkout.scratch().resolve("idempotent.properties");
        Path plain = Checkout.scratch().resolve("plain.properties");
        try {
            Files.write(idempotent, List.of("enable.idempotence=true", "retries=2147483647", "linger.ms=5"));
            Files.write(plain, List.of("enable.idempotence=false", "retries=0"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try (KagamiProcess victim = KagamiProcess.start("verifiable")) {
            for (String topic : List.of("idempotent", "plain")) {
                Fill.create(victim.bootstrap(), topic, 1, Map.of("internal.segment.bytes", "20000"));
            }
            int messages = 6_000;
            CompletableFuture<Written> once = write(victim, "idempotent", messages, idempotent);
            CompletableFuture<Written> atLeast = write(victim, "plain", messages, plain);
            for (int round = 0; round < 3; round++) {
                long before = end(victim, "idempotent");
                Eventually.succeeds(Duration.ofSeconds(60), () -> assertThat(end(victim, "idempotent"))
                        .isGreaterThan(before + 200));
                victim.kill9();
                victim.start();
            }
            assertThat(once.join().acknowledged()).as("all were acknowledged").hasSize(messages);
            assertThat(once.join().refused()).as("none was given up").isEmpty();
            assertThat(read(victim, "idempotent")).as("no loss, no duplicate").isEqualTo(numbers(messages));
            TreeSet<String> found = new TreeSet<>(read(victim, "plain"));
            Written plainly = atLeast.join();
            assertThat(plainly.acknowledged().size() + plainly.refused().size())
                    .as("the tool went through all of its messages")
                    .isEqualTo(messages);
            assertThat(plainly.acknowledged())
                    .as("it wrote before, between and after the kills")
                    .hasSizeGreaterThan(messages / 4);
            assertThat(found).as("no loss of what was acknowledged").containsAll(plainly.acknowledged());
        }
    }

    private static List<String> numbers(int count) {
        return IntStream.range(0, count).mapToObj(Integer::toString).toList();
    }

    private static long end(KagamiProcess broker, String topic) {
        return Eventually.ends(broker.bootstrap(), List.of(topic))
                .values()
                .iterator()
                .next();
    }

    /** Values that kafka-verifiable-producer says were acknowledged, and those it says were not. */
    private record Written(List<String> acknowledged, List<String> refused) {}

    /** Runs kafka-verifiable-producer to its end. */
    private static CompletableFuture<Written> write(KagamiProcess broker, String topic, int count, Path config) {
        return CompletableFuture.supplyAsync(() -> {
            Path out = Checkout.scratch().resolve("verifiable-" + topic + ".out");
            int exit = tools.runTool(
                    "org.apache.kafka.tools.VerifiableProducer",
                    List.of(
                            "--bootstrap-server",
                            broker.bootstrap(),
                            "--topic",
                            topic,
                            "--acks",
                            "-1",
                            "--max-messages",
                            "" + count,
                            "--throughput",
                            "300",
                            "--command-config",
                            config.toString()),
                    out);
            assertThat(exit).as("exit code, see %s", out).isZero();
            return new Written(values(out, "producer_send_success"), values(out, "producer_send_error"));
        });
    }

    private static List<String> values(Path out, String event) {
        return matches(out, "\"" + event + "\".*?\"value\":\"(\\d+)\"|\"value\":\"(\\d+)\".*?\"" + event + "\"");
    }

    /** Runs kafka-verifiable-consumer over the whole topic; the values in order. */
    private static List<String> read(KagamiProcess broker, String topic) {
        Path out = Checkout.scratch().resolve("verified-" + topic + ".out");
        int exit = tools.runTool(
                "org.apache.kafka.tools.VerifiableConsumer",
                List.of(
                        "--bootstrap-server",
                        broker.bootstrap(),
                        "--topic",
                        topic,
                        "--group-id",
                        "verify-" + topic,
                        "--reset-policy",
                        "earliest",
                        "--max-messages",
                        "" + end(broker, topic),
                        "--verbose"),
                out);
        assertThat(exit).as("exit code, see %s", out).isZero();
        return matches(out, "\"record_data\".*?\"value\":\"(\\d+)\"|\"value\":\"(\\d+)\".*?\"record_data\"");
    }

    private static List<String> matches(Path out, String pattern) {
        List<String> values = new ArrayList<>();
        Pattern wanted = Pattern.compile(pattern);
        Checkout.read(out).lines().forEach(line -> {
            Matcher matcher = wanted.matcher(line);
            if (matcher.find()) {
                values.add(matcher.group(1) != null ? matcher.group(1) : matcher.group(2));
            }
        });
        return values;
    }

    private static String script(String name) {
        try {
            return Path.of(RealProducersIT.class.getResource("/clients/" + name).toURI())
                    .toString();
        } catch (URISyntaxException e) {
            throw new IllegalStateException(e);
        }
    }

    private static void requireClient(String client, boolean there) {
        if (!there) {
            Announce.skipped("producing with " + client, client + " is not installed; .ci/run installs it");
        }
        Assumptions.assumeTrue(there, client + " is not installed; .ci/run installs it");
    }
}
