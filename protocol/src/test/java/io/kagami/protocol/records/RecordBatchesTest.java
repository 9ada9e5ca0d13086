package io.kagami.protocol.records;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.CompressionType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.SimpleRecord;

class RecordBatchesTest {
    private static final int BUDGET = 1 << 20;

    @Property(tries = 100)
    void whatIsBuiltIsReadByKafkaAndByUs(
            @ForAll Codec codec,
            @ForAll @IntRange(min = 1, max = 50) int count,
            @ForAll @IntRange(max = 3000) int size) {
        BatchBuilder builder =
                new BatchBuilder(codec).baseOffset(77).leaderEpoch(5).producer(9, (short) 2, 40);
        for (int i = 0; i < count; i++) {
            ByteBuffer key = i % 3 == 0 ? null : bytes("k" + i);
            ByteBuffer value = i % 5 == 4 ? null : ByteBuffer.wrap(new byte[size]);
            builder.append(
                    1_000 - i, key, value, List.of(new RecordHeader("h", bytes("v")), new RecordHeader("n", null)));
        }
        ByteBuffer bytes = builder.build();

        BatchView batch = RecordBatches.of(bytes).get(0);
        assertThat(batch.valid()).isTrue();
        assertThat(batch.codec()).isEqualTo(codec);
        assertThat(batch.lastOffset()).isEqualTo(76 + count);
        assertThat(batch.leaderEpoch()).isEqualTo(5);
        assertThat(batch.maxTimestamp()).isEqualTo(1_000);
        List<RecordView> ours = batch.records(BUDGET);
        List<Record> theirs = new ArrayList<>();
        MemoryRecords.readableRecords(bytes).records().forEach(theirs::add);
        assertThat(ours).hasSize(count).hasSameSizeAs(theirs);
        for (int i = 0; i < count; i++) {
            assertThat(ours.get(i).offset()).isEqualTo(theirs.get(i).offset());
            assertThat(ours.get(i).timestamp()).isEqualTo(theirs.get(i).timestamp());
            assertThat(ours.get(i).key()).isEqualTo(theirs.get(i).key());
            assertThat(ours.get(i).value()).isEqualTo(theirs.get(i).value());
            assertThat(ours.get(i).headers()).hasSize(2);
            assertThat(ours.get(i).headers().get(1).value()).isNull();
        }
    }

    @Property(tries = 60)
    void oldFormatsAreReadAsKafkaReadsThem(@ForAll boolean timed, @ForAll boolean appendTime, @ForAll Codec codec) {
        if (codec == Codec.ZSTD || (appendTime && !timed)) {
            return;
        }
        ByteBuffer bytes = MemoryRecords.withRecords(
                        (byte) (timed ? 1 : 0),
                        30L,
                        Compression.of(CompressionType.forId(codec.id())).build(),
                        appendTime ? TimestampType.LOG_APPEND_TIME : TimestampType.CREATE_TIME,
                        record(timed, "a", "x"),
                        record(timed, null, "y"),
                        record(timed, "c", null))
                .buffer();
        List<RecordView> ours = new ArrayList<>();
        RecordBatches.forEachRecord(bytes, BUDGET, ours::add);
        List<Record> theirs = new ArrayList<>();
        MemoryRecords.readableRecords(bytes).records().forEach(theirs::add);
        assertThat(ours).hasSize(3);
        for (int i = 0; i < 3; i++) {
            assertThat(ours.get(i).offset()).isEqualTo(theirs.get(i).offset()).isEqualTo(30 + i);
            assertThat(ours.get(i).timestamp()).isEqualTo(theirs.get(i).timestamp());
            assertThat(ours.get(i).key()).isEqualTo(theirs.get(i).key());
            assertThat(ours.get(i).value()).isEqualTo(theirs.get(i).value());
        }
    }

    private static SimpleRecord record(boolean timed, String key, String value) {
        return new SimpleRecord(timed ? 1234 : -1, bytes(key), bytes(value));
    }

    @Property(tries = 20)
    void aBombStopsAtItsBudget(@ForAll Codec codec) {
        ByteBuffer bytes =
                new BatchBuilder(codec).append(0, null, new byte[8 << 20]).build();
        BatchView batch = RecordBatches.of(bytes).get(0);
        if (codec == Codec.NONE) {
            assertThat(batch.records(0)).hasSize(1);
        } else {
            assertThatThrownBy(() -> batch.records(BUDGET))
                    .isInstanceOf(MalformedRecords.class)
                    .hasMessageContaining("inflates to more than " + BUDGET);
        }
    }

    @Property(tries = 3_000)
    void noGarbageEscapesAsAnotherException(
            @ForAll Codec codec, @ForAll @IntRange(max = 200) int at, @ForAll byte garbage) {
        BatchBuilder builder = new BatchBuilder(codec);
        for (int i = 0; i < 5; i++) {
            builder.append(
                    i,
                    ByteBuffer.wrap(new byte[3]),
                    ByteBuffer.wrap(new byte[20]),
                    List.of(new RecordHeader("a", null)));
        }
        ByteBuffer bytes = builder.build();
        bytes.put(Math.min(at, bytes.limit() - 1), garbage);
        try {
            RecordBatches.forEachRecord(bytes, BUDGET, record -> {});
        } catch (MalformedRecords e) {
            assertThat(e).hasMessageMatching("(?s).+");
        }
    }

    @Example
    void aCutOffBatchIsLeftOut() {
        ByteBuffer first =
                new BatchBuilder(Codec.NONE).append(0, null, new byte[10]).build();
        ByteBuffer both = ByteBuffer.allocate(2 * first.remaining() - 1);
        both.put(first.duplicate()).put(first.slice(0, first.remaining() - 1)).flip();
        assertThat(RecordBatches.of(both)).hasSize(1);
    }

    @Example
    void anAbortMarkerIsAControlRecordOfItsProducer() {
        ByteBuffer marker = BatchBuilder.endTxnMarker(40, 1, 3, 1234, (short) 7, false, 2);
        BatchView batch = RecordBatches.of(marker).get(0);
        assertThat(batch.valid()).isTrue();
        assertThat(batch.control()).isTrue();
        assertThat(batch.transactional()).isTrue();
        assertThat(batch.producerId()).isEqualTo(1234);
        assertThat(batch.records(0).get(0).controlType()).isEqualTo(RecordView.ABORT);
    }

    @Example
    void aControlRecordOfATypeNobodyKnowsCanBeBuilt() {
        byte[] key = {0, 0, 0x27, 0x10};
        ByteBuffer bytes = new BatchBuilder(Codec.NONE)
                .control()
                .append(5, key, new byte[2])
                .build();
        BatchView batch = RecordBatches.of(bytes).get(0);
        assertThat(batch.control()).isTrue();
        assertThat(batch.producerId()).isEqualTo(-1);
        assertThat(batch.records(0).get(0).controlType()).isEqualTo((short) 10_000);
    }

    @Example
    void kafka15653_batchesInflatedByManyThreadsAtOnceDoNotMix() {
        List<ByteBuffer> batches = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            BatchBuilder builder = new BatchBuilder(Codec.of(1 + i % 4));
            for (int record = 0; record < 50; record++) {
                builder.append(5, bytes("batch " + i), bytes("value " + i + " " + record), List.of());
            }
            batches.add(builder.build());
        }
        boolean whole = IntStream.range(0, 2_000).parallel().allMatch(n -> {
            String mine = "batch " + n % batches.size();
            List<RecordView> records =
                    RecordBatches.of(batches.get(n % batches.size())).get(0).records(BUDGET);
            return records.size() == 50
                    && records.stream().allMatch(record -> record.key().equals(bytes(mine)));
        });
        assertThat(whole).isTrue();
    }

    private static ByteBuffer bytes(String text) {
        return text == null ? null : ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }
}
