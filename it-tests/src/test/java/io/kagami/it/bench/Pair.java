package io.kagami.it.bench;

import io.kagami.cli.demo.ForkedKafka;
import java.io.IOException;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;

/** Kagami and Apache Kafka side by side as plain brokers; both stay up over all rows that need them, and both are warm. */
final class Pair implements AutoCloseable {
    static final int PARTITIONS = 6;
    static final int LARGE_BATCH = 131_072;
    private static final int WARM_MIB = 256;
    private static final Duration SOON = Duration.ofMinutes(1);
    private static final Duration LOOK = Duration.ofMillis(10);

    private final Lab lab;
    private final KagamiServer kagami;
    private final ForkedKafka kafka;
    /** Topics that are kept for reading, and work that was done once. */
    private final Map<String, Boolean> filled = new LinkedHashMap<>();

    private int topics;

    private Pair(Lab lab, KagamiServer kagami, ForkedKafka kafka) {
        this.lab = lab;
        this.kagami = kagami;
        this.kafka = kafka;
    }

    static Pair start(Lab lab) throws Exception {
        Progress.say("starting a Kagami and an Apache Kafka " + Lab.KAFKA_VERSION);
        KagamiServer kagami = KagamiServer.start(lab.dir("kagami-broker"), lab.options(), "broker");
        ForkedKafka kafka = ForkedKafka.start(new ForkedKafka.Options(
                Lab.KAFKA_VERSION, 1, Directories.fresh(lab.dir("kafka-broker")), Lab.everyBroker(), Lab.KAFKA_HEAP));
        Pair pair = new Pair(lab, kagami, kafka);
        for (String system : List.of(Systems.KAGAMI, Systems.KAFKA)) {
            String topic = pair.create(system);
            pair.produce(
                    system,
                    topic,
                    "none",
                    "all",
                    LARGE_BATCH,
                    Math.min(WARM_MIB, lab.options().brokerMiB()) * 1024L);
            Payloads.delete(pair.bootstrap(system), topic);
        }
        return pair;
    }

    int port(String system) {
        return system.equals(Systems.KAGAMI) ? kagami.port() : kafka.port(1);
    }

    String bootstrap(String system) {
        return "127.0.0.1:" + port(system);
    }

    long pid(String system) {
        return system.equals(Systems.KAGAMI) ? kagami.pid() : kafka.process(1).pid();
    }

    /** A new topic of six partitions, ready to be written to. */
    String create(String system) throws Exception {
        String topic = "bench-" + ++topics;
        create(system, topic);
        return topic;
    }

    private void create(String system, String topic) throws Exception {
        Payloads.create(bootstrap(system), new NewTopic(topic, PARTITIONS, (short) 1));
        try (RawClient client = new RawClient(port(system))) {
            Wait.until(topic + " has leaders", SOON, LOOK, () -> client.serves(topic, PARTITIONS));
        }
    }

    /** Seconds from the first send to the last answer; the producer is connected before. */
    double produce(String system, String topic, String codec, String acks, int batchBytes, long records) {
        Map<String, Object> config = Map.of(
                ProducerConfig.COMPRESSION_TYPE_CONFIG, codec,
                ProducerConfig.ACKS_CONFIG, acks,
                ProducerConfig.BATCH_SIZE_CONFIG, batchBytes,
                ProducerConfig.LINGER_MS_CONFIG, 5);
        try (KafkaProducer<byte[], byte[]> producer = Payloads.producer(bootstrap(system), config)) {
            producer.partitionsFor(topic);
            long began = System.nanoTime();
            Payloads.send(producer, topic, PARTITIONS, records, lab.options().recordBytes());
            return Wait.secondsSince(began);
        }
    }

    /** A topic with records to read, filled at the first call. */
    String filled(String system, String codec) throws Exception {
        String topic = "filled-" + codec;
        if (filled.putIfAbsent(system + topic, true) == null) {
            create(system, topic);
            produce(system, topic, codec, "1", LARGE_BATCH, lab.options().brokerRecords());
        }
        return topic;
    }

    /** True once for each kind of work: what does it first shall warm clients and brokers before it measures. */
    boolean cold(String work) {
        return filled.putIfAbsent("warm " + work, true) == null;
    }

    @Override
    public void close() throws IOException {
        kagami.close();
        kafka.close();
        Directories.remove(lab.dir("kafka-broker"));
    }
}
