package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Every batch comes over as the source served it, from every supported age of Kafka. */
@ExtendWith(Sources.class)
class MirrorIsByteIdenticalIT {
    private static final int PARTITIONS = 3;

    @ParameterizedTest
    @ValueSource(strings = {"2.1.1", "2.8.2", "3.9.1", "4.3.1"})
    void everyBatchIsEqual(String version) {
        try (SourceKafka source = SourceKafka.start("identical-" + version, SourceKafka.Spec.of(version))) {
            mirrorAndCompare(source, "identical-" + version);
        }
    }

    @Test
    void everyBatchOfTheNewestKafkaIsEqual(SourceKafka shared) {
        mirrorAndCompare(shared, "identical-" + Sources.NEWEST);
    }

    @Test
    void aComparisonFindsWhatDiffers(SourceKafka shared) {
        String topic = "differs";
        Fill.create(shared.bootstrap(), topic, 1, Map.of());
        try (KagamiProcess kagami = KagamiProcess.start("differs")) {
            Fill.create(kagami.bootstrap(), topic, 1, Map.of());
            produce(shared.bootstrap(), topic, "the same", "at the source");
            produce(kagami.bootstrap(), topic, "the same", "at the mirror");
            assertThat(RawComparer.compare(shared.bootstrap(), kagami.bootstrap(), topic))
                    .singleElement()
                    .satisfies(p -> assertThat(p.difference()).contains("differs from byte"));
            produce(shared.bootstrap(), topic, "one more");
            assertThat(RawComparer.compare(shared.bootstrap(), kagami.bootstrap(), topic))
                    .singleElement()
                    .satisfies(p -> assertThat(p.difference()).contains("the source has offsets 0 to 3"));
        }
    }

    private static void mirrorAndCompare(SourceKafka source, String topic) {
        Random random = Seed.random(topic);
        Fill.create(source.bootstrap(), topic, PARTITIONS, Map.of());
        Fill.everyKindOfBatch(source.bootstrap(), topic, PARTITIONS, random);
        try (KagamiProcess kagami = KagamiProcess.start(topic)) {
            kagami.createMirror("m", source.bootstrap());
            kagami.startTopics("m", topic);
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            // the same again while the mirror follows the tail
            Fill.everyKindOfBatch(source.bootstrap(), topic, PARTITIONS, random);
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            List<RawComparer.Partition> found =
                    RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), topic);
            assertThat(found).hasSize(PARTITIONS).allSatisfy(p -> {
                assertThat(p.start()).isZero();
                assertThat(p.end()).isEqualTo(2L * Fill.CODECS.size() * 44);
                assertThat(p.codecs()).containsExactly(0, 1, 2, 3, 4);
                Announce.say(source.version() + " " + p);
            });
            assertThat(kagami.states("m")).hasSize(PARTITIONS).values().containsOnly("MIRRORING");
        }
    }

    private static void produce(String bootstrap, String topic, String... values) {
        try (KafkaProducer<byte[], byte[]> producer = Fill.producer(bootstrap, Map.of())) {
            for (String value : values) {
                Fill.get(producer.send(new ProducerRecord<>(topic, 0, 1L, null, Fill.bytes(value))));
            }
        }
    }
}
