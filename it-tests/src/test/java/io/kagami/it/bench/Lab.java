package io.kagami.it.bench;

import io.kagami.cli.demo.ForkedKafka;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;

/** What rows share and what is dear to make: the filled source, and the pair of brokers. Only one of both is up at a time. */
final class Lab implements AutoCloseable {
    static final String KAFKA_VERSION = "4.3.1";
    static final String KAFKA_HEAP = "1g";
    private static final int FOLLOWER_NODE = 2;
    private static final int SOURCE_BATCH_BYTES = 90_000;
    private static final int LINGER_MS = 1_000;
    private static final String FETCH_BYTES = "10485760";
    /** Three partitions of one fetcher, each with as much as it may ask for. */
    private static final String RESPONSE_BYTES = "31457280";

    private static final Map<String, String> EVERY_BROKER = Map.of(
            "log.retention.ms", "-1",
            "log.segment.delete.delay.ms", "100",
            "auto.create.topics.enable", "false",
            "group.coordinator.rebalance.protocols", "classic");

    private final Options options;
    private ForkedKafka source;
    private Pair pair;

    Lab(Options options) {
        this.options = options;
    }

    Options options() {
        return options;
    }

    Path dir(String name) {
        return options.dir().resolve(name);
    }

    /** The source: node 1 has every topic; node 2 is down unless it is to follow. */
    ForkedKafka source() throws Exception {
        closePair();
        if (source == null) {
            Progress.say("starting the source, Apache Kafka " + KAFKA_VERSION);
            Map<String, String> props = new HashMap<>(EVERY_BROKER);
            props.put("offsets.topic.replication.factor", "1");
            props.put("num.replica.fetchers", "2");
            props.put("replica.fetch.max.bytes", FETCH_BYTES);
            props.put("replica.fetch.response.max.bytes", RESPONSE_BYTES);
            props.put("message.max.bytes", "4194304");
            source = ForkedKafka.start(
                    new ForkedKafka.Options(KAFKA_VERSION, FOLLOWER_NODE, dir("source"), props, KAFKA_HEAP));
            source.stop(FOLLOWER_NODE);
        }
        return source;
    }

    String sourceBootstrap() throws Exception {
        return "127.0.0.1:" + source().port(1);
    }

    /** An empty broker to mirror into, for MirrorMaker 2. */
    ForkedKafka destination() throws IOException {
        return ForkedKafka.start(new ForkedKafka.Options(
                KAFKA_VERSION, 1, Directories.fresh(dir("destination")), EVERY_BROKER, KAFKA_HEAP));
    }

    /** A topic on the source that is filled once per directory and stays; returns its name. */
    String filled(String codec, int partitions) throws Exception {
        String topic = "filled-" + codec + "-" + partitions + "-" + options.sizeMiB();
        long records = options.records();
        fill(topic, codec, partitions, records);
        return topic;
    }

    void fill(String topic, String codec, int partitions, long records) throws Exception {
        String bootstrap = sourceBootstrap();
        try (RawClient client = new RawClient(source.port(1))) {
            if (client.count(topic, partitions) == records) {
                return;
            }
            Progress.say("filling " + topic + " with " + records + " records");
            if (client.ends(topic, partitions)[0] >= 0) {
                Payloads.delete(bootstrap, topic);
            }
            Payloads.create(bootstrap, new NewTopic(topic, onNodeOne(partitions)));
            Map<String, Object> config = Map.of(
                    ProducerConfig.COMPRESSION_TYPE_CONFIG, codec,
                    ProducerConfig.BATCH_SIZE_CONFIG, SOURCE_BATCH_BYTES,
                    ProducerConfig.LINGER_MS_CONFIG, LINGER_MS);
            try (KafkaProducer<byte[], byte[]> producer = Payloads.producer(bootstrap, config)) {
                Payloads.send(producer, topic, partitions, records, options.recordBytes());
            }
            long written = client.count(topic, partitions);
            if (written != records) {
                throw new IllegalStateException(topic + " has " + written + " records, not " + records);
            }
        }
        force(topic);
    }

    static Map<Integer, List<Integer>> onNodeOne(int partitions) {
        return IntStream.range(0, partitions).boxed().collect(Collectors.toMap(p -> p, p -> List.of(1)));
    }

    /** What the preload wrote goes to the disk now, not while something is measured; it stays in the page cache. */
    private void force(String topic) throws IOException {
        try (Stream<Path> dirs = Files.list(source.dataOf(1))) {
            for (Path dir : dirs.filter(d -> d.getFileName().toString().startsWith(topic + "-"))
                    .toList()) {
                try (Stream<Path> files = Files.list(dir)) {
                    for (Path file :
                            files.filter(f -> f.toString().endsWith(".log")).toList()) {
                        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
                            channel.force(true);
                        }
                    }
                }
            }
        }
    }

    /** One broker of each kind, empty at first and warmed up. */
    Pair pair() throws Exception {
        closeSource();
        if (pair == null) {
            pair = Pair.start(this);
        }
        return pair;
    }

    /** Nothing of the lab runs. */
    void quiet() throws IOException {
        closeSource();
        closePair();
    }

    static Map<String, String> everyBroker() {
        return EVERY_BROKER;
    }

    private void closeSource() {
        if (source != null) {
            source.close();
            source = null;
        }
    }

    private void closePair() throws IOException {
        if (pair != null) {
            pair.close();
            pair = null;
        }
    }

    @Override
    public void close() throws IOException {
        quiet();
    }
}
