package io.kagami.broker.core.group;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.broker.core.group.GroupRecord.Commit;
import io.kagami.broker.core.group.GroupRecord.Generation;
import io.kagami.broker.core.group.GroupRecord.Metadata;
import io.kagami.broker.core.group.GroupRecord.Offset;
import io.kagami.broker.core.group.GroupRecord.StoredMember;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.LongRange;
import net.jqwik.api.constraints.StringLength;
import org.junit.jupiter.api.Test;

class GroupRecordsTest {
    private static GroupRecord roundTrip(GroupRecord record) {
        byte[] value = GroupRecords.value(record);
        return GroupRecords.decode(
                        ByteBuffer.wrap(GroupRecords.key(record)), value == null ? null : ByteBuffer.wrap(value))
                .orElseThrow();
    }

    @Property(tries = 300)
    void anOffsetSurvivesTheLog(
            @ForAll @StringLength(max = 300) String group,
            @ForAll @StringLength(max = 249) String topic,
            @ForAll @IntRange(min = 0) int partition,
            @ForAll long offset,
            @ForAll @IntRange(min = -1) int epoch,
            @ForAll @LongRange(min = 0) long time) {
        Offset record =
                new Offset(utf8(group), utf8(topic), partition, new Commit(offset, epoch, utf8(topic), time, -1));
        assertThat(roundTrip(record)).isEqualTo(record);
    }

    /** What is left of a string on the wire: lone surrogates do not exist there. */
    private static String utf8(String text) {
        return new String(
                text.getBytes(java.nio.charset.StandardCharsets.UTF_8), java.nio.charset.StandardCharsets.UTF_8);
    }

    @Property(tries = 200)
    void aGroupSurvivesTheLog(@ForAll long seed, @ForAll @IntRange(max = 20) int members) {
        Random random = new Random(seed);
        List<StoredMember> list = random.ints(members)
                .mapToObj(i -> new StoredMember(
                        "m" + i,
                        i % 2 == 0 ? null : "i" + i,
                        "client",
                        "/host",
                        1 + (i >>> 2),
                        7,
                        bytes(random),
                        bytes(random)))
                .toList();
        Metadata record =
                new Metadata("g", new Generation("consumer", 3, members == 0 ? null : "range", null, 99, list));
        GroupRecord back = roundTrip(record);
        assertThat(GroupRecords.value(back)).isEqualTo(GroupRecords.value(record));
        assertThat(((Metadata) back).value().members()).hasSize(members);
    }

    private static byte[] bytes(Random random) {
        byte[] bytes = new byte[random.nextInt(50)];
        random.nextBytes(bytes);
        return bytes;
    }

    @Test
    void theBytesAreThoseOfKafka() {
        Offset offset = new Offset("g", "t", 5, new Commit(42, 7, "m", 1_000, -1));
        assertThat(HexFormat.of().formatHex(GroupRecords.key(offset)))
                .isEqualTo("0001" + "000167" + "000174" + "00000005");
        assertThat(HexFormat.of().formatHex(GroupRecords.value(offset)))
                .isEqualTo("0003" + "000000000000002a" + "00000007" + "00016d" + "00000000000003e8");
        Metadata group = new Metadata("g", new Generation("c", 2, null, null, 1_000, List.of()));
        assertThat(HexFormat.of().formatHex(GroupRecords.key(group))).isEqualTo("0002" + "000167");
        assertThat(HexFormat.of().formatHex(GroupRecords.value(group)))
                .isEqualTo("0003" + "000163" + "00000002" + "ffff" + "ffff" + "00000000000003e8" + "00000000");
    }

    @Test
    void tombstonesHaveNoValue() {
        for (GroupRecord record : List.of(new Offset("g", "t", 0, null), new Metadata("g", null))) {
            assertThat(GroupRecords.value(record)).isNull();
            assertThat(roundTrip(record)).isEqualTo(record);
        }
    }

    @Test
    void olderAndNewerValuesAreRead() {
        ByteBuffer key = ByteBuffer.wrap(HexFormat.of().parseHex("0000" + "000167" + "000174" + "00000005"));
        String offset = "000000000000002a";
        String time = "00000000000003e8";
        assertThat(GroupRecords.decode(key, hex("0000" + offset + "00016d" + time)))
                .contains(new Offset("g", "t", 5, new Commit(42, -1, "m", 1_000, -1)));
        assertThat(GroupRecords.decode(key, hex("0001" + offset + "00016d" + time + "00000000000003e9")))
                .contains(new Offset("g", "t", 5, new Commit(42, -1, "m", 1_000, 1_001)));
        // flexible, with the topic id as tag 0
        assertThat(GroupRecords.decode(
                        key, hex("0004" + offset + "00000007" + "026d" + time + "01" + "0010" + "00".repeat(16))))
                .contains(new Offset("g", "t", 5, new Commit(42, 7, "m", 1_000, -1)));
        Metadata flexible = (Metadata) GroupRecords.decode(
                        hex("0002" + "000167"),
                        hex("0004" + "0263" + "00000002" + "0272" + "026d" + time + "02" + "026d" + "00" + "0263"
                                + "0268" + "0000000a" + "0000000b" + "0201" + "0202" + "00" + "00"))
                .orElseThrow();
        assertThat(flexible.value().members().get(0).assignment()).containsExactly(2);
        assertThat(flexible.value().members().get(0).instanceId()).isNull();
    }

    private static ByteBuffer hex(String text) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(text));
    }

    @Test
    void keysOfNewerGroupKindsArePassedOver() {
        assertThat(GroupRecords.decode(hex("0003" + "000167"), hex("0000"))).isEmpty();
    }

    @Test
    void unknownValueVersionsAreNamed() {
        assertThatThrownBy(() -> GroupRecords.decode(hex("0002" + "000167"), hex("0005")))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("version 5");
    }

    @Property(tries = 2_000)
    void brokenBytesGiveAnErrorAndNothingElse(@ForAll long seed) {
        Random random = new Random(seed);
        Metadata group = new Metadata(
                "g",
                new Generation(
                        "consumer",
                        3,
                        "range",
                        "m",
                        99,
                        List.of(new StoredMember("m", null, "c", "/h", 1, 2, new byte[9], new byte[9]))));
        byte[] value = GroupRecords.value(group);
        byte[] broken = Arrays.copyOf(value, random.nextInt(value.length));
        for (int i = 0; i < 3 && broken.length > 2; i++) {
            broken[2 + random.nextInt(broken.length - 2)] = (byte) random.nextInt();
        }
        try {
            GroupRecords.decode(hex("0002" + "000167"), ByteBuffer.wrap(broken));
        } catch (IllegalArgumentException expected) {
            assertThat(expected.getMessage()).isNotBlank();
        }
    }
}
