package io.kagami.broker.core.adopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.broker.core.adopt.KafkaRecord.ConfigSet;
import io.kagami.broker.core.adopt.KafkaRecord.EligibleCleared;
import io.kagami.broker.core.adopt.KafkaRecord.PartitionChanged;
import io.kagami.broker.core.adopt.KafkaRecord.PartitionMade;
import io.kagami.broker.core.adopt.KafkaRecord.ProducerIdsTaken;
import io.kagami.broker.core.adopt.KafkaRecord.TopicMade;
import io.kagami.broker.core.adopt.KafkaRecord.TopicRemoved;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionAborted;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionBegun;
import io.kagami.broker.core.adopt.KafkaRecord.TransactionEnded;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

/** Kafka's metadata records: bytes to records, and records to topics. */
class KafkaMetadataTest {
    private static final Uuid ID = new Uuid(1, 2);

    /** Writes values as Kafka lays them out. */
    private static final class Value {
        private final ByteArrayOutputStream out = new ByteArrayOutputStream();

        Value(int type, int version) {
            varint(1).varint(type).varint(version);
        }

        private Value() {}

        Value varint(int value) {
            int rest = value;
            while ((rest & ~0x7f) != 0) {
                out.write((rest & 0x7f) | 0x80);
                rest >>>= 7;
            }
            out.write(rest);
            return this;
        }

        Value int8(int value) {
            out.write(value);
            return this;
        }

        Value int32(int value) {
            out.writeBytes(ByteBuffer.allocate(4).putInt(value).array());
            return this;
        }

        Value int64(long value) {
            out.writeBytes(ByteBuffer.allocate(8).putLong(value).array());
            return this;
        }

        Value uuid(Uuid id) {
            return int64(id.getMostSignificantBits()).int64(id.getLeastSignificantBits());
        }

        Value string(String text) {
            byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
            varint(utf8.length + 1);
            out.writeBytes(utf8);
            return this;
        }

        Value numbers(int... numbers) {
            varint(numbers.length + 1);
            for (int number : numbers) {
                int32(number);
            }
            return this;
        }

        Value tag(int tag, Value value) {
            varint(tag).varint(value.out.size());
            out.writeBytes(value.out.toByteArray());
            return this;
        }

        ByteBuffer bytes() {
            return ByteBuffer.wrap(out.toByteArray());
        }
    }

    private static Value partition(int version) {
        Value value = new Value(3, version)
                .int32(7)
                .uuid(ID)
                .numbers(1, 2)
                .numbers(1)
                .numbers()
                .numbers();
        value.int32(1).int32(5).int32(9);
        if (version >= 1) {
            value.varint(3).uuid(ID).uuid(ID);
        }
        return value;
    }

    @Test
    void everyRecordThatCountsIsRead() {
        assertThat(KafkaRecords.decode(
                        new Value(2, 0).string("t").uuid(ID).varint(0).bytes()))
                .isEqualTo(new TopicMade("t", ID));
        assertThat(KafkaRecords.decode(new Value(9, 0).uuid(ID).varint(0).bytes()))
                .isEqualTo(new TopicRemoved(ID));
        assertThat(KafkaRecords.decode(partition(0).varint(0).bytes()))
                .isEqualTo(new PartitionMade(ID, 7, List.of(1, 2), List.of(1), 1, 5, List.of(), List.of()));
        assertThat(KafkaRecords.decode(partition(2)
                        .varint(3)
                        .tag(0, new Value().int8(1))
                        .tag(1, new Value().numbers(2))
                        .tag(2, new Value().numbers(3))
                        .bytes()))
                .isEqualTo(new PartitionMade(ID, 7, List.of(1, 2), List.of(1), 1, 5, List.of(2), List.of(3)));
        assertThat(KafkaRecords.decode(
                        new Value(5, 2).int32(7).uuid(ID).varint(0).bytes()))
                .isEqualTo(new PartitionChanged(ID, 7, null, null, KafkaRecord.SAME_LEADER, null, null));
        assertThat(KafkaRecords.decode(new Value(5, 2)
                        .int32(7)
                        .uuid(ID)
                        .varint(4)
                        .tag(0, new Value().numbers(2))
                        .tag(1, new Value().int32(-1))
                        .tag(6, new Value().numbers(1))
                        .tag(99, new Value().int64(1))
                        .bytes()))
                .isEqualTo(new PartitionChanged(ID, 7, null, List.of(2), -1, List.of(1), null));
        assertThat(KafkaRecords.decode(new Value(4, 0)
                        .int8(2)
                        .string("t")
                        .string("k")
                        .varint(0)
                        .varint(0)
                        .bytes()))
                .isEqualTo(new ConfigSet((byte) 2, "t", "k", null));
        assertThat(KafkaRecords.decode(
                        new Value(15, 0).int32(1).int64(2).int64(3000).varint(0).bytes()))
                .isEqualTo(new ProducerIdsTaken(3000));
        assertThat(KafkaRecords.decode(new Value(28, 0).string("").varint(0).bytes()))
                .isEqualTo(new EligibleCleared(""));
        assertThat(KafkaRecords.decode(new Value(0, 4).int32(1).bytes())).isEqualTo(new KafkaRecord.Foreign(0));
        assertThat(KafkaRecords.decode(new Value(200, 9).bytes())).isEqualTo(new KafkaRecord.Foreign(200));
    }

    @Test
    void aNewerVersionOfARecordThatCountsAndACutOneAreRefused() {
        assertThatThrownBy(() -> KafkaRecords.decode(new Value(3, 3).bytes()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("type 3 has version 3")
                .hasMessageContaining("a newer Kafka wrote it");
        ByteBuffer whole = partition(2).varint(1).tag(1, new Value().numbers(2)).bytes();
        for (int length = 0; length < whole.limit(); length++) {
            ByteBuffer cut = whole.slice(0, length);
            assertThatThrownBy(() -> KafkaRecords.decode(cut)).isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void leadersEpochsSetsAndConfigsFollowTheChanges() {
        KafkaMetadata metadata = new KafkaMetadata();
        List.of(
                        new ConfigSet(KafkaRecord.TOPIC_RESOURCE, "t", "retention.ms", "5"),
                        new ConfigSet(KafkaRecord.BROKER_RESOURCE, "", "log.retention.ms", "7"),
                        new ConfigSet(KafkaRecord.BROKER_RESOURCE, "1", "log.retention.ms", "8"),
                        new ConfigSet(KafkaRecord.BROKER_RESOURCE, "2", "log.retention.ms", "9"),
                        new TopicMade("t", ID),
                        new PartitionMade(ID, 0, List.of(1, 2), List.of(1, 2), 1, 4, List.of(), List.of()),
                        new PartitionChanged(ID, 0, null, List.of(1), KafkaRecord.SAME_LEADER, List.of(2), null),
                        new PartitionChanged(ID, 0, null, List.of(), -1, List.of(1), List.of()),
                        new ConfigSet(KafkaRecord.TOPIC_RESOURCE, "t", "retention.ms", null),
                        new ConfigSet(KafkaRecord.TOPIC_RESOURCE, "t", "cleanup.policy", "compact"),
                        new ProducerIdsTaken(2000),
                        new KafkaRecord.Foreign(18))
                .forEach(metadata::replay);
        SourceCatalog catalog = metadata.catalog("c", 1);
        SourceCatalog.Topic topic = catalog.topics().get("t");
        assertThat(topic.configs()).isEqualTo(Map.of("cleanup.policy", "compact"));
        assertThat(topic.partitions()).containsExactly(new SourceCatalog.Partition(5, -1, List.of(1, 2), List.of(1)));
        assertThat(catalog.brokerConfigs()).isEqualTo(Map.of("log.retention.ms", "8"));
        assertThat(catalog.nextProducerId()).isEqualTo(2000);
        assertThat(catalog.notes()).anyMatch(note -> note.contains("ACLs"));

        metadata.replay(new EligibleCleared("t"));
        metadata.replay(new PartitionChanged(ID, 0, null, null, KafkaRecord.SAME_LEADER, null, List.of(2)));
        assertThat(metadata.catalog("c", 1)
                        .topics()
                        .get("t")
                        .partitions()
                        .get(0)
                        .complete())
                .as("the last leader when nobody is in sync")
                .containsExactly(2);
    }

    @Test
    void aDeletedTopicLeavesNothingAndOneMadeAgainIsANewOne() {
        KafkaMetadata metadata = new KafkaMetadata();
        Uuid again = new Uuid(3, 4);
        metadata.replay(new TopicMade("t", ID));
        metadata.replay(new ConfigSet(KafkaRecord.TOPIC_RESOURCE, "t", "retention.ms", "5"));
        metadata.replay(new TopicRemoved(ID));
        assertThat(metadata.catalog("c", 1).topics()).isEmpty();
        metadata.replay(new TopicMade("t", again));
        assertThat(metadata.catalog("c", 1).topics().get("t").id()).isEqualTo(again);
        assertThat(metadata.catalog("c", 1).topics().get("t").configs()).isEmpty();
    }

    @Test
    void aTransactionOfMetadataCountsOnlyWhenItEnded() {
        KafkaMetadata metadata = new KafkaMetadata();
        metadata.replay(new TransactionBegun());
        metadata.replay(new TopicMade("aborted", ID));
        metadata.replay(new TransactionAborted());
        metadata.replay(new TransactionBegun());
        metadata.replay(new TopicMade("ended", new Uuid(5, 6)));
        metadata.replay(new TransactionEnded());
        metadata.replay(new TransactionBegun());
        metadata.replay(new TopicMade("open", new Uuid(7, 8)));
        assertThat(metadata.catalog("c", 1).topics()).containsOnlyKeys("ended");
    }

    @Test
    void changesOfWhatIsUnknownAreRefused() {
        KafkaMetadata metadata = new KafkaMetadata();
        PartitionChanged change = new PartitionChanged(ID, 0, null, null, 1, null, null);
        assertThatThrownBy(() -> metadata.replay(change)).isInstanceOf(IllegalArgumentException.class);
        metadata.replay(new TopicMade("t", ID));
        assertThatThrownBy(() -> metadata.replay(change)).isInstanceOf(IllegalArgumentException.class);
        metadata.replay(new PartitionMade(ID, 1, List.of(1), List.of(1), 1, 0, List.of(), List.of()));
        assertThatThrownBy(() -> metadata.catalog("c", 1)).isInstanceOf(IllegalArgumentException.class);
    }
}
