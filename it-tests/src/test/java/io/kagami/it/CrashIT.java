package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** SIGKILL at any moment loses nothing and doubles nothing. Rounds: {@code -Dcrash.rounds=} (20). */
@ExtendWith(Sources.class)
class CrashIT {
    private static final int PARTITIONS = 3;

    @Test
    void killedAtRandomMomentsTheMirrorStillEndsWithoutGapAndWithoutDuplicate(SourceKafka source) {
        int rounds = Integer.getInteger("crash.rounds", 20);
        Random random = Seed.random("crash");
        String topic = "crash";
        Fill.create(source.bootstrap(), topic, PARTITIONS, Map.of("segment.bytes", "2097152"));
        KagamiProcess kagami = KagamiProcess.start("crash", Map.of("log.segment.bytes", "2097152"));
        kagami.createMirror("m", source.bootstrap());
        kagami.startTopics("m", topic);
        try (Writer writer = new Writer(source.bootstrap(), topic)) {
            int readyAtDeath = 0;
            for (int round = 0; round < rounds; round++) {
                kagami.awaitReady();
                long end = total(kagami, topic);
                // every other round has seen the mirror go on after the crash before; the others die as they start
                if (round % 2 == 0) {
                    Eventually.succeeds(Duration.ofSeconds(30), () -> assertThat(total(kagami, topic))
                            .isGreaterThan(end));
                    readyAtDeath++;
                }
                waitMs(random.nextInt(700));
                kagami.kill9();
                kagami.spawn();
                if (round % 4 == 3) {
                    // once more in the middle of the recovery
                    waitMs(200 + random.nextInt(1_500));
                    kagami.kill9();
                    kagami.spawn();
                }
            }
            kagami.awaitReady();
            writer.finish();
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            List<RawComparer.Partition> found =
                    RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), topic);
            found.forEach(p -> Announce.say(p.toString()));
            assertThat(found.stream().mapToLong(RawComparer.Partition::end).sum())
                    .isEqualTo(writer.acknowledged());
            assertThat(readyAtDeath).isGreaterThanOrEqualTo(rounds / 2);
        }
        kagami.close();
    }

    private static long total(KagamiProcess kagami, String topic) {
        return Eventually.ends(kagami.bootstrap(), List.of(topic)).values().stream()
                .mapToLong(Long::longValue)
                .sum();
    }

    /** The random moment itself: nothing to wait for but time. */
    private static void waitMs(int ms) {
        long until = System.nanoTime() + ms * 1_000_000L;
        Eventually.within(Duration.ofSeconds(30))
                .pollInterval(Duration.ofMillis(1))
                .until(() -> System.nanoTime() >= until);
    }

    /** Writes about 400 records a second to all partitions until it is closed. */
    private static final class Writer implements AutoCloseable {
        private final AtomicBoolean stopped = new AtomicBoolean();
        private final AtomicLong sent = new AtomicLong();
        private final AtomicLong acknowledged = new AtomicLong();
        private final Thread thread;
        private final KafkaProducer<byte[], byte[]> producer;

        Writer(String bootstrap, String topic) {
            producer = Fill.producer(
                    bootstrap,
                    Map.of(ProducerConfig.COMPRESSION_TYPE_CONFIG, "lz4", ProducerConfig.LINGER_MS_CONFIG, 20));
            thread = new Thread(() -> write(topic), "writer");
            thread.start();
        }

        private void write(String topic) {
            Random random = new Random(7);
            while (!stopped.get()) {
                for (int i = 0; i < 4; i++) {
                    long number = sent.getAndIncrement();
                    producer.send(
                            new ProducerRecord<>(
                                    topic,
                                    (int) (number % PARTITIONS),
                                    null,
                                    Fill.text(random, 200 + random.nextInt(3_000))),
                            (metadata, failure) -> {
                                if (failure == null) {
                                    acknowledged.incrementAndGet();
                                }
                            });
                }
                java.util.concurrent.locks.LockSupport.parkNanos(10_000_000L);
            }
        }

        long acknowledged() {
            assertThat(acknowledged.get()).as("acknowledged records").isEqualTo(sent.get());
            return acknowledged.get();
        }

        @Override
        public void close() {
            finish();
        }

        /** Stops writing and waits until everything is acknowledged. */
        void finish() {
            stopped.set(true);
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            producer.close();
        }
    }
}
