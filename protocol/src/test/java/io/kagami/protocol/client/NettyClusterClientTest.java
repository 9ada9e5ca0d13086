package io.kagami.protocol.client;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.kagami.protocol.Request;
import io.kagami.protocol.Transports;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.apache.kafka.common.errors.CoordinatorNotAvailableException;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.ListGroupsRequestData;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class NettyClusterClientTest {
    private static final short METADATA = 3;
    private static final short FIND_COORDINATOR = 10;
    private static final short LIST_GROUPS = 16;
    private static EventLoopGroup group;

    @BeforeAll
    static void start() {
        group = Transports.newGroup(2, "cluster-test");
    }

    @AfterAll
    static void stop() throws InterruptedException {
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS).sync();
    }

    private static NettyClusterClient client(String... servers) {
        return new NettyClusterClient(
                new ClientOptions(List.of(servers), "t", Duration.ofSeconds(20), Duration.ofSeconds(10), -1, 1 << 20),
                group);
    }

    private static String deadAddress() {
        FakeBroker broker = FakeBroker.start(group, Map.of());
        broker.close();
        return broker.address();
    }

    private static MetadataResponseData metadata(Node... nodes) {
        MetadataResponseData answer =
                new MetadataResponseData().setClusterId("c").setControllerId(1);
        for (Node node : nodes) {
            answer.brokers()
                    .add(new MetadataResponseData.MetadataResponseBroker()
                            .setNodeId(node.id())
                            .setHost(node.host())
                            .setPort(node.port()));
        }
        MetadataResponseData.MetadataResponsePartition partition = new MetadataResponseData.MetadataResponsePartition()
                .setPartitionIndex(0)
                .setLeaderId(1)
                .setLeaderEpoch(3);
        answer.topics()
                .add(new MetadataResponseData.MetadataResponseTopic()
                        .setName("t")
                        .setPartitions(List.of(partition)));
        return answer;
    }

    private static <T> T get(CompletableFuture<T> future) throws Exception {
        return future.get(20, TimeUnit.SECONDS);
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
    void aDeadBootstrapServerIsPassedOver() throws Exception {
        AtomicReference<Node> self = new AtomicReference<>();
        Function<Request, ApiMessage> answer = request -> metadata(self.get());
        try (FakeBroker broker = FakeBroker.start(group, Map.of(METADATA, answer));
                NettyClusterClient client = client(deadAddress(), broker.address(), deadAddress())) {
            self.set(broker.node(1));
            assertThat(client.lastMetadata()).isNull();
            ClusterMetadata metadata = get(client.metadata(null));
            assertThat(metadata.clusterId()).isEqualTo("c");
            assertThat(metadata.node(1)).contains(broker.node(1));
            assertThat(metadata.topics().get("t").partitions())
                    .containsExactly(new ClusterMetadata.PartitionInfo(0, (short) 0, 1, 3));
            assertThat(client.lastMetadata()).isEqualTo(metadata);
        }
    }

    @Test
    void whenNobodyAnswersEveryServerIsNamed() {
        String one = deadAddress();
        String two = deadAddress();
        try (NettyClusterClient client = client(one, two)) {
            assertThat(failure(client.metadata(null)))
                    .isInstanceOf(ConnectionClosed.class)
                    .hasMessageContaining(one + ": cannot connect: connection refused")
                    .hasMessageContaining(two + ": cannot connect: connection refused");
        }
    }

    @Test
    @SuppressWarnings("try")
    void learnedBrokersServeWhenTheBootstrapServerIsGone() throws Exception {
        AtomicReference<Node> second = new AtomicReference<>();
        Function<Request, ApiMessage> answer = request -> metadata(second.get());
        FakeBroker first = FakeBroker.start(group, Map.of(METADATA, answer));
        try (FakeBroker other = FakeBroker.start(group, Map.of(METADATA, answer));
                NettyClusterClient client = client(first.address())) {
            second.set(other.node(2));
            get(client.metadata(List.of()));
            first.close();
            await().untilAsserted(() ->
                    assertThat(get(client.metadata(List.of())).nodes()).containsKey(2));
            Connection own = get(client.connect(2));
            assertThat(own.node()).isEqualTo(other.node(2));
            client.close();
            assertThat(get(own.closed())).hasMessageContaining("closed by this side");
        }
    }

    @Test
    void aBrokerThatMovedIsFoundAtItsNewAddress() throws Exception {
        AtomicReference<Node> self = new AtomicReference<>();
        Map<Short, Function<Request, ApiMessage>> answers = Map.of(
                METADATA, request -> metadata(self.get()),
                LIST_GROUPS, request -> new ListGroupsResponseData());
        FakeBroker before = FakeBroker.start(group, answers);
        try (FakeBroker after = FakeBroker.start(group, answers);
                NettyClusterClient client = client(before.address(), after.address())) {
            self.set(before.node(1));
            get(client.metadata(null));
            get(client.send(1, new ListGroupsRequestData())).close();
            self.set(after.node(1));
            before.close();
            get(client.metadata(null));
            get(client.send(1, new ListGroupsRequestData())).close();
            assertThat(failure(client.send(8, new ListGroupsRequestData())))
                    .hasMessageContaining("broker 8 is not known");
        }
    }

    @Test
    void aBrokerThatComesBackIsConnectedAgain() throws Exception {
        AtomicReference<Node> self = new AtomicReference<>();
        Map<Short, Function<Request, ApiMessage>> answers = Map.of(METADATA, request -> metadata(self.get()));
        FakeBroker broker = FakeBroker.start(group, answers);
        self.set(broker.node(1));
        try (NettyClusterClient client = client(broker.address())) {
            get(client.metadata(null));
            // its end goes away together with what it had accepted
            get(client.connect(1)).close();
            broker.close();
            try (FakeBroker again = FakeBroker.start(group, broker.port(), answers)) {
                assertThat(again.port()).isEqualTo(self.get().port());
                await().untilAsserted(() -> get(client.connect(1)).close());
            }
        }
    }

    @Test
    void coordinatorsAreFoundInEveryVersion() throws Exception {
        AtomicInteger seen = new AtomicInteger();
        Function<Request, ApiMessage> answer = request -> {
            seen.incrementAndGet();
            FindCoordinatorRequestData asked = (FindCoordinatorRequestData) request.body();
            assertThat(asked.coordinatorKeys()).containsExactly("g");
            short error = (short) (asked.keyType() == 1 ? 15 : 0);
            return new FindCoordinatorResponseData()
                    .setCoordinators(List.of(new FindCoordinatorResponseData.Coordinator()
                            .setKey("g")
                            .setNodeId(5)
                            .setHost("h")
                            .setPort(99)
                            .setErrorCode(error)));
        };
        try (FakeBroker broker = FakeBroker.start(group, Map.of(FIND_COORDINATOR, answer));
                NettyClusterClient client = client(broker.address())) {
            assertThat(get(client.coordinator((byte) 0, "g"))).isEqualTo(new Node(5, "h", 99));
            assertThat(failure(client.coordinator((byte) 1, "g"))).isInstanceOf(CoordinatorNotAvailableException.class);
            assertThat(seen).hasValue(2);
        }
    }

    @Test
    void aClosedClientSaysSo() {
        NettyClusterClient client = client(deadAddress());
        client.close();
        client.close();
        assertThat(failure(client.metadata(null))).hasMessageContaining("has been closed");
        assertThat(failure(client.sendToAny(new ListGroupsRequestData()))).hasMessageContaining("has been closed");
    }

    @Test
    void askingForTopicsNeverCreatesThem() {
        for (int version = 0; version <= 13; version++) {
            MetadataRequestData some = MetadataExchange.request(List.of("a", "b"), version);
            MetadataRequestData none = MetadataExchange.request(List.of(), version);
            MetadataRequestData all = MetadataExchange.request(null, version);
            if (version < 4) {
                // the broker would create what it is asked for by name: ask for everything instead
                assertThat(some.topics()).isNullOrEmpty();
            } else {
                assertThat(some.allowAutoTopicCreation()).isFalse();
                assertThat(some.topics()).hasSize(2);
            }
            assertThat(none.topics()).isEmpty();
            if (version == 0) {
                assertThat(all.topics()).isEmpty();
            } else {
                assertThat(all.topics()).isNull();
            }
        }
        MetadataResponseData answer = metadata(new Node(1, "h", 1), new Node(2, "", 9092), new Node(3, "h", 0));
        assertThat(MetadataExchange.read(answer, null).nodes()).containsOnlyKeys(1);
        assertThat(MetadataExchange.read(answer, List.of("other")).topics()).isEmpty();
        assertThat(MetadataExchange.read(answer, List.of("t")).topics()).containsOnlyKeys("t");
    }

    @Test
    void bootstrapServersAreHostAndPort() {
        assertThat(HostPort.parse(" a.b:1 ", -1)).isEqualTo(new Node(-1, "a.b", 1));
        assertThat(HostPort.parse("[::1]:9092", -1)).isEqualTo(new Node(-1, "::1", 9092));
        for (String bad : List.of("", "a", "a:", ":1", "a:0", "a:65536", "a:b", "::1:9092", " :9092", "http://a:1")) {
            assertThatThrownBy(() -> client(bad))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining("'" + bad + "'");
        }
    }

    @Test
    void pausesDoubleUpToFiveSeconds() {
        Backoff backoff = new Backoff(new SplittableRandom(1));
        assertThat(backoff.waitNanos(0)).isZero();
        long now = 0;
        for (int i = 0; i < 50; i++) {
            backoff.failed(now);
            long waitMs = backoff.waitNanos(now) / 1_000_000;
            long base = Math.min(5_000, 100L << Math.min(i, 10));
            assertThat(waitMs).isBetween(base * 8 / 10 - 1, base * 12 / 10 + 1);
            assertThat(backoff.waitNanos(now + backoff.waitNanos(now))).isZero();
            now += 1_000_000;
        }
        backoff.succeeded();
        assertThat(backoff.waitNanos(now)).isZero();
    }
}
