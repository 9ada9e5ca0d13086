package io.kagami.it.bench;

import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * Sends records at a fixed rate and notes when each one was due, when it was acknowledged, and when it could be read at each place
 * that is watched. The places are read with long polls of a raw client, so no consumer's own delay is in the figures. A record is
 * known by its partition and offset, which are the same at every place.
 */
final class PacedLoad {
    private static final RawClient.FetchLimits LIMITS = new RawClient.FetchLimits(500, 16 << 20, 4 << 20);
    private static final Duration DRAIN = Duration.ofSeconds(30);
    private static final double MS = 1e6;
    private static final int QUARTERS = 4;

    /**
     * What to send.
     *
     * @param warmSeconds at the same rate before it counts
     */
    record Load(String topic, int partitions, int rate, int warmSeconds, int seconds, int recordBytes, String acks) {
        int perPartition() {
            return (int) Math.ceil(rate * (double) (warmSeconds + seconds) / partitions) + 1;
        }

        int total() {
            return rate * (warmSeconds + seconds);
        }
    }

    /** Where records are awaited. */
    private static final class Place {
        final String name;
        final RawClient client;
        final AtomicLongArray seen;
        final Thread thread;
        volatile boolean done;
        volatile Exception failure;

        Place(String name, int port, Load load) throws IOException {
            this.name = name;
            this.client = new RawClient(port);
            this.seen = new AtomicLongArray(load.perPartition() * load.partitions());
            this.thread = new Thread(() -> watch(load), "watch-" + name);
            thread.setDaemon(true);
        }

        private void watch(Load load) {
            long[] next = new long[load.partitions()];
            long[] before = new long[load.partitions()];
            try (client) {
                long missing = load.total();
                while (missing > 0 && !done) {
                    client.fetch(load.topic(), next, LIMITS, (partition, buffer, at, length) -> {});
                    long now = System.nanoTime();
                    for (int p = 0; p < next.length; p++) {
                        for (long offset = before[p]; offset < next[p]; offset++) {
                            seen.set(index(load, p, offset), now);
                            missing--;
                        }
                        before[p] = next[p];
                    }
                }
            } catch (IOException | RuntimeException e) {
                failure = e;
            }
        }
    }

    private PacedLoad() {}

    private static int index(Load load, int partition, long offset) {
        return (int) (partition * (long) load.perPartition() + offset);
    }

    /**
     * Blocks until everything was seen everywhere.
     *
     * @param bootstrap where to send; the topic must be there and empty
     * @param ports of the places, by name
     * @throws IllegalStateException when a record does not arrive
     */
    static Map<String, Double> run(String bootstrap, Load load, Map<String, Integer> ports) throws Exception {
        List<Place> places = new ArrayList<>();
        for (Map.Entry<String, Integer> port : ports.entrySet()) {
            places.add(new Place(port.getKey(), port.getValue(), load));
        }
        places.forEach(place -> place.thread.start());
        long[] due = new long[load.perPartition() * load.partitions()];
        AtomicLongArray acked = new AtomicLongArray(due.length);
        try {
            send(bootstrap, load, due, acked);
            for (Place place : places) {
                place.thread.join(DRAIN.toMillis());
                if (place.thread.isAlive() || place.failure != null) {
                    throw new IllegalStateException(
                            "not all records could be read at the " + place.name, place.failure);
                }
            }
        } finally {
            places.forEach(place -> place.done = true);
        }
        Map<String, Double> figures = new LinkedHashMap<>();
        for (Place place : places) {
            double[] sinceDue = delays(load, place.seen, p -> due[p]);
            double[] sinceAck = delays(load, place.seen, acked::get);
            percentiles(figures, place.name + " since send", sinceDue);
            percentiles(figures, place.name + " since ack", sinceAck);
            figures.put(place.name + " growth ms", growth(sinceDue));
        }
        return figures;
    }

    private static void send(String bootstrap, Load load, long[] due, AtomicLongArray acked) {
        Map<String, Object> config =
                Map.of(ProducerConfig.ACKS_CONFIG, load.acks(), ProducerConfig.LINGER_MS_CONFIG, 0);
        List<byte[]> values = Payloads.values(load.recordBytes());
        AtomicInteger refused = new AtomicInteger();
        try (KafkaProducer<byte[], byte[]> producer = Payloads.producer(bootstrap, config)) {
            producer.partitionsFor(load.topic());
            long began = System.nanoTime();
            for (int i = 0; i < load.total(); i++) {
                long at = began + (long) (i * 1e9 / load.rate());
                int partition = i % load.partitions();
                int place = index(load, partition, i / load.partitions());
                due[place] = at;
                for (long left = at - System.nanoTime(); left > 0; left = at - System.nanoTime()) {
                    LockSupport.parkNanos(left);
                }
                byte[] value = Payloads.numbered(values.get(i % values.size()), i);
                producer.send(new ProducerRecord<>(load.topic(), partition, null, value), (metadata, error) -> {
                    if (error != null) {
                        refused.incrementAndGet();
                    } else {
                        acked.set(index(load, partition, metadata.offset()), System.nanoTime());
                    }
                });
            }
            producer.flush();
        }
        if (refused.get() > 0) {
            throw new IllegalStateException(refused + " records were refused");
        }
    }

    private interface Start {
        long of(int index);
    }

    /** Milliseconds from a start until a record was seen, in the order of sending, without those of the warm-up. */
    private static double[] delays(Load load, AtomicLongArray seen, Start start) {
        int skipped = load.rate() * load.warmSeconds();
        double[] delays = new double[load.total() - skipped];
        for (int i = 0; i < delays.length; i++) {
            int n = skipped + i;
            int at = index(load, n % load.partitions(), n / load.partitions());
            delays[i] = (seen.get(at) - start.of(at)) / MS;
        }
        return delays;
    }

    private static void percentiles(Map<String, Double> figures, String what, double[] delays) {
        double[] sorted = delays.clone();
        Arrays.sort(sorted);
        figures.put(what + " p50 ms", Spread.percentile(sorted, 0.5));
        figures.put(what + " p99 ms", Spread.percentile(sorted, 0.99));
        figures.put(what + " p99.9 ms", Spread.percentile(sorted, 0.999));
    }

    /** Median of the last quarter less that of the first: a lag that grows shows here. */
    static double growth(double[] delays) {
        int quarter = Math.max(1, delays.length / QUARTERS);
        double[] first = Arrays.copyOfRange(delays, 0, quarter);
        double[] last = Arrays.copyOfRange(delays, delays.length - quarter, delays.length);
        return Spread.of(last).median() - Spread.of(first).median();
    }
}
