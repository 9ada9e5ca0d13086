package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** A batch far above every fetch size, and many topics. */
@ExtendWith(Sources.class)
class BigAndManyIT {
    private static final int MANY = 500;
    private static final Duration REFRESH = Duration.ofSeconds(5);

    @Test
    void aBatchOf25MebibytesComesOver(SourceKafka source) {
        String topic = "big";
        Fill.create(source.bootstrap(), topic, 1, Map.of("max.message.bytes", "33554432"));
        byte[] value = new byte[25 << 20];
        new Random(3).nextBytes(value);
        try (KafkaProducer<byte[], byte[]> producer = Fill.producer(
                source.bootstrap(),
                Map.of(
                        ProducerConfig.MAX_REQUEST_SIZE_CONFIG, 32 << 20,
                        ProducerConfig.BUFFER_MEMORY_CONFIG, 64 << 20))) {
            Fill.get(producer.send(new ProducerRecord<>(topic, null, Fill.bytes("small before"))));
            Fill.get(producer.send(new ProducerRecord<>(topic, null, value)));
            Fill.get(producer.send(new ProducerRecord<>(topic, null, Fill.bytes("small after"))));
        }
        try (KagamiProcess kagami = KagamiProcess.start("big")) {
            kagami.createMirror("m", source.bootstrap());
            kagami.startTopics("m", topic);
            Eventually.mirrored(Duration.ofMinutes(1), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            assertThat(RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), topic))
                    .singleElement()
                    .satisfies(p -> assertThat(p.bytes()).isGreaterThan(25L << 20));
        }
    }

    @Test
    void fiveHundredTopicsAreMirroredAndANewOneIsFoundWithinOneRefresh(SourceKafka source) {
        List<String> topics =
                IntStream.range(0, MANY).mapToObj(i -> "many-" + i).toList();
        Fill.create(
                source.bootstrap(),
                topics.stream().map(BigAndManyIT::twoPartitions).toList());
        oneRecordEach(source, topics);
        try (KagamiProcess kagami =
                KagamiProcess.start("many", Map.of("mirror.metadata.refresh.interval.ms", "" + REFRESH.toMillis()))) {
            kagami.createMirror("m", source.bootstrap(), "topics.include=many-.*");
            Eventually.mirrored(Duration.ofMinutes(2), source.bootstrap(), kagami.bootstrap(), topics);
            for (String topic : topics) {
                RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), topic);
            }
            assertThat(kagami.states("m")).hasSize(2 * MANY).values().containsOnly("MIRRORING");

            Fill.create(source.bootstrap(), "many-and-one-more", 2, Map.of());
            oneRecordEach(source, List.of("many-and-one-more"));
            // one interval, and a second for the mirroring itself on a busy machine
            Eventually.mirrored(
                    REFRESH.plusSeconds(2), source.bootstrap(), kagami.bootstrap(), List.of("many-and-one-more"));
        }
    }

    private static NewTopic twoPartitions(String name) {
        return new NewTopic(name, Optional.of(2), Optional.empty());
    }

    private static void oneRecordEach(SourceKafka source, List<String> topics) {
        List<Future<RecordMetadata>> sent = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer = Fill.producer(source.bootstrap(), Map.of())) {
            for (String topic : topics) {
                sent.add(producer.send(new ProducerRecord<>(topic, 0, null, Fill.bytes("zero of " + topic))));
                sent.add(producer.send(new ProducerRecord<>(topic, 1, null, Fill.bytes("one of " + topic))));
            }
        }
        sent.forEach(Fill::get);
    }
}
