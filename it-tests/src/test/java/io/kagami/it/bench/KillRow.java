package io.kagami.it.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Kagami killed half-way through a catch-up and started again at once: what is there twice, missing or elsewhere, and how long nothing came. */
record KillRow() implements Row {
    private static final String CODEC = "none";
    private static final int PARTITIONS = 6;
    private static final RawClient.FetchLimits LIMITS = new RawClient.FetchLimits(500, 16 << 20, 4 << 20);
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration LOOK = Duration.ofMillis(2);

    /** Where a batch lies and what is in it. */
    private record Batch(int partition, long base, int lastDelta, int crc) {}

    @Override
    public String name() {
        return "kill-" + CODEC + "-" + PARTITIONS;
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI);
    }

    @Override
    public boolean ofTargets() {
        return true;
    }

    @Override
    public List<String> traits() {
        return List.of(CODEC, Integer.toString(PARTITIONS));
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        String topic = lab.filled(CODEC, PARTITIONS);
        long total = lab.options().records();
        Machine.settle();
        try (KagamiServer server = KagamiServer.start(lab.dir("kagami"), lab.options(), name() + "-" + run)) {
            server.mirror(lab.sourceBootstrap(), topic);
            Wait.until("half is mirrored", PATIENCE, LOOK, () -> count(server, topic) >= total / 2);
            // a reader may have seen what came since: nothing of it may be lost
            long seen = count(server, topic);
            long began = System.nanoTime();
            server.killAndSpawn();
            Wait.until("a new record is mirrored", PATIENCE, LOOK, () -> count(server, topic) > seen);
            double outage = Wait.secondsSince(began);
            Wait.until("all is mirrored", PATIENCE, LOOK, () -> count(server, topic) >= total);
            List<Batch> there = batches(lab.source().port(1), topic);
            List<Batch> here = batches(server.port(), topic);
            return compare(there, here, outage, seen / (double) total);
        }
    }

    private static Map<String, Double> compare(List<Batch> there, List<Batch> here, double outage, double killedAt) {
        Set<Batch> source = new HashSet<>(there);
        Set<Batch> mirror = new HashSet<>(here);
        Map<String, Double> figures = new LinkedHashMap<>();
        figures.put("outage s", outage);
        figures.put("killed at share", killedAt);
        figures.put("duplicate batches", (double) here.size() - mirror.size());
        figures.put("missing batches", (double)
                source.stream().filter(batch -> !mirror.contains(batch)).count());
        figures.put("shifted batches", (double)
                mirror.stream().filter(batch -> !source.contains(batch)).count());
        return figures;
    }

    private static long count(KagamiServer server, String topic) {
        try (RawClient client = new RawClient(server.port())) {
            return client.count(topic, PARTITIONS);
        } catch (IOException away) {
            return 0;
        }
    }

    private static List<Batch> batches(int port, String topic) throws IOException {
        List<Batch> batches = new ArrayList<>();
        try (RawClient client = new RawClient(port)) {
            long[] ends = client.ends(topic, PARTITIONS);
            long[] next = new long[PARTITIONS];
            boolean more = true;
            while (more) {
                client.fetch(
                        topic,
                        next,
                        LIMITS,
                        (partition, buffer, at, length) -> batches.add(new Batch(
                                partition,
                                buffer.getLong(at),
                                buffer.getInt(at + RawClient.LAST_DELTA_AT),
                                buffer.getInt(at + RawClient.CRC_AT))));
                more = false;
                for (int p = 0; p < PARTITIONS; p++) {
                    more |= next[p] < ends[p];
                }
            }
        }
        return batches;
    }
}
