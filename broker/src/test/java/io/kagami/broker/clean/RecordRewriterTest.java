package io.kagami.broker.clean;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.clean.BatchRewriter.Unreadable;
import io.kagami.log.core.BatchHeader;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.BatchView;
import io.kagami.protocol.records.Codec;
import io.kagami.protocol.records.RecordBatches;
import io.kagami.protocol.records.RecordHeader;
import io.kagami.protocol.records.RecordView;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class RecordRewriterTest {
    private static final int RECORDS = 10;

    private final RecordRewriter rewriter = new RecordRewriter(1 << 20);

    private static ByteBuffer batch(Codec codec, boolean tombstone) {
        BatchBuilder builder = new BatchBuilder(codec)
                .baseOffset(100)
                .leaderEpoch(7)
                .producer(9, (short) 3, 40)
                .transactional();
        for (int i = 0; i < RECORDS; i++) {
            ByteBuffer value = tombstone && i == 4 ? null : bytes("value " + i);
            List<RecordHeader> headers = List.of(new RecordHeader("h", bytes("" + i)), new RecordHeader("n", null));
            builder.append(5_000 + i, bytes("key" + i), value, headers);
        }
        return builder.build();
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    private static BitSet kept(int... indexes) {
        BitSet kept = new BitSet();
        for (int index : indexes) {
            kept.set(index);
        }
        return kept;
    }

    @ParameterizedTest
    @EnumSource(Codec.class)
    void whatIsKeptOfABatchIsAsItWas(Codec codec) throws Unreadable {
        ByteBuffer original = batch(codec, true);
        List<String> seen = new ArrayList<>();
        rewriter.read(
                original,
                (offset, key, hasValue) ->
                        seen.add(offset + StandardCharsets.UTF_8.decode(key).toString() + hasValue));
        assertThat(seen).hasSize(RECORDS).contains("103key3true", "104key4false");

        ByteBuffer rewritten = rewriter.rewrite(original, kept(2, 4, 7), 123_456);
        assertThat(BatchHeader.crcValid(rewritten, 0)).isTrue();
        assertThat(BatchHeader.baseOffset(rewritten, 0)).isEqualTo(100);
        assertThat(BatchHeader.lastOffset(rewritten, 0)).isEqualTo(109);
        assertThat(BatchHeader.leaderEpoch(rewritten, 0)).isEqualTo(7);
        assertThat(BatchHeader.producerId(rewritten, 0)).isEqualTo(9);
        assertThat(BatchHeader.producerEpoch(rewritten, 0)).isEqualTo((short) 3);
        assertThat(BatchHeader.baseSequence(rewritten, 0)).isEqualTo(40);
        assertThat(BatchHeader.transactional(rewritten, 0)).isTrue();
        assertThat(BatchHeader.compression(rewritten, 0)).isEqualTo(codec.id());
        assertThat(BatchHeader.recordCount(rewritten, 0)).isEqualTo(3);
        assertThat(BatchHeader.deleteHorizonMs(rewritten, 0)).isEqualTo(123_456);
        assertThat(BatchHeader.maxTimestamp(rewritten, 0)).isEqualTo(5_007);
        assertThat(views(rewritten))
                .isEqualTo(List.of(
                        views(original).get(2),
                        views(original).get(4),
                        views(original).get(7)));
        assertThat(original.position()).isZero();

        ByteBuffer again = rewriter.rewrite(rewritten, kept(0, 1), 999_999);
        assertThat(BatchHeader.deleteHorizonMs(again, 0))
                .as("stays as it was first")
                .isEqualTo(123_456);
        assertThat(views(again)).isEqualTo(views(rewritten).subList(0, 2));
    }

    private static List<String> views(ByteBuffer batch) {
        BatchView view = RecordBatches.of(batch).get(0);
        List<String> texts = new ArrayList<>();
        for (RecordView each : view.records(1 << 20)) {
            texts.add(each.offset() + " " + each.timestamp() + " " + StandardCharsets.UTF_8.decode(each.key()) + " "
                    + (each.value() == null ? null : StandardCharsets.UTF_8.decode(each.value())) + " "
                    + each.headers().size());
        }
        return texts;
    }

    @Test
    void aMarkerGetsItsHorizon() throws Unreadable {
        ByteBuffer marker = BatchBuilder.endTxnMarker(5, 1_000, 2, 9, (short) 1, true, 4);
        ByteBuffer rewritten = rewriter.rewrite(marker, kept(0), 77_000);
        assertThat(BatchHeader.control(rewritten, 0)).isTrue();
        assertThat(BatchHeader.deleteHorizonMs(rewritten, 0)).isEqualTo(77_000);
        assertThat(BatchHeader.crcValid(rewritten, 0)).isTrue();
        assertThat(RecordBatches.of(rewritten).get(0).records(1000).get(0).timestamp())
                .isEqualTo(1_000);
    }

    @Test
    void aBatchWithoutTombstonesGetsNoHorizon() throws Unreadable {
        ByteBuffer rewritten = rewriter.rewrite(batch(Codec.NONE, false), kept(1), -1);
        assertThat(BatchHeader.deleteHorizonMs(rewritten, 0)).isEqualTo(-1);
    }

    @Test
    void whatInflatesToTooMuchIsNotRead() {
        ByteBuffer bomb = new BatchBuilder(Codec.ZSTD)
                .append(1, bytes("k"), ByteBuffer.wrap(new byte[2 << 20]), List.of())
                .build();
        assertThatThrownBy(() -> rewriter.read(bomb, (offset, key, hasValue) -> {}))
                .isInstanceOf(Unreadable.class);
        assertThatThrownBy(() -> rewriter.rewrite(bomb, kept(0), -1)).isInstanceOf(Unreadable.class);
        ByteBuffer garbage = batch(Codec.LZ4, false);
        garbage.putInt(57, 99); // more records than there are
        assertThatThrownBy(() -> rewriter.read(garbage, (offset, key, hasValue) -> {}))
                .isInstanceOf(Unreadable.class);
    }
}
