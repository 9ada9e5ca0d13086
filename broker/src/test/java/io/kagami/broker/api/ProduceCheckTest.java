package io.kagami.broker.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.broker.api.ProduceCheck.Verdict;
import io.kagami.broker.partition.TopicRules;
import io.kagami.log.core.BatchHeader;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.BatchView;
import io.kagami.protocol.records.Codec;
import io.kagami.protocol.records.RecordBatches;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.function.Consumer;
import java.util.stream.Stream;
import java.util.zip.CRC32C;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

class ProduceCheckTest {
    private static final long NOW = 1_700_000_000_000L;
    private static final short V9 = 9;
    private static final int BUDGET = 1 << 20;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static ByteBuffer batch(Codec codec, int records) {
        BatchBuilder builder = new BatchBuilder(codec);
        for (int i = 0; i < records; i++) {
            builder.append(NOW - 10 + i, bytes("key" + i), bytes("value" + i));
        }
        return copy(builder.build());
    }

    private static ByteBuffer copy(ByteBuffer built) {
        ByteBuffer copy = ByteBuffer.allocate(built.remaining());
        return copy.put(built.duplicate()).flip();
    }

    private static Verdict check(ByteBuffer batch, TopicRules rules, int version) {
        return new ProduceCheck(rules, BUDGET, NOW).check(batch, (short) version);
    }

    private static TopicRules rules(String key, String value) {
        return TopicRules.of(Map.of(key, value), Map.of());
    }

    private static ByteBuffer sealed(ByteBuffer batch) {
        CRC32C crc = new CRC32C();
        crc.update(batch.slice(21, batch.limit() - 21));
        return batch.putInt(17, (int) crc.getValue());
    }

    @ParameterizedTest
    @EnumSource(Codec.class)
    void aGoodBatchIsTakenAsItIs(Codec codec) {
        ByteBuffer batch = batch(codec, 5);
        ByteBuffer before = copy(batch);
        assertThat(check(batch, TopicRules.DEFAULT, V9).error()).isEqualTo(Errors.NONE);
        assertThat(batch).isEqualTo(before);
        assertThat(batch.position()).isZero();
    }

    static Stream<Arguments> faults() {
        return Stream.of(
                fault("too short", Errors.CORRUPT_MESSAGE, b -> b.limit(10)),
                fault("cut", Errors.CORRUPT_MESSAGE, b -> b.limit(b.limit() - 1)),
                fault("length below the header", Errors.CORRUPT_MESSAGE, b -> b.putInt(8, 20)),
                fault("negative length", Errors.CORRUPT_MESSAGE, b -> b.putInt(8, -5)),
                fault("length above the data", Errors.CORRUPT_MESSAGE, b -> b.putInt(8, Integer.MAX_VALUE)),
                fault("format 1", Errors.INVALID_RECORD, b -> b.put(16, (byte) 1)),
                fault("format 3", Errors.INVALID_RECORD, b -> b.put(16, (byte) 3)),
                fault("flipped bit", Errors.CORRUPT_MESSAGE, b -> b.put(70, (byte) (b.get(70) ^ 1))),
                fault("base offset", Errors.INVALID_RECORD, b -> b.putLong(0, 7)),
                fault("codec 5", Errors.UNSUPPORTED_COMPRESSION_TYPE, b -> sealed(b.putShort(21, (short) 5))),
                fault("control", Errors.INVALID_RECORD, b -> sealed(b.putShort(21, (short) 0x20))),
                fault(
                        "transaction",
                        Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                        b -> sealed(b.putShort(21, (short) 0x10))),
                fault("append time under CreateTime", Errors.NONE, b -> sealed(b.putShort(21, (short) 0x08))),
                fault("no record", Errors.INVALID_RECORD, b -> sealed(b.putInt(57, 0))),
                fault("negative count", Errors.INVALID_RECORD, b -> sealed(b.putInt(57, -1))),
                fault("last offset delta", Errors.INVALID_RECORD, b -> sealed(b.putInt(23, 9))),
                fault("sequence without producer, as kafkajs sends", Errors.NONE, b -> sealed(b.putInt(53, 0))),
                fault("producer without sequence", Errors.INVALID_RECORD, b -> sealed(b.putLong(43, 1))),
                fault("largest base time", Errors.INVALID_TIMESTAMP, b -> sealed(b.putLong(27, Long.MAX_VALUE))),
                fault("record length", Errors.INVALID_RECORD, b -> sealed(b.put(61, (byte) 0x7e))));
    }

    private static Arguments fault(String name, Errors error, Consumer<ByteBuffer> damage) {
        return Arguments.of(name, error, damage);
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("faults")
    void kafka8722_aDamagedBatchHasItsOwnCode(String name, Errors error, Consumer<ByteBuffer> damage) {
        ByteBuffer batch = batch(Codec.NONE, 3);
        damage.accept(batch);
        Verdict verdict = check(batch, TopicRules.DEFAULT, V9);
        assertThat(verdict.error()).as(verdict.message()).isEqualTo(error);
    }

    /** Answers of Apache Kafka 4.4. */
    @Test
    void theAppendTimeBitIsClearedUnderCreateTimeAndRefusedElse() {
        ByteBuffer marked = sealed(batch(Codec.NONE, 3).putShort(21, (short) 0x08));
        Verdict verdict = check(marked, TopicRules.DEFAULT, V9);
        assertThat(verdict.error()).as(verdict.message()).isEqualTo(Errors.NONE);
        assertThat(BatchHeader.logAppendTime(verdict.batch(), 0)).isFalse();
        assertThat(BatchHeader.crcValid(verdict.batch(), 0)).isTrue();
        assertThat(BatchHeader.maxTimestamp(verdict.batch(), 0)).isEqualTo(NOW - 8);
        ByteBuffer again = sealed(batch(Codec.NONE, 3).putShort(21, (short) 0x08));
        assertThat(check(again, rules("message.timestamp.type", "LogAppendTime"), V9)
                        .error())
                .isEqualTo(Errors.INVALID_TIMESTAMP);
        ByteBuffer timeless = sealed(again.putLong(35, -1));
        assertThat(check(timeless, TopicRules.DEFAULT, V9).error()).isEqualTo(Errors.INVALID_TIMESTAMP);
    }

    @Test
    void aTimeBefore1970IsTakenUnlessItIsTooOld() {
        ByteBuffer batch = sealed(batch(Codec.NONE, 1).putLong(27, -5));
        assertThat(check(batch, TopicRules.DEFAULT, V9).error()).isEqualTo(Errors.NONE);
        assertThat(check(batch, rules("message.timestamp.before.max.ms", "" + NOW), V9)
                        .error())
                .isEqualTo(Errors.INVALID_TIMESTAMP);
        assertThat(check(batch, rules("message.timestamp.before.max.ms", "" + (NOW + 5)), V9)
                        .error())
                .isEqualTo(Errors.NONE);
    }

    @ParameterizedTest
    @EnumSource(Codec.class)
    void aRecordMayNotInflateBeyondTheTopicsLimitAndAPlainOneMay(Codec codec) {
        ByteBuffer batch = copy(new BatchBuilder(codec)
                .append(NOW, null, bytes("small"))
                .append(NOW, null, new byte[1000])
                .build());
        int body = 1 + 1 + 1 + 1 + 2 + 1000
                + 1; // attributes, time, offset, no key, length of the value, value, no headers
        assertThat(check(batch, rules("max.decompressed.message.bytes", "" + body), V9)
                        .error())
                .isEqualTo(Errors.NONE);
        Verdict verdict = check(batch, rules("max.decompressed.message.bytes", "" + (body - 1)), V9);
        assertThat(verdict.error()).isEqualTo(codec == Codec.NONE ? Errors.NONE : Errors.INVALID_RECORD);
        if (codec != Codec.NONE) {
            assertThat(verdict.message()).contains(body + " bytes before compression", "at most " + (body - 1));
        }
    }

    @Test
    void nothingAndTwoBatchesAreRefused() {
        assertThat(check(ByteBuffer.allocate(0), TopicRules.DEFAULT, V9).error())
                .isEqualTo(Errors.INVALID_RECORD);
        ByteBuffer one = batch(Codec.NONE, 1);
        ByteBuffer two = ByteBuffer.allocate(2 * one.limit())
                .put(one.duplicate())
                .put(one.duplicate())
                .flip();
        assertThat(check(two, TopicRules.DEFAULT, V9).error()).isEqualTo(Errors.INVALID_RECORD);
    }

    @Test
    void zstdNeedsVersion7() {
        assertThat(check(batch(Codec.ZSTD, 1), TopicRules.DEFAULT, 6).error())
                .isEqualTo(Errors.UNSUPPORTED_COMPRESSION_TYPE);
        assertThat(check(batch(Codec.ZSTD, 1), TopicRules.DEFAULT, 7).ok()).isTrue();
    }

    @Test
    void theSizeLimitIsOfTheTopicAndExact() {
        ByteBuffer batch = batch(Codec.NONE, 1);
        assertThat(check(batch, rules("max.message.bytes", "" + (batch.limit() - 1)), V9)
                        .error())
                .isEqualTo(Errors.MESSAGE_TOO_LARGE);
        assertThat(check(batch, rules("max.message.bytes", "" + batch.limit()), V9)
                        .ok())
                .isTrue();
    }

    @Test
    void aTimeFarInTheFutureNamesTheRecord() {
        ByteBuffer batch = copy(new BatchBuilder(Codec.NONE)
                .append(NOW, null, bytes("good"))
                .append(NOW + 7L * 24 * 3_600_000, null, bytes("late"))
                .build());
        Verdict verdict = check(batch, TopicRules.DEFAULT, V9);
        assertThat(verdict.error()).isEqualTo(Errors.INVALID_TIMESTAMP);
        assertThat(verdict.records()).extracting(each -> each.index()).containsExactly(1);
    }

    @Test
    void aCompactedTopicNeedsKeys() {
        ByteBuffer batch = copy(new BatchBuilder(Codec.LZ4)
                .append(NOW, bytes("k"), null)
                .append(NOW, null, bytes("v"))
                .build());
        Verdict verdict = check(batch, rules("cleanup.policy", "compact"), V9);
        assertThat(verdict.error()).isEqualTo(Errors.INVALID_RECORD);
        assertThat(verdict.records()).extracting(each -> each.index()).containsExactly(1);
        assertThat(check(batch, TopicRules.DEFAULT, V9).ok()).isTrue();
    }

    @Test
    void aTopicWithAppendTimeStampsTheBatchAndKeepsItValid() {
        ByteBuffer batch = batch(Codec.GZIP, 3);
        Verdict verdict = check(batch, rules("message.timestamp.type", "LogAppendTime"), V9);
        assertThat(verdict.ok()).isTrue();
        assertThat(verdict.appendTimeMs()).isEqualTo(NOW);
        assertThat(BatchHeader.crcValid(batch, 0)).isTrue();
        assertThat(RecordBatches.of(batch).get(0).records(BUDGET))
                .extracting(each -> each.timestamp())
                .containsOnly(NOW);
    }

    @Test
    void aWrongLargestTimeIsCorrected() {
        ByteBuffer batch = batch(Codec.NONE, 3);
        sealed(batch.putLong(35, NOW - 10));
        assertThat(check(batch, TopicRules.DEFAULT, V9).ok()).isTrue();
        assertThat(BatchHeader.maxTimestamp(batch, 0)).isEqualTo(NOW - 8);
        assertThat(BatchHeader.crcValid(batch, 0)).isTrue();
    }

    @ParameterizedTest
    @EnumSource(
            value = Codec.class,
            names = {"GZIP", "SNAPPY", "LZ4", "ZSTD"})
    void recordsThatInflateBeyondTheBudgetAreRefused(Codec codec) {
        ByteBuffer bomb = copy(
                new BatchBuilder(codec).append(NOW, null, new byte[4 * BUDGET]).build());
        assertThat(check(bomb, TopicRules.DEFAULT, V9).error()).isEqualTo(Errors.INVALID_RECORD);
    }

    @Property(tries = 2000)
    void noDamageThrows(@ForAll long seed, @ForAll @IntRange(min = 1, max = 8) int flips) {
        Random random = new Random(seed);
        List<Codec> codecs = List.of(Codec.values());
        ByteBuffer batch = batch(codecs.get(random.nextInt(codecs.size())), 4);
        for (int i = 0; i < flips; i++) {
            batch.put(random.nextInt(batch.limit()), (byte) random.nextInt());
        }
        if (batch.getInt(8) == batch.limit() - 12) {
            sealed(batch);
        }
        assertThat(check(batch, TopicRules.DEFAULT, 1 + random.nextInt(13)).error())
                .isNotNull();
        assertThat(List.of(batch.position(), batch.limit())).containsExactly(0, batch.limit());
    }

    @ParameterizedTest
    @EnumSource(Codec.class)
    void aBatchIsCompressedAsTheTopicDemandsAndOnlyThen(Codec sent) {
        for (Codec wanted : Codec.values()) {
            String name = wanted == Codec.NONE ? "uncompressed" : wanted.name().toLowerCase(Locale.ROOT);
            ByteBuffer batch = copy(new BatchBuilder(sent)
                    .producer(5, (short) 2, 70)
                    .append(NOW - 3, bytes("k"), null)
                    .append(NOW - 1, bytes("k2"), bytes("v"))
                    .build());
            Verdict verdict = check(batch, rules("compression.type", name), V9);
            assertThat(verdict.error()).as(verdict.message()).isEqualTo(Errors.NONE);
            if (sent == wanted) {
                assertThat(verdict.batch()).isSameAs(batch);
                continue;
            }
            BatchView built = RecordBatches.of(verdict.batch()).get(0);
            assertThat(built.valid()).isTrue();
            assertThat(built.codec()).isEqualTo(wanted);
            assertThat(built.producerId()).isEqualTo(5);
            assertThat(built.producerEpoch()).isEqualTo((short) 2);
            assertThat(built.baseSequence()).isEqualTo(70);
            assertThat(built.maxTimestamp()).isEqualTo(NOW - 1);
            assertThat(built.records(BUDGET))
                    .isEqualTo(RecordBatches.of(batch).get(0).records(BUDGET));
        }
    }

    @Test
    void aRecompressedBatchGetsTheBrokersTimeAndMustStillBeSmallEnough() {
        TopicRules stamped =
                TopicRules.of(Map.of("compression.type", "zstd", "message.timestamp.type", "LogAppendTime"), Map.of());
        Verdict verdict = check(batch(Codec.GZIP, 4), stamped, V9);
        BatchView built = RecordBatches.of(verdict.batch()).get(0);
        assertThat(verdict.appendTimeMs()).isEqualTo(NOW);
        assertThat(built.valid()).isTrue();
        assertThat(built.logAppendTime()).isTrue();
        assertThat(built.maxTimestamp()).isEqualTo(NOW);
        assertThat(built.records(BUDGET)).allMatch(record -> record.timestamp() == NOW);

        BatchBuilder zeros = new BatchBuilder(Codec.ZSTD).append(NOW, bytes("k"), new byte[5_000]);
        TopicRules plain =
                TopicRules.of(Map.of("compression.type", "uncompressed", "max.message.bytes", "2000"), Map.of());
        assertThat(check(copy(zeros.build()), plain, V9).error()).isEqualTo(Errors.MESSAGE_TOO_LARGE);
    }

    @Test
    void theLevelOfTheTopicIsUsed() {
        Random random = new Random(3);
        BatchBuilder builder = new BatchBuilder(Codec.NONE);
        for (int i = 0; i < 500; i++) {
            builder.append(NOW, bytes("key" + random.nextInt(50)), bytes("value " + random.nextInt(9_000)));
        }
        ByteBuffer batch = copy(builder.build());
        int[] sizes = new int[2];
        for (int i = 0; i < 2; i++) {
            TopicRules rules = TopicRules.of(
                    Map.of("compression.type", "gzip", "compression.gzip.level", i == 0 ? "1" : "9"), Map.of());
            sizes[i] = check(copy(batch), rules, V9).batch().remaining();
        }
        assertThat(sizes[1]).isLessThan(sizes[0]);
    }
}
