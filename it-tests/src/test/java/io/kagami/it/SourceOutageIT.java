package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;

/** Source brokers come and go, leaders move: the mirror goes on by itself. */
class SourceOutageIT {
    private static final Duration OUTAGE = Duration.ofSeconds(20);
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @Test
    void aBrokerIsAwayForTwentySecondsAndLeadersMoveAndNoOtherPartitionPauses() {
        try (SourceKafka source = SourceKafka.start(
                "outage", new SourceKafka.Spec("4.3.1", 3, Map.of("controlled.shutdown.enable", "true"), "384m"))) {
            // one partition that lives on each broker alone, and three whose leaders can move
            Fill.create(
                    source.bootstrap(),
                    List.of(
                            new NewTopic("alone", Map.of(0, List.of(1), 1, List.of(2), 2, List.of(3))),
                            new NewTopic(
                                    "moving", Map.of(0, List.of(1, 2, 3), 1, List.of(2, 3, 1), 2, List.of(3, 1, 2)))));
            List<String> topics = List.of("alone", "moving");
            try (KagamiProcess kagami = KagamiProcess.start("outage");
                    KafkaProducer<byte[], byte[]> producer = Fill.producer(
                            source.bootstrap(),
                            Map.of(
                                    ProducerConfig.LINGER_MS_CONFIG, 0,
                                    ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 120_000))) {
                write(producer, "alone", Set.of(0, 1, 2));
                write(producer, "moving", Set.of(0, 1, 2));
                kagami.createMirror("m", source.bootstrap());
                kagami.startTopics("m", "alone,moving");
                Eventually.mirrored(PATIENCE, source.bootstrap(), kagami.bootstrap(), topics);

                source.stop(3);
                othersNeverPause(kagami, producer);
                assertThat(kagami.states("m")).hasSize(6).values().containsOnly("MIRRORING");
                source.resume(3);
                write(producer, "alone", Set.of(0, 1, 2));
                Eventually.mirrored(PATIENCE, source.bootstrap(), kagami.bootstrap(), topics);

                // without goodbye this time: leaders move by election
                source.kill(2);
                write(producer, "moving", Set.of(0, 1, 2));
                Eventually.succeeds(PATIENCE, () -> assertThat(Eventually.ends(kagami.bootstrap(), List.of("moving")))
                        .isEqualTo(Eventually.ends(source.bootstrap(), List.of("moving"))));
                source.resume(2);
                write(producer, "alone", Set.of(0, 1, 2));
                Eventually.mirrored(PATIENCE, source.bootstrap(), kagami.bootstrap(), topics);
                for (String topic : topics) {
                    RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), topic)
                            .forEach(p -> Announce.say(p.toString()));
                }
                assertThat(kagami.states("m")).hasSize(6).values().containsOnly("MIRRORING");
            }
        }
    }

    /** Through the whole outage each round of new records arrives within a few seconds, on every partition but the absent one. */
    private static void othersNeverPause(KagamiProcess kagami, KafkaProducer<byte[], byte[]> producer) {
        long until = System.nanoTime() + OUTAGE.toNanos();
        int rounds = 0;
        while (System.nanoTime() < until) {
            Map<String, Long> before = Eventually.ends(kagami.bootstrap(), List.of("alone", "moving"));
            write(producer, "alone", Set.of(0, 1));
            write(producer, "moving", Set.of(0, 1, 2));
            Eventually.succeeds(Duration.ofSeconds(5), () -> {
                Map<String, Long> now = Eventually.ends(kagami.bootstrap(), List.of("alone", "moving"));
                Set<String> standing = new TreeSet<>(before.keySet());
                standing.removeIf(p -> now.get(p) > before.get(p));
                assertThat(standing).containsExactly("alone-2");
            });
            rounds++;
        }
        assertThat(rounds).isGreaterThan(10);
    }

    private static void write(KafkaProducer<byte[], byte[]> producer, String topic, Set<Integer> partitions) {
        partitions.stream()
                .map(p -> producer.send(new ProducerRecord<>(topic, p, null, Fill.bytes("record for " + p))))
                .toList()
                .forEach(Fill::get);
    }
}
