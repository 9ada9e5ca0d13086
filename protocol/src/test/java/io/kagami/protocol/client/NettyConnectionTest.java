package io.kagami.protocol.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.protocol.ApiTable;
import io.kagami.protocol.MirrorMessages;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.PrivateMessage;
import io.kagami.protocol.PrivateMessages;
import io.kagami.protocol.Request;
import io.kagami.protocol.Transports;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import io.kagami.protocol.records.RecordBatches;
import io.netty.buffer.ByteBuf;
import io.netty.channel.EventLoopGroup;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class NettyConnectionTest {
    private static final short LIST_GROUPS = 16;
    private static EventLoopGroup group;

    @BeforeAll
    static void start() {
        group = Transports.newGroup(2, "connection-test");
    }

    @AfterAll
    static void stop() throws InterruptedException {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private static ClientOptions options(int requestTimeoutMs, int connectTimeoutMs) {
        return new ClientOptions(
                List.of("127.0.0.1:1"),
                "tester",
                Duration.ofMillis(requestTimeoutMs),
                Duration.ofMillis(connectTimeoutMs),
                -1,
                1 << 20);
    }

    private static NettyConnection connect(FakeBroker broker) throws Exception {
        return connect(broker, 20_000);
    }

    private static NettyConnection connect(FakeBroker broker, int requestTimeoutMs) throws Exception {
        return NettyConnection.connect(options(requestTimeoutMs, 10_000), broker.node(4), group)
                .get(20, TimeUnit.SECONDS);
    }

    private static FakeBroker broker(short key, Function<Request, ApiMessage> answer) {
        return FakeBroker.start(group, Map.of(key, answer));
    }

    private static Throwable failure(CompletableFuture<?> future) {
        try {
            future.get(20, TimeUnit.SECONDS);
            throw new AssertionError("it did not fail");
        } catch (ExecutionException e) {
            return e.getCause();
        } catch (InterruptedException | java.util.concurrent.TimeoutException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void requestsSentAtOnceAreAnsweredInOrder() throws Exception {
        List<Integer> seen = new CopyOnWriteArrayList<>();
        try (FakeBroker broker = broker(LIST_GROUPS, request -> {
                    seen.add(request.header().correlationId());
                    return new ListGroupsResponseData()
                            .setThrottleTimeMs(request.header().correlationId());
                });
                NettyConnection connection = connect(broker)) {
            List<CompletableFuture<Reply>> replies = new ArrayList<>();
            for (int i = 0; i < 500; i++) {
                replies.add(connection.send(new ListGroupsRequestData()));
            }
            for (int i = 0; i < 500; i++) {
                try (Reply reply = replies.get(i).get(20, TimeUnit.SECONDS)) {
                    assertThat(((ListGroupsResponseData) reply.body()).throttleTimeMs())
                            .isEqualTo(i + 1);
                    assertThat(reply.version()).isEqualTo((short) 5);
                }
            }
            assertThat(seen).hasSize(500).isSorted();
        }
    }

    @Test
    void versionsAreTheHighestInCommonAndCapped() throws Exception {
        try (FakeBroker broker = broker(LIST_GROUPS, request -> new ListGroupsResponseData());
                NettyConnection connection = connect(broker)) {
            assertThat(connection.version((short) 1)).hasValue(18);
            assertThat(connection.version((short) 0)).hasValue(13);
            assertThat(connection.version(PrivateApi.CREATE_CLUSTER_MIRROR.key()))
                    .hasValue(0);
            assertThat(connection.version((short) 29)).isEmpty();
            try (Reply reply = connection.send(new ListGroupsRequestData(), 2).get(20, TimeUnit.SECONDS)) {
                assertThat(reply.version()).isEqualTo((short) 2);
            }
            assertThat(failure(connection.send(new FetchRequestData(), 3)))
                    .isInstanceOf(UnsupportedApi.class)
                    .hasMessage("4@127.0.0.1:" + broker.port()
                            + " serves Fetch 4 to 18, this client needs 4 to 18, at most 3");
            assertThat(failure(connection.send(new org.apache.kafka.common.message.DescribeAclsRequestData())))
                    .hasMessageEndingWith("does not serve DescribeAcls");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {-1, 0, 1, 2})
    void anOlderBrokerIsAskedAgainInAVersionItKnows(int max) throws Exception {
        List<Short> asked = new CopyOnWriteArrayList<>();
        try (FakeBroker broker = FakeBroker.raw(group, (ctx, frame) -> {
                    short version = frame.getShort(2);
                    asked.add(version);
                    ByteBuf out = ctx.alloc().buffer().writeInt(0).writeInt(frame.getInt(4));
                    boolean known = version <= Math.max(0, max);
                    out.writeShort(known ? 0 : 35);
                    if (!known && max < 0) {
                        out.writeInt(0); // before 2.4: a refusal lists nothing
                    } else {
                        out.writeInt(2).writeShort(18).writeShort(0).writeShort(Math.max(0, max));
                        out.writeShort(1).writeShort(0).writeShort(10);
                    }
                    if (known && version > 0) {
                        out.writeInt(0); // throttle time
                    }
                    ctx.writeAndFlush(out.setInt(0, out.readableBytes() - 4));
                });
                NettyConnection connection = connect(broker)) {
            assertThat(asked).containsExactly((short) 3, (short) Math.max(0, max));
            assertThat(connection.version((short) 1)).hasValue(10);
            assertThat(connection.version((short) 3)).isEmpty();
        }
    }

    @Test
    void noAnswerInTimeClosesAndFailsAllInFlight() throws Exception {
        try (FakeBroker broker = broker(LIST_GROUPS, request -> null);
                NettyConnection connection = connect(broker, 200)) {
            CompletableFuture<Reply> first = connection.send(new ListGroupsRequestData());
            CompletableFuture<Reply> second = connection.send(new ListGroupsRequestData());
            assertThat(failure(first))
                    .isInstanceOf(ConnectionClosed.class)
                    .hasMessageContaining("no answer to ListGroups within 200 ms");
            assertThat(failure(second)).isInstanceOf(ConnectionClosed.class);
            assertThat(connection.closed().get(20, TimeUnit.SECONDS)).hasMessageContaining("4@127.0.0.1");
            assertThat(connection.open()).isFalse();
            assertThat(failure(connection.send(new ListGroupsRequestData())))
                    .hasMessageContaining("no answer to ListGroups");
        }
    }

    @Test
    @SuppressWarnings("try")
    void aPeerThatLeavesIsNamed() throws Exception {
        try (FakeBroker broker = broker(LIST_GROUPS, request -> {
                    throw new IllegalStateException("gone");
                });
                NettyConnection connection = connect(broker)) {
            // Netty's tail logs the exception; the connection stays until our side gives up
            CompletableFuture<Reply> reply = connection.send(new ListGroupsRequestData());
            connection.close();
            assertThat(failure(reply)).isInstanceOf(ConnectionClosed.class).hasMessageContaining("closed by this side");
        }
        try (FakeBroker broker = raw((ctx, frame) -> ctx.close());
                NettyConnection connection = connect(broker)) {
            assertThat(failure(connection.send(new ListGroupsRequestData())))
                    .hasMessageContaining("closed by the peer");
        }
    }

    /** Answers ApiVersions as any broker, everything else by the function. */
    private static FakeBroker raw(java.util.function.BiConsumer<io.netty.channel.ChannelHandlerContext, ByteBuf> then) {
        return FakeBroker.raw(group, (ctx, frame) -> {
            if (frame.getShort(0) != ApiTable.API_VERSIONS) {
                then.accept(ctx, frame);
                return;
            }
            ByteBuf out =
                    ctx.alloc().buffer().writeInt(0).writeInt(frame.getInt(4)).writeShort(0);
            out.writeByte(2).writeShort(LIST_GROUPS).writeShort(0).writeShort(2).writeByte(0);
            out.writeInt(0).writeByte(0);
            ctx.writeAndFlush(out.setInt(0, out.readableBytes() - 4));
        });
    }

    private static void answer(io.netty.channel.ChannelHandlerContext ctx, int correlation, String hex) {
        byte[] bytes = java.util.HexFormat.of().parseHex(hex);
        ctx.writeAndFlush(ctx.alloc()
                .buffer()
                .writeInt(bytes.length + 4)
                .writeInt(correlation)
                .writeBytes(bytes));
    }

    @Test
    void answersThatCannotBeTrustedCloseTheConnection() throws Exception {
        assertCloses((ctx, frame) -> answer(ctx, 99, "000000000000"), "correlation id 99 where 1 is due");
        assertCloses((ctx, frame) -> answer(ctx, 1, "00000000" + "0000" + "7fffffff"), "declares 2147483647 elements");
        assertCloses((ctx, frame) -> answer(ctx, 1, "00000000" + "0000" + "00000000" + "00"), "1 bytes are left over");
        assertCloses(
                (ctx, frame) -> ctx.writeAndFlush(ctx.alloc().buffer().writeInt(2_000_000)),
                "a frame of 2000000 bytes, at most 1048576");
        assertCloses(
                (ctx, frame) -> ctx.writeAndFlush(
                        ctx.alloc().buffer().writeBytes("HTTP/1.1 400 Bad".getBytes(StandardCharsets.US_ASCII))),
                "an HTTP message");
    }

    private static void assertCloses(
            java.util.function.BiConsumer<io.netty.channel.ChannelHandlerContext, ByteBuf> bad, String words)
            throws Exception {
        try (FakeBroker broker = raw(bad);
                NettyConnection connection = connect(broker)) {
            assertThat(failure(connection.send(new ListGroupsRequestData())))
                    .isInstanceOf(ConnectionClosed.class)
                    .hasMessageContaining(words);
            assertThat(connection.closed().get(20, TimeUnit.SECONDS)).hasMessageContaining(words);
        }
    }

    @Test
    void anAnswerToNoRequestCloses() throws Exception {
        try (FakeBroker broker = raw((ctx, frame) -> {
                    answer(ctx, 1, "00000000000000000000");
                    answer(ctx, 2, "00000000000000000000");
                });
                NettyConnection connection = connect(broker)) {
            connection
                    .send(new ListGroupsRequestData())
                    .get(20, TimeUnit.SECONDS)
                    .close();
            assertThat(connection.closed().get(20, TimeUnit.SECONDS)).hasMessageContaining("to no request");
        }
    }

    @Test
    void refusalsSayWhoAndWhy() throws Exception {
        FakeBroker gone = broker(LIST_GROUPS, request -> null);
        Node node = gone.node(7);
        gone.close();
        assertThat(failure(NettyConnection.connect(options(1_000, 5_000), node, group)))
                .isInstanceOf(ConnectionClosed.class)
                .hasMessage("no connection to " + node + ": cannot connect: connection refused");
        assertThat(failure(NettyConnection.connect(
                        options(1_000, 10_000), new Node(-1, "no-such-host.invalid", 9092), group)))
                .hasMessage(
                        "no connection to no-such-host.invalid:9092: cannot resolve no-such-host.invalid: the name is not known");
        try (FakeBroker silent = FakeBroker.raw(group, (ctx, frame) -> {})) {
            assertThat(failure(NettyConnection.connect(options(60_000, 300), silent.node(1), group)))
                    .hasMessageContaining("no connection within 300 ms (waiting for the ApiVersions answer)");
        }
        try (FakeBroker closing = FakeBroker.raw(group, (ctx, frame) -> ctx.close())) {
            assertThat(failure(NettyConnection.connect(options(60_000, 5_000), closing.node(1), group)))
                    .hasMessageContaining("closed by the peer");
        }
    }

    @Test
    void moreThanTheBoundInFlightAreRefusedAndTheRestLives() throws Exception {
        try (FakeBroker broker = broker(LIST_GROUPS, request -> null);
                NettyConnection connection = connect(broker)) {
            List<CompletableFuture<Reply>> replies = new ArrayList<>();
            for (int i = 0; i <= NettyConnection.IN_FLIGHT_MAX; i++) {
                replies.add(connection.send(new ListGroupsRequestData()));
            }
            assertThat(failure(replies.get(NettyConnection.IN_FLIGHT_MAX)))
                    .hasMessageContaining("wait for an answer already");
            assertThat(replies.get(0)).isNotDone();
            assertThat(connection.open()).isTrue();
        }
    }

    @Test
    void recordsOfAnAnswerAreAViewOfTheReceiveBuffer() throws Exception {
        ByteBuffer batch =
                new BatchBuilder(Codec.NONE).append(1, null, new byte[300_000]).build();
        try (FakeBroker broker = broker((short) 1, request -> fetched(batch));
                NettyConnection connection = connect(broker)) {
            for (int i = 0; i < 20; i++) {
                try (Reply reply = connection.send(new FetchRequestData()).get(20, TimeUnit.SECONDS)) {
                    FetchResponseData body = (FetchResponseData) reply.body();
                    ByteBuffer records = RecordBatches.bytes(
                            body.responses().get(0).partitions().get(0).records());
                    assertThat(records.isDirect()).isTrue();
                    assertThat(records).isEqualTo(batch);
                    assertThat(reply.sizeInBytes()).isGreaterThan(batch.remaining());
                }
            }
        }
    }

    private static FetchResponseData fetched(ByteBuffer batch) {
        FetchResponseData.PartitionData partition =
                new FetchResponseData.PartitionData().setRecords(RecordBatches.toRecords(batch.duplicate()));
        return new FetchResponseData()
                .setResponses(
                        List.of(new FetchResponseData.FetchableTopicResponse().setPartitions(List.of(partition))));
    }

    @Test
    void produceCarriesTheCallersBytes() throws Exception {
        ByteBuffer batch =
                new BatchBuilder(Codec.LZ4).append(1, null, new byte[3_000]).build();
        CompletableFuture<Boolean> same = new CompletableFuture<>();
        try (FakeBroker broker = broker((short) 0, request -> {
                    ProduceRequestData body = (ProduceRequestData) request.body();
                    same.complete(RecordBatches.bytes(body.topicData()
                                    .iterator()
                                    .next()
                                    .partitionData()
                                    .get(0)
                                    .records())
                            .equals(batch));
                    return new ProduceResponseData();
                });
                NettyConnection connection = connect(broker)) {
            ProduceRequestData request = new ProduceRequestData().setAcks((short) -1);
            request.topicData()
                    .add(new ProduceRequestData.TopicProduceData()
                            .setPartitionData(List.of(new ProduceRequestData.PartitionProduceData()
                                    .setRecords(RecordBatches.toRecords(batch)))));
            connection.send(request).get(20, TimeUnit.SECONDS).close();
            assertThat(same.get(1, TimeUnit.SECONDS)).isTrue();
            assertThat(batch.position()).isZero();
        }
    }

    @Test
    void privateMessagesTravelToo() throws Exception {
        PrivateApi api = PrivateApi.STOP_MIRROR_TOPICS;
        var asked = new MirrorMessages.MirrorTopicsRequest("m", List.of("a", "b.*"), List.of());
        var answered = new MirrorMessages.MirrorResponse(
                (short) 10_004, "no", List.of(new MirrorMessages.TopicResult("a", (short) 0, null)), List.of("w"));
        try (FakeBroker broker = broker(api.key(), request -> {
                    assertThat(((PrivateMessage) request.body()).body()).isEqualTo(asked);
                    return PrivateMessages.response(api, answered);
                });
                NettyConnection connection = connect(broker)) {
            try (Reply reply =
                    connection.send(PrivateMessages.request(api, asked)).get(20, TimeUnit.SECONDS)) {
                assertThat(((PrivateMessage) reply.body()).body()).isEqualTo(answered);
            }
        }
    }

    @Test
    void closingTwiceAndSendingAfterwardsIsHarmless() throws Exception {
        try (FakeBroker broker = broker(LIST_GROUPS, request -> new ListGroupsResponseData())) {
            NettyConnection connection = connect(broker);
            connection.close();
            connection.close();
            assertThat(connection.closed().get(20, TimeUnit.SECONDS)).hasMessageContaining("closed by this side");
            assertThat(failure(connection.send(new ListGroupsRequestData()))).isInstanceOf(ConnectionClosed.class);
            assertThatThrownBy(() -> PrivateMessages.request(
                            PrivateApi.LIST_CLUSTER_MIRRORS, new MirrorMessages.DeleteClusterMirrorRequest("x")))
                    .hasMessageContaining("ListClusterMirrors request is a ListClusterMirrorsRequest");
        }
    }
}
