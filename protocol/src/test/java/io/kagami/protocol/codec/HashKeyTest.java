package io.kagami.protocol.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.protocol.Messages;
import io.kagami.protocol.SampleMessages;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Random;
import java.util.function.IntFunction;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class HashKeyTest {
    static List<RoundTripTest.Row> everyApiAndVersion() {
        return RoundTripTest.everyApiAndVersion().toList();
    }

    /** The hash codes on the wire are those that the library's objects will have. */
    @ParameterizedTest
    @MethodSource("everyApiAndVersion")
    void theHashOfEveryCollectionElementIsForeseen(RoundTripTest.Row row) throws Exception {
        ApiMessage body = new SampleMessages(5, 2).request(row.api().key(), row.version());
        Shape.Struct shape = (Shape.Struct) Shapes.request(row.api().key(), row.version());
        for (Shape field : shape.fields()) {
            if (field instanceof Shape.Array array && array.key() != null) {
                Field java = ObjectSizes.find(body.getClass(), array.name());
                java.setAccessible(true);
                assertThat(array.key().parts()).isNotEmpty();
                for (Object element : (Collection<?>) java.get(body)) {
                    ByteBuf bytes =
                            Unpooled.wrappedBuffer(org.apache.kafka.common.protocol.MessageUtil.toByteBufferAccessor(
                                            (org.apache.kafka.common.protocol.Message) element, row.version())
                                    .buffer());
                    ShapeCursor in = new ShapeCursor(bytes, Long.MAX_VALUE);
                    assertThat(((Shape.Struct) array.element()).walkHashing(in, array.key()))
                            .isEqualTo(element.hashCode());
                    assertThat(in.remaining()).isZero();
                    bytes.release();
                }
            }
        }
    }

    @Test
    void keysThatPileUpAreRefusedInsteadOfHoldingTheThread() {
        assertRefused(produce(5_000, i -> "the-same-name-for-every-one-of-them"));
        // "Aa" and "BB" have the same hash, and so has every mix of them
        assertRefused(produce(4_096, i -> {
            StringBuilder name = new StringBuilder();
            for (int bit = 0; bit < 12; bit++) {
                name.append((i >> bit & 1) == 0 ? "Aa" : "BB");
            }
            return name.toString();
        }));
    }

    @Test
    void honestNamesPassHoweverMany() {
        Random random = new Random(3);
        for (int count : new int[] {1, 63, 64, 65, 401, 503, 961, 1_000, 1_001, 5_000, 20_000}) {
            List<IntFunction<String>> namings = List.of(
                    i -> "topic-with-a-name-" + i,
                    i -> "one-of-many-topics-" + i,
                    i -> String.format("numbered-topic-%06d", i),
                    i -> "orders." + random.nextLong() + "-events",
                    i -> Uuid.randomUuid().toString());
            for (IntFunction<String> naming : namings) {
                ByteBuf frame = produce(count, naming);
                ServerCodec.decode(frame, 0).release();
            }
        }
    }

    @Test
    void aFewDuplicatesAreTheHandlersBusiness() {
        ServerCodec.decode(produce(64, i -> "the-same-name-for-every-one-of-them"), 0)
                .release();
        ServerCodec.decode(produce(300, i -> "topic-" + i / 2), 0).release();
    }

    @Test
    void equalProtocolNamesOfAMemberAreRefused() {
        JoinGroupRequestData join = new JoinGroupRequestData();
        for (int i = 0; i < 1_000; i++) {
            join.protocols()
                    .mustAdd(new JoinGroupRequestData.JoinGroupRequestProtocol()
                            .setName("p" + i % 2)
                            .setMetadata(new byte[60]));
        }
        assertRefused(frame(join, (short) 11, (short) 5));
    }

    private static void assertRefused(ByteBuf frame) {
        long start = System.nanoTime();
        assertThatThrownBy(() -> ServerCodec.decode(frame, 0))
                .isInstanceOf(MalformedFrame.class)
                .hasMessageContaining("colliding keys");
        assertThat(System.nanoTime() - start).isLessThan(1_000_000_000L);
        frame.release();
    }

    private static ByteBuf produce(int topics, IntFunction<String> name) {
        List<ProduceRequestData.TopicProduceData> all = new ArrayList<>();
        ProduceRequestData body = new ProduceRequestData();
        for (int i = 0; i < topics; i++) {
            all.add(new ProduceRequestData.TopicProduceData().setName(name.apply(i)));
        }
        // written by hand: building the library's collection is what takes so long
        ByteBuf frame = Unpooled.buffer();
        frame.writeShort(0).writeShort(3).writeInt(1).writeShort(-1);
        frame.writeShort(-1).writeShort(1).writeInt(body.timeoutMs()).writeInt(topics);
        for (ProduceRequestData.TopicProduceData topic : all) {
            byte[] bytes = topic.name().getBytes(java.nio.charset.StandardCharsets.UTF_8);
            frame.writeShort(bytes.length).writeBytes(bytes).writeInt(0);
        }
        return frame;
    }

    private static ByteBuf frame(ApiMessage body, short key, short version) {
        ByteBuf frame = RoundTripTest.theirs(
                new RequestHeaderData().setRequestApiKey(key).setRequestApiVersion(version),
                Messages.requestHeaderVersion(key, version),
                body,
                version);
        return frame.skipBytes(Integer.BYTES);
    }
}
