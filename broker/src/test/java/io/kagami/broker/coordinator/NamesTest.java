package io.kagami.broker.coordinator;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class NamesTest {
    @Test
    void aNameFromAClientCannotForgeALogLine() {
        assertThat(Printable.of("group-1 ü 鏡")).isEqualTo("group-1 ü 鏡");
        assertThat(Printable.of("a\nERROR\r\u001b[31m\u0000\u2028\u202e\\"))
                .isEqualTo("a\\u000aERROR\\u000d\\u001b[31m\\u0000\\u2028\\u202e\\u005c");
        assertThat(Printable.of("x".repeat(257))).isEqualTo("x".repeat(256) + "...");
    }

    /** Kafka's own choice; some hashes are negative, one has no absolute value. */
    @ParameterizedTest
    @CsvSource({"g,50,3", "console-consumer-91045,5,0", "polygenelubricants,50,0", "my-app,50,0", "'',50,0"})
    void aGroupIsOnThePartitionWhereKafkaPutsIt(String groupId, int partitions, int expected) {
        assertThat(OffsetsTopic.partitionOf(groupId, partitions)).isEqualTo(expected);
    }

    @Test
    void aTopicThatCannotBeIsRefusedWithTheKey() {
        assertThatThrownBy(() -> new OffsetsTopic(0, 100 << 20)).hasMessageContaining("offsets.topic.num.partitions");
        assertThatThrownBy(() -> new OffsetsTopic(1, 1)).hasMessageContaining("offsets.topic.segment.bytes");
    }
}
