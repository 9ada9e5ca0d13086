package io.kagami.it.bench;

import io.kagami.cli.demo.ForkedKafka;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.NewTopic;

/** How far a mirror lags behind a source that is written to at a steady rate. */
record LagRow(int rate) implements Row {
    private static final int PARTITIONS = 6;
    private static final int WARM_SECONDS = 4;
    private static final Duration PATIENCE = Duration.ofMinutes(2);
    private static final Duration LOOK = Duration.ofMillis(50);
    private static final String SOURCE = "source";
    private static final String MIRROR = "mirror";

    @Override
    public String name() {
        return "lag-" + rate;
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.MM2, Systems.MM2_DEFAULT);
    }

    @Override
    public boolean ofTargets() {
        return true;
    }

    /** The target speaks of the source's own lag; MirrorMaker 2 stands beside it for the reader. */
    @Override
    public int runs(String system, int wanted) {
        return system.equals(Systems.KAGAMI) ? wanted : 1;
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        ForkedKafka source = lab.source();
        // a name of its own: records are known by their offsets, which begin at 0
        String topic = "lag-" + rate + "-" + system + "-" + run + "-" + Long.toString(System.nanoTime(), 36);
        Payloads.create(lab.sourceBootstrap(), new NewTopic(topic, Lab.onNodeOne(PARTITIONS)));
        try (RawClient client = new RawClient(source.port(1))) {
            Wait.until(topic + " has leaders", PATIENCE, LOOK, () -> client.serves(topic, PARTITIONS));
        }
        Machine.settle();
        try {
            if (system.equals(Systems.KAGAMI)) {
                try (KagamiServer server = KagamiServer.start(lab.dir("kagami"), lab.options(), name() + "-" + run)) {
                    server.mirror(lab.sourceBootstrap(), topic);
                    return load(topic, source.port(1), server.port(), lab);
                }
            }
            try (ForkedKafka destination = lab.destination();
                    MirrorMaker mm2 = MirrorMaker.start(
                            lab.dir("mm2"),
                            lab.sourceBootstrap(),
                            destination.bootstrap(),
                            topic,
                            "none",
                            system.equals(Systems.MM2))) {
                Map<String, Double> figures = load(topic, source.port(1), destination.port(1), lab);
                mm2.requireAlive();
                return figures;
            }
        } finally {
            Payloads.delete(lab.sourceBootstrap(), topic);
            Directories.remove(lab.dir("destination"));
        }
    }

    private Map<String, Double> load(String topic, int sourcePort, int mirrorPort, Lab lab) throws Exception {
        try (RawClient client = new RawClient(mirrorPort)) {
            Wait.until(topic + " is mirrored", PATIENCE, LOOK, () -> client.serves(topic, PARTITIONS));
        }
        PacedLoad.Load load = new PacedLoad.Load(
                topic,
                PARTITIONS,
                rate,
                WARM_SECONDS,
                lab.options().pacedSeconds(),
                lab.options().recordBytes(),
                "1");
        Map<String, Integer> ports = new LinkedHashMap<>();
        ports.put(SOURCE, sourcePort);
        ports.put(MIRROR, mirrorPort);
        Map<String, Double> figures = PacedLoad.run("127.0.0.1:" + sourcePort, load, ports);
        for (String percentile : List.of("p50", "p99", "p99.9")) {
            double mirror = figures.get(MIRROR + " since send " + percentile + " ms");
            double own = figures.get(SOURCE + " since send " + percentile + " ms");
            figures.put("over source " + percentile + " ms", mirror - own);
            figures.put("times source " + percentile, mirror / own);
        }
        return figures;
    }
}
