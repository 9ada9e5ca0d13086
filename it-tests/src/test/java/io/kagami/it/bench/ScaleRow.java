package io.kagami.it.bench;

import io.kagami.cli.demo.ForkedKafka;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * What many mirror partitions cost: topics of two partitions with a record in each, mirrored by a process that starts cold.
 *
 * @param scripted from a source that answers from memory; else from Apache Kafka, with MirrorMaker 2 beside
 */
record ScaleRow(int mirrorPartitions, boolean scripted) implements Row {
    private static final int PER_TOPIC = 2;
    private static final Duration PATIENCE = Duration.ofMinutes(12);
    private static final Duration SOON = Duration.ofMillis(50);
    private static final Duration SETTLE = Duration.ofSeconds(4);
    private static final Duration IDLE = Duration.ofSeconds(10);
    private static final int TOPICS_PER_REQUEST = 100;

    @Override
    public String name() {
        return (scripted ? "scale-" : "topics-") + mirrorPartitions;
    }

    @Override
    public List<String> systems() {
        return scripted ? List.of(Systems.KAGAMI) : List.of(Systems.KAGAMI, Systems.MM2);
    }

    @Override
    public boolean ofTargets() {
        return true;
    }

    /** The scripted rows show a slope; MirrorMaker 2 stands beside for the reader. */
    @Override
    public int runs(String system, int wanted) {
        return scripted || system.equals(Systems.MM2) ? 1 : wanted;
    }

    private List<String> topics() {
        return IntStream.range(0, mirrorPartitions / PER_TOPIC)
                .mapToObj(i -> "many-" + mirrorPartitions + "-" + i)
                .toList();
    }

    private String pattern() {
        return "many-" + mirrorPartitions + "-.*";
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        if (scripted) {
            lab.quiet();
            try (FakeSource source = FakeSource.start(lab.options().recordBytes())) {
                for (String topic : topics()) {
                    source.create(topic, PER_TOPIC);
                    IntStream.range(0, PER_TOPIC).forEach(p -> source.append(topic, p));
                }
                return kagami(source.bootstrap(), run, lab);
            }
        }
        ForkedKafka source = lab.source();
        fill(source.port(1), lab.sourceBootstrap());
        if (system.equals(Systems.KAGAMI)) {
            return kagami(lab.sourceBootstrap(), run, lab);
        }
        try (ForkedKafka destination = lab.destination()) {
            long began = System.nanoTime();
            try (MirrorMaker mm2 = MirrorMaker.start(
                    lab.dir("mm2"), lab.sourceBootstrap(), destination.bootstrap(), pattern(), "none", true)) {
                return watch(destination.port(1), mm2.pid(), began);
            }
        } finally {
            Directories.remove(lab.dir("destination"));
        }
    }

    private Map<String, Double> kagami(String source, int run, Lab lab) throws Exception {
        Machine.settle();
        long began = System.nanoTime();
        try (KagamiServer server = KagamiServer.start(lab.dir("kagami"), lab.options(), name() + "-" + run)) {
            server.mirror(source, pattern());
            return watch(server.port(), server.pid(), began);
        }
    }

    private Map<String, Double> watch(int port, long pid, long began) throws IOException {
        Map<String, Double> figures = new LinkedHashMap<>();
        List<String> topics = topics();
        // a look costs the broker something too: the fewer, the more there is to look at
        Duration look = Duration.ofMillis(Math.max(20, mirrorPartitions / 50));
        try (RawClient client = new RawClient(port)) {
            Wait.until("a record is mirrored", PATIENCE, look, () -> count(client, topics) > 0);
            figures.put("first record s", Wait.secondsSince(began));
            Wait.until("all is mirrored", PATIENCE, look, () -> count(client, topics) == mirrorPartitions);
            figures.put("all mirrored s", Wait.secondsSince(began));
        }
        figures.put("CPU until then s", ProcessUse.cpuSeconds(pid));
        Wait.pass(SETTLE);
        double cpu = ProcessUse.cpuSeconds(pid);
        Wait.pass(IDLE);
        figures.put("idle CPU %", (ProcessUse.cpuSeconds(pid) - cpu) * 100 / IDLE.toSeconds());
        figures.put("RSS MiB", ProcessUse.residentMiB(pid));
        figures.put("peak RSS MiB", ProcessUse.peakMiB(pid));
        return figures;
    }

    private static long count(RawClient client, List<String> topics) {
        try {
            return client.count(topics, PER_TOPIC);
        } catch (IOException e) {
            throw new IllegalStateException("the mirror cannot be asked", e);
        }
    }

    /** Creates and fills the topics at Kafka, once per directory. */
    private void fill(int port, String bootstrap) throws Exception {
        try (RawClient client = new RawClient(port)) {
            if (count(client, topics()) == mirrorPartitions) {
                return;
            }
            Progress.say("creating " + topics().size() + " topics");
            List<NewTopic> missing = new ArrayList<>();
            for (String topic : topics()) {
                missing.add(new NewTopic(topic, Lab.onNodeOne(PER_TOPIC)));
            }
            for (int from = 0; from < missing.size(); from += TOPICS_PER_REQUEST) {
                Payloads.create(bootstrap, missing.subList(from, Math.min(missing.size(), from + TOPICS_PER_REQUEST)));
            }
            Wait.until("all topics have leaders", PATIENCE, SOON, () -> client.serves(topics(), PER_TOPIC));
            Map<String, Object> config = Map.of(ProducerConfig.LINGER_MS_CONFIG, 100);
            try (KafkaProducer<byte[], byte[]> producer = Payloads.producer(bootstrap, config)) {
                for (String topic : topics()) {
                    for (int p = 0; p < PER_TOPIC; p++) {
                        producer.send(new ProducerRecord<>(topic, p, null, new byte[Long.BYTES]));
                    }
                }
                producer.flush();
            }
            if (count(client, topics()) != mirrorPartitions) {
                throw new IllegalStateException("the topics of " + name() + " are not as they should be");
            }
        }
    }
}
