package io.kagami.protocol.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.protocol.Transports;
import io.netty.bootstrap.Bootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.MultiThreadIoEventLoopGroup;
import io.netty.channel.nio.NioIoHandler;
import io.netty.channel.socket.nio.NioSocketChannel;
import java.io.DataOutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Random;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FrameReceiveTest {
    private static final int FRAMES = 60;

    private final BlockingQueue<ByteBuf> arrived = new LinkedBlockingQueue<>();
    private EventLoopGroup group;
    private Channel client;

    @AfterEach
    void stop() throws Exception {
        client.close().sync();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
        ByteBuf left;
        while ((left = arrived.poll()) != null) {
            left.release();
        }
    }

    private Socket connect(ServerSocket server, boolean nio, FrameDecoder decoder) throws Exception {
        group = nio
                ? new MultiThreadIoEventLoopGroup(1, NioIoHandler.newFactory())
                : Transports.newGroup(1, "frame-receive");
        client = new Bootstrap()
                .group(group)
                .channel(nio ? NioSocketChannel.class : Transports.clientChannel())
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(decoder.receiveInPlace(channel), new ChannelInboundHandlerAdapter() {
                            @Override
                            public void channelRead(ChannelHandlerContext ctx, Object message) {
                                arrived.add((ByteBuf) message);
                            }
                        });
                    }
                })
                .connect(server.getLocalSocketAddress())
                .sync()
                .channel();
        return server.accept();
    }

    @ParameterizedTest
    @ValueSource(strings = {"nio reusing", "nio client", "native reusing", "native client"})
    void whateverIsSentArrivesUnchangedAlsoWhileEarlierFramesAreStillRead(String how) throws Exception {
        long seed = Long.getLong("seed", System.nanoTime());
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        List<byte[]> sent = new ArrayList<>();
        for (int i = 0; i < FRAMES; i++) {
            byte[] frame = new byte[1 + random.nextInt(random.nextBoolean() ? 3_000_000 : 90_000)];
            random.nextBytes(frame);
            sent.add(frame);
        }
        FrameDecoder decoder = how.endsWith("reusing") ? FrameDecoder.reusing(8 << 20, 3) : new FrameDecoder(8 << 20);
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = connect(server, how.startsWith("nio"), decoder)) {
            Thread writer = new Thread(() -> write(socket, sent, new Random(seed)));
            writer.start();
            List<ByteBuf> held = new ArrayList<>();
            List<byte[]> expected = new ArrayList<>();
            for (byte[] frame : sent) {
                ByteBuf got = arrived.poll(30, TimeUnit.SECONDS);
                assertThat(got)
                        .as("a frame of %d bytes, seed %d", frame.length, seed)
                        .isNotNull();
                held.add(got);
                expected.add(frame);
                while (held.size() > random.nextInt(6)) {
                    // looked at late: nothing received meanwhile may have been written over it
                    ByteBuf first = held.remove(0);
                    assertThat(first.nioBufferCount()).isEqualTo(1);
                    assertThat(first.equals(Unpooled.wrappedBuffer(expected.remove(0))))
                            .as("frame is unchanged, seed %d", seed)
                            .isTrue();
                    first.release();
                }
            }
            held.forEach(ByteBuf::release);
            writer.join();
        }
    }

    private static void write(Socket socket, List<byte[]> frames, Random random) {
        try {
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            for (byte[] frame : frames) {
                out.writeInt(frame.length);
                for (int at = 0; at < frame.length; ) {
                    int piece = Math.min(frame.length - at, 1 + random.nextInt(200_000));
                    out.write(frame, at, piece);
                    at += piece;
                }
            }
        } catch (java.io.IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void largeFramesThatAreGivenBackUseTheSameMemoryAgain(boolean nio) throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket socket = connect(server, nio, FrameDecoder.reusing(8 << 20, 3))) {
            IdentityHashMap<ByteBuf, Boolean> buffers = new IdentityHashMap<>();
            byte[] frame = new byte[2_000_000];
            for (int i = 0; i < 20; i++) {
                Arrays.fill(frame, (byte) i);
                write(socket, List.of(frame), new Random(i));
                ByteBuf got = arrived.poll(30, TimeUnit.SECONDS);
                assertThat(got).isEqualTo(Unpooled.wrappedBuffer(frame));
                if (i > 0) {
                    buffers.put(got.unwrap() == null ? got : got.unwrap(), true);
                }
                got.release();
            }
            assertThat(buffers).hasSizeLessThanOrEqualTo(3);
        }
    }
}
