package io.kagami.protocol.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Messages;
import io.kagami.protocol.Request;
import io.kagami.protocol.Response;
import io.kagami.protocol.Transports;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.embedded.EmbeddedChannel;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.IntStream;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class FileRangeTest {
    private static final int FILE_BYTES = 3_000_000;

    @TempDir
    Path dir;

    private final byte[] content = new byte[FILE_BYTES];
    private final AtomicInteger leases = new AtomicInteger();
    private FileChannel file;
    private EventLoopGroup group;

    @BeforeEach
    void open() throws IOException {
        new Random(1).nextBytes(content);
        file = FileChannel.open(
                dir.resolve("segment"), StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
        file.write(ByteBuffer.wrap(content));
        group = Transports.newGroup(1, "file-range");
    }

    @AfterEach
    void close() throws Exception {
        assertThat(file.isOpen()).as("sending must not close the file").isTrue();
        file.close();
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    static IntStream fetchVersions() {
        return IntStream.rangeClosed(4, 18);
    }

    @ParameterizedTest
    @MethodSource("fetchVersions")
    void overASocketTheBytesAreThoseOfKafka(int version) throws Exception {
        Channel listener = listen(request -> new Response(request, response(true)));
        byte[] expected = expected((short) version);
        try (Socket socket = connect(listener)) {
            for (int round = 1; round <= 2; round++) {
                ask(socket, (short) version);
                byte[] got = new byte[expected.length];
                new DataInputStream(socket.getInputStream()).readFully(got);
                assertThat(ByteBuffer.wrap(got)).isEqualTo(ByteBuffer.wrap(expected));
            }
        }
        await().untilAsserted(() -> assertThat(leases).hasValue(0));
        listener.close().sync();
    }

    @Test
    void aPeerThatLeavesInTheMiddleReturnsEveryLease() throws Exception {
        Channel listener = listen(request -> new Response(request, response(true)));
        try (Socket socket = connect(listener)) {
            socket.setReceiveBufferSize(4096);
            for (int i = 0; i < 20; i++) {
                ask(socket, (short) 12);
            }
            socket.getInputStream().readNBytes(10_000);
        }
        await().untilAsserted(() -> assertThat(leases).hasValue(0));
        listener.close().sync();
    }

    @Test
    void anAnswerToAClosedConnectionReturnsEveryLease() {
        EmbeddedChannel channel = new EmbeddedChannel(new ServerCodec());
        channel.close();
        channel.runPendingTasks();
        FetchResponseData body = response(true);
        Response response = new Response(request((short) 12), body);
        assertThat(leases.get()).isPositive();
        channel.writeAndFlush(response);
        channel.runPendingTasks();
        response.discard();
        assertThat(leases).hasValue(0);
    }

    @Test
    void anAnswerThatCannotBeEncodedReturnsEveryLeaseAndCloses() {
        EmbeddedChannel channel = new EmbeddedChannel(new ServerCodec());
        FetchResponseData body = response(true).setErrorCode((short) 3).setSessionId(9); // not in version 4
        Response response = new Response(request((short) 4), body);
        assertThatThrownBy(() -> channel.writeOutbound(response)).hasMessageContaining("sessionId");
        assertThat(leases).hasValue(0);
        assertThat(channel.isOpen()).isFalse();
    }

    @Test
    void aFileThatIsShorterThanItsRangeFailsInsteadOfHanging() throws Exception {
        FetchResponseData body = response(true);
        file.truncate(1000);
        Parts parts =
                PartWritable.encode(ByteBufAllocator.DEFAULT, new ResponseHeaderData(), (short) 1, body, (short) 12);
        assertThatThrownBy(() -> parts.gather(ByteBufAllocator.DEFAULT))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("1000");
        assertThat(leases).hasValue(0);
    }

    private static void ask(Socket socket, short version) throws IOException {
        ByteBuf frame = RoundTripTest.theirs(
                new RequestHeaderData()
                        .setRequestApiKey(ApiTable.FETCH)
                        .setRequestApiVersion(version)
                        .setCorrelationId(7),
                Messages.requestHeaderVersion(ApiTable.FETCH, version),
                new org.apache.kafka.common.message.FetchRequestData(),
                version);
        socket.getOutputStream().write(frame.array(), 0, frame.readableBytes());
        frame.release();
    }

    private byte[] expected(short version) throws Exception {
        ByteBuf theirs = RoundTripTest.theirs(
                new ResponseHeaderData().setCorrelationId(7),
                Messages.responseHeaderVersion(ApiTable.FETCH, version),
                response(false),
                version);
        byte[] bytes = new byte[theirs.readableBytes()];
        theirs.readBytes(bytes);
        theirs.release();
        return bytes;
    }

    private Request request(short version) {
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(ApiTable.FETCH)
                .setRequestApiVersion(version)
                .setCorrelationId(7);
        return new Request(ApiTable.find(ApiTable.FETCH), header, null, Unpooled.EMPTY_BUFFER, 0);
    }

    /** Three partitions: a large range, no records, a small range. */
    private FetchResponseData response(boolean ofFile) {
        List<FetchResponseData.PartitionData> partitions = new ArrayList<>();
        int[][] ranges = {{100, 2_500_000}, {0, 0}, {2_999_000, 1_000}};
        for (int i = 0; i < ranges.length; i++) {
            partitions.add(new FetchResponseData.PartitionData()
                    .setPartitionIndex(i)
                    .setHighWatermark(10 + i)
                    .setLastStableOffset(9 + i)
                    .setRecords(ofFile ? slice(ranges[i][0], ranges[i][1]) : memory(ranges[i][0], ranges[i][1])));
        }
        FetchResponseData.FetchableTopicResponse topic = new FetchResponseData.FetchableTopicResponse();
        return new FetchResponseData().setResponses(List.of(topic.setPartitions(partitions)));
    }

    private BaseRecords slice(int position, int size) {
        leases.incrementAndGet();
        return new SliceRecords(file, position, size, leases::decrementAndGet);
    }

    private BaseRecords memory(int position, int size) {
        return MemoryRecords.readableRecords(
                ByteBuffer.wrap(content, position, size).slice());
    }

    private Channel listen(java.util.function.Function<Request, Response> answer) throws InterruptedException {
        return new ServerBootstrap()
                .group(group)
                .channel(Transports.serverChannel())
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new FrameDecoder(1 << 20), new ServerCodec(), new Answering(answer));
                    }
                })
                .bind("127.0.0.1", 0)
                .sync()
                .channel();
    }

    static Socket connect(Channel listener) throws IOException {
        InetSocketAddress address = (InetSocketAddress) listener.localAddress();
        Socket socket = new Socket(address.getAddress(), address.getPort());
        socket.setSoTimeout(20_000);
        return socket;
    }

    @Test
    void theWriteCompletesWhenTheLastPartIsOut() {
        EmbeddedChannel channel = new EmbeddedChannel(new ServerCodec());
        CompletableFuture<Void> done = new CompletableFuture<>();
        channel.writeAndFlush(new Response(request((short) 12), response(true)))
                .addListener(future -> done.complete(null));
        channel.runPendingTasks();
        assertThat(done).isCompleted();
        channel.releaseOutbound();
        assertThat(leases).hasValue(0);
    }
}
