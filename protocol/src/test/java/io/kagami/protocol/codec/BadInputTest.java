package io.kagami.protocol.codec;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import java.util.Random;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;
import org.slf4j.LoggerFactory;

class BadInputTest {
    private static final int LIMIT = 1 << 20;
    private final ListAppender<ILoggingEvent> log = new ListAppender<>();

    @BeforeEach
    void listen() {
        log.start();
        ((Logger) LoggerFactory.getLogger(ServerCodec.class)).addAppender(log);
    }

    @AfterEach
    void stop() {
        ((Logger) LoggerFactory.getLogger(ServerCodec.class)).detachAppender(log);
    }

    static Stream<Arguments> table() {
        return Stream.of(
                bad("negative length", "ffffffff", "a frame length of -1"),
                bad("zero length", "00000000", "a frame length of 0"),
                bad("smallest length", "80000000", "a frame length of -2147483648"),
                bad("one byte over the limit", "00100001", "a frame of 1048577 bytes, at most 1048576 are accepted"),
                bad("two gigabytes", "7fffffff", "a frame of 2147483647 bytes"),
                bad("TLS hello", "160301020001", "a TLS handshake"),
                bad("HTTP GET", hex("GET / HTTP/1.1\r\n"), "an HTTP message"),
                bad("HTTP POST", hex("POST /x"), "an HTTP message"),
                bad("HTTP/2 preface", hex("PRI * HTTP/2.0"), "an HTTP message"),
                bad("three bytes of request", "00000003000000", "too short for a header"),
                bad("unknown api key", "0000000a2328000000000001ffff", "api key 9000 version 0 is not served"),
                bad("negative api key", "0000000affff000000000001ffff", "api key -1 version 0 is not served"),
                bad("a controller's api", "0000000a0004000000000001ffff", "api key 4 version 0 is not served"),
                bad(
                        "Produce 2",
                        "0000000a0000000200000001ffff",
                        "Produce (api key 0) version 2 is not served, only 3 to 13"),
                bad(
                        "Fetch 19",
                        "0000000a0001001300000001ffff",
                        "Fetch (api key 1) version 19 is not served, only 4 to 18"),
                bad("Metadata -1", "0000000a0003ffff00000001ffff", "Metadata (api key 3) version -1 is not served"),
                bad("client id longer than the frame", "0000000a000300000000000100ff", "client_id"),
                bad("garbage behind the header", "0000000c0003000000000001ffff" + "0000", "Metadata request"),
                bad("bytes left over", "0000000f0003000000000001ffff0000000000", "1 bytes are left over"));
    }

    private static Arguments bad(String name, String hex, String words) {
        return Arguments.of(name, hex, words);
    }

    private static String hex(String text) {
        return HexFormat.of().formatHex(text.getBytes(StandardCharsets.US_ASCII));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("table")
    void closesWithOneLineThatNamesPeerAndReason(String name, String hex, String words) {
        ByteBuf bytes = Unpooled.wrappedBuffer(HexFormat.of().parseHex(hex));
        EmbeddedChannel server = server();
        server.writeInbound(bytes);
        assertClosed(server, words);
        assertThat(bytes.refCnt()).isZero();
        ByteBuf more = Unpooled.wrappedBuffer(new byte[100]);
        assertThat(server.isOpen()).isFalse();
        more.release();
    }

    @ParameterizedTest(name = "{0}, a byte at a time")
    @MethodSource("table")
    void doesSoHoweverTheBytesAreCut(String name, String hex, String words) {
        EmbeddedChannel server = server();
        for (byte b : HexFormat.of().parseHex(hex)) {
            if (server.isOpen()) {
                server.writeInbound(Unpooled.buffer(1).writeByte(b));
            }
        }
        assertClosed(server, words);
    }

    private void assertClosed(EmbeddedChannel server, String words) {
        assertThat(server.isOpen()).isFalse();
        assertThat(server.inboundMessages()).isEmpty();
        assertThat(server.outboundMessages()).isEmpty();
        assertThat(log.list).hasSize(1);
        assertThat(log.list.get(0).getKeyValuePairs().toString())
                .contains("peer=")
                .contains(words);
    }

    @Test
    void aDeclaredFrameTakesMemoryOnlyAsItsBytesArrive() {
        EmbeddedChannel server = new EmbeddedChannel(new FrameDecoder(100 << 20), new ServerCodec());
        long before = used(server);
        server.writeInbound(Unpooled.buffer().writeInt(100 << 20).writeZero(1000));
        assertThat(used(server) - before).isLessThan(8 << 20);
        assertThat(server.isOpen()).isTrue();
        server.finishAndReleaseAll();
        assertThat(log.list).isEmpty();
    }

    private static long used(EmbeddedChannel channel) {
        return ((io.netty.buffer.ByteBufAllocatorMetricProvider) channel.alloc())
                .metric()
                .usedDirectMemory();
    }

    @Test
    void aFrameCutAnywhereIsPutTogetherAgain() {
        Random random = new Random(Long.getLong("seed", 1));
        byte[] payload = new byte[300_000];
        random.nextBytes(payload);
        EmbeddedChannel channel = new EmbeddedChannel(new FrameDecoder(LIMIT));
        ByteBuf stream = Unpooled.buffer();
        for (int size : new int[] {1, 70_000, 300_000, 2, 65_536}) {
            stream.writeInt(size).writeBytes(payload, 0, size);
        }
        while (stream.isReadable()) {
            channel.writeInbound(stream.readBytes(Math.min(stream.readableBytes(), 1 + random.nextInt(40_000))));
        }
        stream.release();
        for (int size : new int[] {1, 70_000, 300_000, 2, 65_536}) {
            ByteBuf frame = channel.readInbound();
            assertThat(frame.nioBufferCount()).isEqualTo(1);
            assertThat(frame).isEqualTo(Unpooled.wrappedBuffer(payload, 0, size));
            frame.release();
        }
        assertThat(channel.finish()).isFalse();
    }

    @Test
    void anHonestRequestBeforeTheBadOneIsStillServed() {
        EmbeddedChannel server = server();
        server.writeInbound(
                Unpooled.wrappedBuffer(HexFormat.of().parseHex("0000000e0003000000000001ffff00000000" + "ffffffff")));
        io.kagami.protocol.Request request = server.readInbound();
        assertThat(request.api().name()).isEqualTo("Metadata");
        request.release();
        assertThat(server.isOpen()).isFalse();
    }

    @Test
    void noGarbageThrowsAnythingElse() {
        long seed = Long.getLong("seed", System.nanoTime());
        Random random = new Random(seed);
        for (int i = 0; i < 20_000; i++) {
            byte[] bytes = new byte[10 + random.nextInt(60)];
            random.nextBytes(bytes);
            io.kagami.protocol.Api api = io.kagami.protocol.ApiTable.SUPPORTED.get(
                    random.nextInt(io.kagami.protocol.ApiTable.SUPPORTED.size()));
            ByteBuf frame = Unpooled.wrappedBuffer(bytes);
            frame.setShort(0, api.key());
            frame.setShort(2, api.min() + random.nextInt(api.max() - api.min() + 1));
            frame.setShort(8, -1);
            try {
                ServerCodec.decode(frame, 0);
            } catch (MalformedFrame e) {
                assertThat(e.getMessage()).as("seed %d", seed).contains(api.name());
            }
        }
    }

    private static EmbeddedChannel server() {
        return new EmbeddedChannel(new FrameDecoder(LIMIT), new ServerCodec());
    }
}
