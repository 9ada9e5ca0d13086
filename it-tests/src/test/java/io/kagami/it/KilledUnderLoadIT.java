package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/**
 * SIGKILL while producers write with acks=all, with every record forced and with the default: what was acknowledged is there, where it was
 * said to be, and once. Rounds: {@code -Dcrash.rounds=} (3).
 */
class KilledUnderLoadIT {
    private static final List<String> TOPICS = List.of("forced", "default");

    @Test
    void whatWasAcknowledgedBeforeAKillIsThereAndThereOnce() {
        int rounds = Integer.getInteger("crash.rounds", 3);
        Random random = Seed.random("killed");
        Map<TopicPartition, Map<Long, Long>> acknowledged = new ConcurrentHashMap<>();
        AtomicBoolean stop = new AtomicBoolean();
        try (KagamiProcess kagami = KagamiProcess.start("killed", Map.of("log.segment.bytes", "1048576"))) {
            Fill.create(kagami.bootstrap(), "forced", 2, Map.of("flush.messages", "1"));
            Fill.create(kagami.bootstrap(), "default", 2, Map.of());
            Thread writer = new Thread(() -> write(kagami.bootstrap(), acknowledged, stop), "writer");
            writer.start();
            for (int round = 0; round < rounds; round++) {
                int before = count(acknowledged);
                Eventually.within(Duration.ofSeconds(60)).until(() -> count(acknowledged) > before + 2_000);
                LockSupport.parkNanos(random.nextInt(500) * 1_000_000L);
                kagami.kill9();
                kagami.start();
            }
            stop.set(true);
            join(writer);
            acknowledged.forEach((partition, wanted) -> {
                Map<Long, Long> found = read(kagami.bootstrap(), partition);
                assertThat(found).as("acknowledged records of %s", partition).containsAllEntriesOf(wanted);
                assertThat(found.values()).as("nothing twice in %s", partition).doesNotHaveDuplicates();
            });
            Announce.say(count(acknowledged) + " records acknowledged over " + rounds + " kills");
        }
    }

    private static int count(Map<TopicPartition, Map<Long, Long>> acknowledged) {
        return acknowledged.values().stream().mapToInt(Map::size).sum();
    }

    private static void write(String bootstrap, Map<TopicPartition, Map<Long, Long>> acknowledged, AtomicBoolean stop) {
        try (KafkaProducer<byte[], byte[]> producer = Fill.producer(
                bootstrap,
                Map.of(
                        ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG,
                        true,
                        ProducerConfig.RECONNECT_BACKOFF_MAX_MS_CONFIG,
                        200))) {
            for (long number = 0; !stop.get(); number++) {
                long sent = number;
                for (String topic : TOPICS) {
                    int partition = (int) (number % 2);
                    producer.send(
                            new ProducerRecord<>(topic, partition, null, Fill.bytes(Long.toString(sent))),
                            (at, failure) -> {
                                if (failure == null) {
                                    acknowledged
                                            .computeIfAbsent(
                                                    new TopicPartition(topic, partition),
                                                    any -> new ConcurrentHashMap<>())
                                            .put(at.offset(), sent);
                                }
                            });
                }
                LockSupport.parkNanos(200_000);
            }
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static Map<Long, Long> read(String bootstrap, TopicPartition from) {
        Map<Long, Long> found = new HashMap<>();
        try (KafkaConsumer<byte[], byte[]> consumer = Reading.consumer(bootstrap, Map.of())) {
            consumer.assign(List.of(from));
            consumer.seekToBeginning(List.of(from));
            long end = consumer.endOffsets(List.of(from)).get(from);
            while (consumer.position(from) < end) {
                consumer.poll(Duration.ofMillis(200))
                        .forEach(each -> found.put(
                                each.offset(),
                                Long.parseLong(new String(each.value(), java.nio.charset.StandardCharsets.UTF_8))));
            }
        }
        return found;
    }
}
