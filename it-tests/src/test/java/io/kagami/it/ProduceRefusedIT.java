package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** One writer: a mirror topic is read-only until it is stopped, then it is an ordinary topic at once. */
@ExtendWith(Sources.class)
class ProduceRefusedIT {
    private static final Duration AT_ONCE = Duration.ofSeconds(10);

    @Test
    void aProducerIsToldWhichMirrorOwnsTheTopicAndMayWriteAfterTheStop(SourceKafka source) {
        String topic = "owned";
        Fill.create(source.bootstrap(), topic, 1, Map.of());
        try (KafkaProducer<byte[], byte[]> producer = Fill.producer(source.bootstrap(), Map.of())) {
            for (int i = 0; i < 20; i++) {
                Fill.get(producer.send(new ProducerRecord<>(topic, null, Fill.bytes("from the source " + i))));
            }
        }
        try (KagamiProcess kagami = KagamiProcess.start("owned")) {
            kagami.createMirror("tokyo-to-osaka", source.bootstrap());
            kagami.startTopics("tokyo-to-osaka", topic);
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            try (KafkaProducer<byte[], byte[]> producer = Fill.producer(kagami.bootstrap(), Map.of())) {
                // the first send also fetches metadata and a producer id, neither of which is to be timed
                producer.partitionsFor(topic);
                long begun = System.nanoTime();
                Throwable refused = catchThrowable(
                        () -> Fill.get(producer.send(new ProducerRecord<>(topic, null, Fill.bytes("refused")))));
                assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(AT_ONCE);
                assertThat(refused).isInstanceOf(InvalidRequestException.class).hasMessageContaining("tokyo-to-osaka");
            }
            assertThat(Eventually.ends(kagami.bootstrap(), List.of(topic))).containsEntry("owned-0", 20L);

            kagami.mirrors("--stop", "--mirror", "tokyo-to-osaka", "--topics", topic)
                    .ok();
            try (KafkaProducer<byte[], byte[]> producer = Fill.producer(kagami.bootstrap(), Map.of())) {
                RecordMetadata written =
                        Fill.get(producer.send(new ProducerRecord<>(topic, null, Fill.bytes("now ours"))));
                assertThat(written.offset()).isGreaterThanOrEqualTo(20);
            }
            List<String> lines = Reading.all(kagami.bootstrap(), topic, "read_committed");
            assertThat(lines).hasSize(22);
            assertThat(lines.get(20)).contains("from the source 19");
            assertThat(lines.get(21)).endsWith("now ours");
            assertThat(kagami.states("tokyo-to-osaka")).containsEntry("owned-0", "STOPPED");
        }
    }
}
