package io.kagami.it.bench;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** How fast Kafka's consumer reads a topic that lies in the page cache. */
record ConsumeRow(String codec) implements Row {
    private static final int POLL_RECORDS = 5_000;
    private static final int PARTITION_BYTES = 1 << 20;
    private static final int FETCH_BYTES = 50 << 20;
    private static final Duration POLL = Duration.ofMillis(500);
    private static final Duration PATIENCE = Duration.ofMinutes(2);

    @Override
    public String name() {
        return "consume-" + codec;
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.KAFKA);
    }

    @Override
    public boolean ofTargets() {
        return codec.equals("none");
    }

    @Override
    public List<String> traits() {
        return List.of(codec, Integer.toString(Pair.PARTITIONS));
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        Pair pair = lab.pair();
        if (pair.cold(name())) {
            for (String each : systems()) {
                read(each, lab, pair);
            }
        }
        return read(system, lab, pair);
    }

    private Map<String, Double> read(String system, Lab lab, Pair pair) throws Exception {
        String topic = pair.filled(system, codec);
        Machine.settle();
        long total = lab.options().brokerRecords();
        Map<String, Object> config = Map.of(
                ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG, pair.bootstrap(system),
                ConsumerConfig.ENABLE_AUTO_COMMIT_CONFIG, false,
                ConsumerConfig.MAX_POLL_RECORDS_CONFIG, POLL_RECORDS,
                ConsumerConfig.MAX_PARTITION_FETCH_BYTES_CONFIG, PARTITION_BYTES,
                ConsumerConfig.FETCH_MAX_BYTES_CONFIG, FETCH_BYTES);
        List<TopicPartition> partitions = IntStream.range(0, Pair.PARTITIONS)
                .mapToObj(p -> new TopicPartition(topic, p))
                .toList();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            // connected and in the know before the clock starts
            partitions.forEach(consumer::position);
            double cpu = ProcessUse.cpuSeconds(pair.pid(system));
            long began = System.nanoTime();
            long seen = 0;
            long bytes = 0;
            while (seen < total) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    seen++;
                    bytes += record.value().length;
                }
                if (Wait.secondsSince(began) > PATIENCE.toSeconds()) {
                    throw new IllegalStateException(seen + " of " + total + " records came");
                }
            }
            double seconds = Wait.secondsSince(began);
            return ProduceRow.figures(bytes, seen, seconds, ProcessUse.cpuSeconds(pair.pid(system)) - cpu);
        }
    }
}
