package io.kagami.protocol;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.protocol.MirrorMessages.Body;
import io.kagami.protocol.codec.FrameDecoder;
import io.kagami.protocol.codec.MalformedFrame;
import io.kagami.protocol.codec.PartWritable;
import io.kagami.protocol.codec.ServerCodec;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.buffer.UnpooledByteBufAllocator;
import io.netty.channel.embedded.EmbeddedChannel;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PrivateMessagesTest {
    private static final long SEED = Long.getLong("seed", System.nanoTime());
    private final Random random = new Random(SEED);

    @ParameterizedTest
    @EnumSource
    void everyBodyArrivesAsItWasSent(PrivateApi api) throws Exception {
        for (int round = 0; round < 20; round++) {
            Body request = (Body) sample(PrivateBodies.type(api, true));
            assertThat(overTheWire(PrivateMessages.request(api, request), true))
                    .as("seed %d", SEED)
                    .isEqualTo(PrivateMessages.request(api, request));
            Body response = (Body) sample(PrivateBodies.type(api, false));
            assertThat(overTheWire(PrivateMessages.response(api, response), false))
                    .as("seed %d", SEED)
                    .isEqualTo(PrivateMessages.response(api, response));
        }
    }

    private static ApiMessage overTheWire(PrivateMessage message, boolean request) throws Exception {
        short key = message.apiKey();
        RequestHeaderData header = new RequestHeaderData().setRequestApiKey(key).setClientId("kagami");
        ByteBuf bytes = PartWritable.encode(UnpooledByteBufAllocator.DEFAULT, header, (short) 2, message, (short) 0)
                .gather(UnpooledByteBufAllocator.DEFAULT);
        if (request) {
            EmbeddedChannel server = new EmbeddedChannel(new FrameDecoder(1 << 20), new ServerCodec());
            server.writeInbound(bytes);
            Request got = server.readInbound();
            got.release();
            return got.body();
        }
        bytes.skipBytes(Integer.BYTES);
        io.kagami.protocol.codec.ByteBufReadable in = new io.kagami.protocol.codec.ByteBufReadable(bytes);
        assertThat(new RequestHeaderData(in, (short) 2)).isEqualTo(header);
        ApiMessage body = Messages.newResponse(key);
        body.read(in, (short) 0);
        assertThat(in.remaining()).isZero();
        bytes.release();
        return body;
    }

    @Test
    void garbageIsMalformedAndTakesNoMemory() {
        for (String hex : List.of("ffffffff0f", "00", "0261ffffffff0f", "026102026b00", "0261020000", "026101ff")) {
            assertThatThrownBy(() -> decode(PrivateApi.CREATE_CLUSTER_MIRROR, hex))
                    .as(hex)
                    .isInstanceOf(MalformedFrame.class)
                    .hasMessageContaining("CreateClusterMirror");
        }
        // 100000 empty names: one byte each, and twenty in memory
        StringBuilder many = new StringBuilder("0261a18d06");
        many.append("01".repeat(100_000)).append("0100");
        assertThatThrownBy(() -> decode(PrivateApi.START_MIRROR_TOPICS, many.toString()))
                .hasMessageContaining("memory");
    }

    @Test
    void unknownTagsAreSkipped() {
        Request request = decode(PrivateApi.DELETE_CLUSTER_MIRROR, "0261" + "01" + "05" + "02" + "abcd");
        assertThat(((PrivateMessage) request.body()).body())
                .isEqualTo(new MirrorMessages.DeleteClusterMirrorRequest("a"));
        request.release();
    }

    @Test
    void aConfigGivenTwiceIsRefused() {
        assertThatThrownBy(() ->
                        decode(PrivateApi.CREATE_CLUSTER_MIRROR, "0261" + "03" + "026b027600" + "026b027700" + "00"))
                .hasMessageContaining("given twice");
    }

    @Test
    void credentialsAreNotPrinted() {
        Body body = new MirrorMessages.CreateClusterMirrorRequest("m", Map.of("sasl.jaas.config", "hunter2"));
        assertThat(PrivateMessages.request(PrivateApi.CREATE_CLUSTER_MIRROR, body)
                        .toString())
                .contains("sasl.jaas.config")
                .doesNotContain("hunter2");
    }

    private static Request decode(PrivateApi api, String hex) {
        byte[] body = java.util.HexFormat.of().parseHex(hex);
        ByteBuf frame = Unpooled.buffer()
                .writeShort(api.key())
                .writeShort(0)
                .writeInt(1)
                .writeShort(-1)
                .writeByte(0)
                .writeBytes(body);
        return ServerCodec.decode(frame, 0);
    }

    private Object sample(Type type) throws ReflectiveOperationException {
        if (type instanceof ParameterizedType generic) {
            int size = random.nextInt(4);
            if (generic.getRawType() == Map.class) {
                Map<String, String> map = new LinkedHashMap<>();
                for (int i = 0; i < size; i++) {
                    map.put("k" + i, i == 0 ? null : "v" + i);
                }
                return map;
            }
            List<Object> list = new ArrayList<>();
            for (int i = 0; i < size; i++) {
                list.add(sample(generic.getActualTypeArguments()[0]));
            }
            return list;
        }
        if (type == String.class) {
            return "日本-" + random.nextInt();
        }
        if (type == Uuid.class) {
            return new Uuid(random.nextLong(), random.nextLong());
        }
        if (type == short.class) {
            return (short) random.nextInt();
        }
        if (type == int.class) {
            return random.nextInt();
        }
        if (type == long.class) {
            return random.nextLong();
        }
        RecordComponent[] components = ((Class<?>) type).getRecordComponents();
        Object[] values = new Object[components.length];
        Class<?>[] types = new Class<?>[components.length];
        for (int i = 0; i < components.length; i++) {
            types[i] = components[i].getType();
            boolean message = components[i].getName().equals("errorMessage") && random.nextBoolean();
            values[i] = message ? null : sample(components[i].getGenericType());
        }
        var constructor = ((Class<?>) type).getDeclaredConstructor(types);
        constructor.setAccessible(true);
        return constructor.newInstance(values);
    }
}
