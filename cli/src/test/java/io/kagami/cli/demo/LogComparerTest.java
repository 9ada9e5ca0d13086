package io.kagami.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.cli.demo.LogComparer.Compared;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

class LogComparerTest {
    private static final int WHOLE = 1 << 20;

    @Test
    void equalLogsAreIdenticalHoweverTheAnswersAreCut() {
        List<ByteBuffer> batches = List.of(batch(0, 3, "a"), batch(3, 1, "b"), batch(10, 5, "c"));
        long bytes = batches.stream().mapToLong(ByteBuffer::remaining).sum();
        for (int cut : new int[] {1, 80, 100, 150, 200}) {
            assertThat(compare(new FakeLogs(0, 15, WHOLE, batches), new FakeLogs(0, 15, cut, batches)))
                    .isEqualTo(new Compared("t", 0, 0, 15, 3, 9, bytes, null));
        }
    }

    @Test
    void aLogMayStartInsideABatch() {
        List<ByteBuffer> batches = List.of(batch(0, 10, "a"), batch(10, 5, "b"));
        assertThat(compare(new FakeLogs(4, 15, WHOLE, batches), new FakeLogs(4, 15, WHOLE, batches)))
                .satisfies(c -> assertThat(c.identical()).isTrue())
                .satisfies(c -> assertThat(c.batches()).isEqualTo(2));
    }

    @Test
    void everyByteCounts() {
        List<ByteBuffer> batches = List.of(batch(0, 3, "a"), batch(3, 2, "b"));
        ByteBuffer second = batches.get(1);
        for (int at = 12; at < second.remaining(); at++) {
            if (at >= 16 && at < 27) {
                continue; // magic, checksum, attributes and offset delta change how much is read; equality is tested
                // all the same
            }
            ByteBuffer changed = copy(second);
            changed.put(at, (byte) (changed.get(at) ^ 1));
            Compared compared = compare(
                    new FakeLogs(0, 5, WHOLE, batches), new FakeLogs(0, 5, WHOLE, List.of(batches.get(0), changed)));
            assertThat(compared.difference()).as("byte %d", at).contains("offset 3", "from byte " + at);
            assertThat(compared.batches()).isEqualTo(1);
        }
    }

    @Test
    void missingAndExtraBatchesAreFound() {
        List<ByteBuffer> all = List.of(batch(0, 3, "a"), batch(3, 2, "b"), batch(5, 1, "c"));
        List<ByteBuffer> hole = new ArrayList<>(all);
        hole.remove(1);
        assertThat(compare(new FakeLogs(0, 6, WHOLE, all), new FakeLogs(0, 6, WHOLE, hole))
                        .difference())
                .contains("the source has a batch at 3, the mirror at 5");
        assertThat(compare(new FakeLogs(0, 6, WHOLE, all), new FakeLogs(0, 6, WHOLE, all.subList(0, 2)))
                        .difference())
                .contains("only the source has a batch at offset 5");
        assertThat(compare(new FakeLogs(0, 6, WHOLE, all.subList(0, 2)), new FakeLogs(0, 6, WHOLE, all))
                        .difference())
                .contains("only the mirror has a batch at offset 5");
    }

    @Test
    void startsAndEndsMustBeEqual() {
        List<ByteBuffer> batches = List.of(batch(0, 3, "a"));
        assertThat(compare(new FakeLogs(0, 3, WHOLE, batches), new FakeLogs(1, 3, WHOLE, batches))
                        .difference())
                .isEqualTo("the logs start at 0 and 1");
        assertThat(compare(new FakeLogs(0, 3, WHOLE, batches), new FakeLogs(0, 2, WHOLE, batches))
                        .difference())
                .isEqualTo("the logs end at 3 and 2");
    }

    @Test
    void aSourceInUseIsComparedUpToTheEndItHad() {
        List<ByteBuffer> before = List.of(batch(0, 3, "a"), batch(3, 2, "b"));
        List<ByteBuffer> after = List.of(batch(0, 3, "a"), batch(3, 2, "b"), batch(5, 1, "c"));
        List<Compared> results = LogComparer.compare(
                new FakeLogs(0, 5, WHOLE, before), new FakeLogs(0, 6, WHOLE, after), List.of("t"), true, c -> {});
        assertThat(results).singleElement().satisfies(c -> assertThat(c.identical())
                .isTrue());
        results = LogComparer.compare(
                new FakeLogs(0, 6, WHOLE, after), new FakeLogs(0, 5, WHOLE, before), List.of("t"), true, c -> {});
        assertThat(results).singleElement().satisfies(c -> assertThat(c.difference())
                .contains("end at 6 and 5"));
    }

    @Test
    void aTopicThatIsNotThereIsADifference() {
        FakeLogs logs = new FakeLogs(0, 0, WHOLE, List.of());
        assertThat(LogComparer.compare(logs, logs, List.of("other")))
                .singleElement()
                .satisfies(c -> assertThat(c.difference()).isEqualTo("the source has no such topic"));
    }

    private static Compared compare(FakeLogs a, FakeLogs b) {
        return LogComparer.compare(a, b, List.of("t")).get(0);
    }

    private static ByteBuffer batch(long baseOffset, int records, String value) {
        BatchBuilder builder =
                new BatchBuilder(Codec.NONE).baseOffset(baseOffset).leaderEpoch(3);
        for (int i = 0; i < records; i++) {
            builder.append(1_000 + i, null, value.getBytes(StandardCharsets.UTF_8));
        }
        return copy(builder.build());
    }

    private static ByteBuffer copy(ByteBuffer bytes) {
        return ByteBuffer.allocate(bytes.remaining()).put(bytes.duplicate()).flip();
    }
}
