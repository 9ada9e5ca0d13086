package io.kagami.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import io.kagami.protocol.records.RecordBatches;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.DeleteTopicsRequestData;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchRequestData.FetchPartition;
import org.apache.kafka.common.message.FetchRequestData.FetchTopic;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsTopic;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsPartitionResponse;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderTopic;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceRequestData.PartitionProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.message.ProduceResponseData.PartitionProduceResponse;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A whole broker in this process, spoken to byte by byte. */
class BrokerTest {
    private static final String TOPIC = "t";
    private static final long TIME = 1_700_000_000_000L;

    @TempDir
    Path dir;

    private final AtomicReference<String> fatal = new AtomicReference<>();
    private Broker broker;
    private RawClient client;

    @BeforeEach
    void startBroker() throws IOException {
        broker = Broker.start(config(), InstantSource.system(), (what, failure) -> fatal.set(what + ": " + failure));
        client = new RawClient(broker.addresses().get("PLAINTEXT"));
    }

    private BrokerConfig config(String... more) {
        List<String> lines = new ArrayList<>(List.of(
                "log.dirs=" + dir.resolve("data"),
                "listeners=PLAINTEXT://127.0.0.1:0",
                "metrics.listener=http://127.0.0.1:0",
                "offsets.topic.num.partitions=1",
                "auto.create.topics.enable=false"));
        lines.addAll(List.of(more));
        return BrokerConfig.parse(lines, "test.properties");
    }

    @AfterEach
    void stopBroker() throws IOException {
        client.close();
        broker.close();
        assertThat(fatal.get()).isNull();
    }

    private void restart() throws IOException {
        client.close();
        broker.close();
        startBroker();
    }

    private Uuid create(String topic, int partitions, String... configs) throws IOException {
        CreatableTopic wanted =
                new CreatableTopic().setName(topic).setNumPartitions(partitions).setReplicationFactor((short) 1);
        for (int i = 0; i < configs.length; i += 2) {
            wanted.configs()
                    .add(new CreateTopicsRequestData.CreatableTopicConfig()
                            .setName(configs[i])
                            .setValue(configs[i + 1]));
        }
        CreateTopicsRequestData request = new CreateTopicsRequestData().setTimeoutMs(10_000);
        request.topics().add(wanted);
        CreateTopicsResponseData response = (CreateTopicsResponseData) client.call(ApiKeys.CREATE_TOPICS, 7, request);
        assertThat(response.topics().find(topic).errorCode()).isZero();
        return response.topics().find(topic).topicId();
    }

    private static ByteBuffer batch(Codec codec, String... values) {
        BatchBuilder builder = new BatchBuilder(codec);
        for (int i = 0; i < values.length; i++) {
            builder.append(TIME + i, null, values[i].getBytes(StandardCharsets.UTF_8));
        }
        return builder.build();
    }

    private static ProduceRequestData produceRequest(String topic, int partition, int acks, ByteBuffer records) {
        TopicProduceData data = new TopicProduceData().setName(topic);
        data.partitionData()
                .add(new PartitionProduceData().setIndex(partition).setRecords(RecordBatches.toRecords(records)));
        ProduceRequestData request =
                new ProduceRequestData().setAcks((short) acks).setTimeoutMs(10_000);
        request.topicData().add(data);
        return request;
    }

    private PartitionProduceResponse produce(int version, String topic, ByteBuffer records) throws IOException {
        ProduceResponseData response =
                (ProduceResponseData) client.call(ApiKeys.PRODUCE, version, produceRequest(topic, 0, -1, records));
        return response.responses().iterator().next().partitionResponses().get(0);
    }

    private static FetchRequestData fetchRequest(String topic, long offset, int waitMs, int bytes) {
        FetchRequestData request = new FetchRequestData()
                .setMaxWaitMs(waitMs)
                .setMinBytes(1)
                .setMaxBytes(bytes)
                .setSessionEpoch(-1);
        request.setTopics(List.of(new FetchTopic()
                .setTopic(topic)
                .setPartitions(List.of(new FetchPartition()
                        .setPartition(0)
                        .setFetchOffset(offset)
                        .setPartitionMaxBytes(bytes)))));
        return request;
    }

    private static PartitionData only(FetchResponseData response) {
        return response.responses().get(0).partitions().get(0);
    }

    private PartitionData fetch(int version, String topic, long offset, int bytes) throws IOException {
        return only((FetchResponseData) client.call(ApiKeys.FETCH, version, fetchRequest(topic, offset, 0, bytes)));
    }

    private static List<String> values(PartitionData data) {
        List<String> values = new ArrayList<>();
        RecordBatches.forEachRecord(
                RecordBatches.bytes(data.records()),
                1 << 20,
                record -> values.add(record.offset() + "="
                        + StandardCharsets.UTF_8.decode(record.value().duplicate())));
        return values;
    }

    private ListOffsetsPartitionResponse offset(int version, long timestamp) throws IOException {
        ListOffsetsRequestData request = new ListOffsetsRequestData().setReplicaId(-1);
        request.setTopics(List.of(new ListOffsetsTopic()
                .setName(TOPIC)
                .setPartitions(
                        List.of(new ListOffsetsPartition().setPartitionIndex(0).setTimestamp(timestamp)))));
        ListOffsetsResponseData response =
                (ListOffsetsResponseData) client.call(ApiKeys.LIST_OFFSETS, version, request);
        return response.topics().get(0).partitions().get(0);
    }

    @Test
    void whatIsProducedIsFetchedInEveryVersion() throws IOException {
        create(TOPIC, 1);
        for (int version = 3; version <= 12; version++) {
            PartitionProduceResponse answer = produce(version, TOPIC, batch(Codec.LZ4, "a" + version, "b" + version));
            assertThat(answer.errorCode()).as("version %s", version).isZero();
            assertThat(answer.baseOffset()).isEqualTo(2L * (version - 3));
            assertThat(answer.logAppendTimeMs()).isEqualTo(-1);
        }
        for (int version = 4; version <= 12; version++) {
            PartitionData data = fetch(version, TOPIC, 3, 1 << 20);
            assertThat(values(data)).as("version %s", version).hasSize(18).startsWith("2=a4", "3=b4");
            assertThat(data.highWatermark()).isEqualTo(20);
            assertThat(data.abortedTransactions()).isNull();
        }
    }

    @Test
    void topicsAreFoundByIdFromProduce13AndFetch13On() throws IOException {
        Uuid id = create(TOPIC, 1);
        ProduceRequestData request = produceRequest("", 0, 1, batch(Codec.NONE, "x"));
        request.topicData().iterator().next().setTopicId(id);
        ProduceResponseData produced = (ProduceResponseData) client.call(ApiKeys.PRODUCE, 13, request);
        assertThat(produced.responses()
                        .iterator()
                        .next()
                        .partitionResponses()
                        .get(0)
                        .errorCode())
                .isZero();
        for (int version = 13; version <= 18; version++) {
            FetchRequestData fetch = fetchRequest("", 0, 0, 1000);
            fetch.topics().get(0).setTopicId(id);
            FetchResponseData response = (FetchResponseData) client.call(ApiKeys.FETCH, version, fetch);
            assertThat(values(only(response))).containsExactly("0=x");
            assertThat(response.responses().get(0).topicId()).isEqualTo(id);
        }
        FetchRequestData stranger = fetchRequest("", 0, 10_000, 1000);
        stranger.topics().get(0).setTopicId(Uuid.randomUuid());
        assertThat(only((FetchResponseData) client.call(ApiKeys.FETCH, 17, stranger))
                        .errorCode())
                .isEqualTo(Errors.UNKNOWN_TOPIC_ID.code());
    }

    @Test
    void atLeastOneBatchComesWhateverTheLimit() throws IOException {
        create(TOPIC, 1);
        produce(9, TOPIC, batch(Codec.NONE, "x".repeat(5000)));
        produce(9, TOPIC, batch(Codec.NONE, "y".repeat(5000)));
        PartitionData data = fetch(11, TOPIC, 0, 1);
        assertThat(data.records().sizeInBytes()).isBetween(5000, 6000);
    }

    @Test
    void offsetsOutOfRangeAreAnsweredAtOnceWithoutOffsets() throws IOException {
        create(TOPIC, 1);
        for (long offset : new long[] {-5, 1, Long.MAX_VALUE}) {
            PartitionData data =
                    only((FetchResponseData) client.call(ApiKeys.FETCH, 11, fetchRequest(TOPIC, offset, 10_000, 1000)));
            assertThat(data.errorCode()).isEqualTo(Errors.OFFSET_OUT_OF_RANGE.code());
            assertThat(List.of(data.highWatermark(), data.lastStableOffset(), data.logStartOffset()))
                    .containsOnly(-1L);
            assertThat(data.records().sizeInBytes()).isZero();
        }
    }

    @Test
    void aWaitingFetchIsWokenByAnAppendAndDelaysLaterAnswersOfItsConnection() throws IOException {
        create(TOPIC, 1);
        int fetch = client.send(ApiKeys.FETCH, 11, fetchRequest(TOPIC, 0, 15_000, 1000));
        int metadata = client.send(ApiKeys.METADATA, 9, new MetadataRequestData().setTopics(null));
        long begun = System.nanoTime();
        try (RawClient other = new RawClient(broker.addresses().get("PLAINTEXT"))) {
            other.call(ApiKeys.PRODUCE, 9, produceRequest(TOPIC, 0, -1, batch(Codec.NONE, "late")));
        }
        assertThat(values(only((FetchResponseData) client.receive(ApiKeys.FETCH, 11, fetch))))
                .containsExactly("0=late");
        assertThat(((MetadataResponseData) client.receive(ApiKeys.METADATA, 9, metadata)).topics())
                .isNotEmpty();
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(Duration.ofSeconds(10));
    }

    @Test
    void aWaitingFetchEndsWithItsTimeAndWithTheBroker() throws IOException {
        create(TOPIC, 1);
        long begun = System.nanoTime();
        assertThat(values(only((FetchResponseData) client.call(ApiKeys.FETCH, 11, fetchRequest(TOPIC, 0, 300, 1000)))))
                .isEmpty();
        assertThat(Duration.ofNanos(System.nanoTime() - begun)).isGreaterThan(Duration.ofMillis(250));
        int parked = client.send(ApiKeys.FETCH, 11, fetchRequest(TOPIC, 0, 600_000, 1000));
        client.send(ApiKeys.METADATA, 9, new MetadataRequestData().setTopics(null));
        broker.close();
        assertThat(only((FetchResponseData) client.receive(ApiKeys.FETCH, 11, parked))
                        .errorCode())
                .isZero();
    }

    @Test
    void produceWithoutAcknowledgementTakesNoPlaceInTheAnswers() throws IOException {
        create(TOPIC, 1);
        client.send(ApiKeys.PRODUCE, 9, produceRequest(TOPIC, 0, 0, batch(Codec.NONE, "silent")));
        assertThat(values(
                        only((FetchResponseData) client.call(ApiKeys.FETCH, 11, fetchRequest(TOPIC, 0, 10_000, 1000)))))
                .containsExactly("0=silent");
        client.send(ApiKeys.PRODUCE, 9, produceRequest("nowhere", 0, 0, batch(Codec.NONE, "lost")));
        assertThat(client.closedByPeer()).isTrue();
    }

    @Test
    void refusedProducesHaveKafkasCodes() throws IOException {
        create(TOPIC, 1);
        assertThat(produce(9, "nowhere", batch(Codec.NONE, "x")).errorCode())
                .isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION.code());
        ProduceResponseData acks2 = (ProduceResponseData)
                client.call(ApiKeys.PRODUCE, 9, produceRequest(TOPIC, 0, 2, batch(Codec.NONE, "x")));
        assertThat(acks2.responses()
                        .iterator()
                        .next()
                        .partitionResponses()
                        .get(0)
                        .errorCode())
                .isEqualTo(Errors.INVALID_REQUIRED_ACKS.code());
        assertThat(produce(6, TOPIC, batch(Codec.ZSTD, "x")).errorCode())
                .isEqualTo(Errors.UNSUPPORTED_COMPRESSION_TYPE.code());
        assertThat(offset(4, -1).offset()).as("nothing was appended").isZero();
    }

    @Test
    void clientsDoNotWriteWhereTheCoordinatorsWrite() throws IOException {
        FindCoordinatorRequestData question = new FindCoordinatorRequestData().setCoordinatorKeys(List.of("g"));
        Awaitility.await().untilAsserted(() -> {
            FindCoordinatorResponseData found =
                    (FindCoordinatorResponseData) client.call(ApiKeys.FIND_COORDINATOR, 4, question);
            assertThat(found.coordinators().get(0).errorCode()).isZero();
        });
        PartitionProduceResponse answer = produce(9, "__consumer_offsets", batch(Codec.NONE, "x"));
        assertThat(answer.errorCode()).isEqualTo(Errors.INVALID_TOPIC_EXCEPTION.code());
        assertThat(answer.errorMessage()).contains("__consumer_offsets");
    }

    @Test
    void appendTimeTopicsAnswerTheirTime() throws IOException {
        create(TOPIC, 1, "message.timestamp.type", "LogAppendTime");
        PartitionProduceResponse answer = produce(9, TOPIC, batch(Codec.GZIP, "a", "b"));
        assertThat(answer.logAppendTimeMs()).isGreaterThan(TIME);
        ListOffsetsPartitionResponse found = offset(7, answer.logAppendTimeMs());
        assertThat(found.offset()).isZero();
        assertThat(found.timestamp()).isEqualTo(answer.logAppendTimeMs());
    }

    @Test
    void timesAreFoundToTheRecordAlsoOutOfOrder() throws IOException {
        create(TOPIC, 1);
        assertThat(offset(7, -3).offset()).isEqualTo(-1);
        produce(
                9,
                TOPIC,
                new BatchBuilder(Codec.LZ4)
                        .append(TIME + 5, null, new byte[1])
                        .append(TIME + 50, null, new byte[1])
                        .append(TIME + 7, null, new byte[1])
                        .build());
        produce(
                9,
                TOPIC,
                new BatchBuilder(Codec.NONE)
                        .append(TIME + 6, null, new byte[1])
                        .append(TIME + 60, null, new byte[1])
                        .build());
        assertThat(offset(7, TIME + 6).offset()).isEqualTo(1);
        assertThat(offset(7, TIME + 51).offset()).isEqualTo(4);
        assertThat(offset(7, TIME + 51).timestamp()).isEqualTo(TIME + 60);
        assertThat(offset(7, TIME + 61).offset()).isEqualTo(-1);
        assertThat(offset(7, TIME + 61).errorCode()).isZero();
        assertThat(offset(7, -3).offset()).isEqualTo(4);
        assertThat(offset(7, -1).offset()).isEqualTo(5);
        assertThat(offset(7, -2).offset()).isZero();
        assertThat(offset(8, -4).offset()).isZero();
        assertThat(offset(11, -6).offset()).isEqualTo(-1);
        assertThat(offset(6, -3).errorCode()).isEqualTo(Errors.UNSUPPORTED_VERSION.code());
        assertThat(offset(11, -9).errorCode()).isEqualTo(Errors.UNSUPPORTED_VERSION.code());
        assertThat(offset(1, -1).offset()).isEqualTo(5);
    }

    @Test
    void epochsAreFencedAndTheirEndsKnown() throws IOException {
        create(TOPIC, 1);
        produce(9, TOPIC, batch(Codec.NONE, "a"));
        FetchRequestData ahead = fetchRequest(TOPIC, 0, 0, 1000);
        ahead.topics().get(0).partitions().get(0).setCurrentLeaderEpoch(99);
        assertThat(only((FetchResponseData) client.call(ApiKeys.FETCH, 11, ahead))
                        .errorCode())
                .isEqualTo(Errors.UNKNOWN_LEADER_EPOCH.code());
        OffsetForLeaderEpochRequestData request = new OffsetForLeaderEpochRequestData().setReplicaId(-1);
        OffsetForLeaderTopic topic = new OffsetForLeaderTopic().setTopic(TOPIC);
        topic.setPartitions(List.of(
                new OffsetForLeaderPartition().setPartition(0).setLeaderEpoch(0),
                new OffsetForLeaderPartition().setPartition(0).setLeaderEpoch(5)));
        request.topics().add(topic);
        OffsetForLeaderEpochResponseData response =
                (OffsetForLeaderEpochResponseData) client.call(ApiKeys.OFFSET_FOR_LEADER_EPOCH, 4, request);
        assertThat(response.topics().iterator().next().partitions())
                .extracting(each -> each.leaderEpoch() + ":" + each.endOffset())
                .containsExactly("0:1", "-1:-1");
    }

    @Test
    void producerIdsAreNeverGivenTwice() throws IOException {
        List<Long> ids = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            InitProducerIdResponseData response = (InitProducerIdResponseData)
                    client.call(ApiKeys.INIT_PRODUCER_ID, 4, new InitProducerIdRequestData().setTransactionalId(null));
            assertThat(response.errorCode()).isZero();
            ids.add(response.producerId());
            restart();
        }
        assertThat(ids).doesNotHaveDuplicates();
        InitProducerIdResponseData refused = (InitProducerIdResponseData)
                client.call(ApiKeys.INIT_PRODUCER_ID, 4, new InitProducerIdRequestData().setTransactionalId("tx"));
        assertThat(refused.errorCode()).isEqualTo(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED.code());
    }

    @Test
    void recordsSurviveARestartAndDeletedTopicsDoNot() throws IOException {
        Uuid old = create(TOPIC, 2);
        produce(9, TOPIC, batch(Codec.ZSTD, "kept"));
        restart();
        assertThat(values(fetch(11, TOPIC, 0, 1000))).containsExactly("0=kept");
        DeleteTopicsRequestData delete = new DeleteTopicsRequestData().setTimeoutMs(10_000);
        delete.setTopicNames(List.of(TOPIC));
        client.call(ApiKeys.DELETE_TOPICS, 5, delete);
        assertThat(fetch(11, TOPIC, 0, 1000).errorCode()).isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION.code());
        assertThat(create(TOPIC, 1)).isNotEqualTo(old);
        assertThat(offset(4, -1).offset()).isZero();
        assertThat(dir.resolve("data").resolve(TOPIC + "-1")).doesNotExist();
    }

    @Test
    void aLogOfNoKnownTopicIsKeptUnderAnotherName() throws IOException {
        create(TOPIC, 1);
        client.close();
        broker.close();
        Path data = dir.resolve("data");
        Files.move(data.resolve(TOPIC + "-0"), data.resolve("stranger-0"));
        startBroker();
        assertThat(offset(4, -1).offset()).isZero();
        try (var children = Files.list(data)) {
            assertThat(children.map(each -> each.getFileName().toString()))
                    .anyMatch(name -> name.startsWith("stranger-0.") && name.endsWith("-stray"))
                    .contains(TOPIC + "-0");
        }
    }

    @Test
    void garbageEndsItsConnectionOnly() throws IOException {
        byte[][] garbage = {
            {-1, -1, -1, -1},
            {0x7f, -1, -1, -1},
            "GET / HTTP/1.1\r\n\r\n".getBytes(StandardCharsets.US_ASCII),
            {0, 0, 0, 10, 3, (byte) 231, 0, 0, 0, 0, 0, 1, -1, -1},
            {0, 0, 0, 12, 0, 3, 0, 99, 0, 0, 0, 1, -1, -1, 0, 0}
        };
        for (byte[] each : garbage) {
            try (RawClient bad = new RawClient(broker.addresses().get("PLAINTEXT"))) {
                bad.write(each);
                assertThat(bad.closedByPeer()).isTrue();
            }
        }
        create(TOPIC, 1);
    }

    @Test
    void healthAndMetricsAreServed() throws Exception {
        create(TOPIC, 3);
        assertThat(get("/health/live").statusCode()).isEqualTo(200);
        assertThat(get("/health/ready").statusCode()).isEqualTo(200);
        assertThat(get("/nothing").statusCode()).isEqualTo(404);
        assertThat(get("/metrics").body())
                .contains("kagami_partitions{mode=\"writable\"} 3.0")
                .contains("kagami_requests_seconds_count{api=\"CreateTopics\"} 1")
                .contains("jvm_memory_used_bytes");
    }

    private HttpResponse<String> get(String path) throws Exception {
        URI uri = URI.create("http://127.0.0.1:" + broker.metricsAddress().getPort() + path);
        return HttpClient.newHttpClient()
                .send(HttpRequest.newBuilder(uri).build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void aSecondBrokerIsRefusedInOneSentence() {
        int port = broker.addresses().get("PLAINTEXT").getPort();
        BrokerConfig samePort = config("node.id=1");
        assertThatThrownBy(() -> Broker.start(samePort, InstantSource.system(), (what, failure) -> {}))
                .hasMessageContaining("another");
        BrokerConfig taken = BrokerConfig.parse(
                List.of(
                        "log.dirs=" + dir.resolve("other"),
                        "listeners=PLAINTEXT://127.0.0.1:" + port,
                        "metrics.listener="),
                "test.properties");
        assertThatThrownBy(() -> Broker.start(taken, InstantSource.system(), (what, failure) -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("cannot listen on 127.0.0.1:" + port);
        assertThat(dir.resolve("other")).doesNotExist();
    }

    @Test
    void theBoundPortsAreWrittenDown() throws IOException {
        assertThat(Files.readAllLines(dir.resolve("data").resolve(Broker.PORTS_FILE)))
                .contains("PLAINTEXT=127.0.0.1:"
                        + broker.addresses().get("PLAINTEXT").getPort());
    }

    private static ByteBuffer ofProducer(long id, int epoch, int sequence, long timestamp) {
        return new BatchBuilder(Codec.LZ4)
                .producer(id, (short) epoch, sequence)
                .append(timestamp, "k".getBytes(StandardCharsets.UTF_8), "v".getBytes(StandardCharsets.UTF_8))
                .build();
    }

    @Test
    void aProducerThatSendsAgainIsToldTheFirstOffset() throws IOException {
        create(TOPIC, 1);
        long now = TIME;
        for (int i = 0; i < 7; i++) {
            assertThat(produce(9, TOPIC, ofProducer(5, 2, i, now + i)).baseOffset())
                    .isEqualTo(i);
        }
        PartitionProduceResponse again = produce(9, TOPIC, ofProducer(5, 2, 4, now + 4));
        assertThat(Errors.forCode(again.errorCode())).isEqualTo(Errors.NONE);
        assertThat(again.baseOffset()).isEqualTo(4);
        assertThat(again.logAppendTimeMs()).isEqualTo(now + 4);
        assertThat(error(ofProducer(5, 2, 1, now))).isEqualTo(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER);
        assertThat(error(ofProducer(5, 2, 9, now))).isEqualTo(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER);
        assertThat(error(ofProducer(5, 3, 1, now))).isEqualTo(Errors.OUT_OF_ORDER_SEQUENCE_NUMBER);
        assertThat(error(ofProducer(5, 1, 7, now))).isEqualTo(Errors.INVALID_PRODUCER_EPOCH);
        assertThat(produce(9, TOPIC, ofProducer(99, 0, 1234, now)).baseOffset()).isEqualTo(7);
        assertThat(produce(9, TOPIC, ofProducer(5, 3, 0, now)).baseOffset()).isEqualTo(8);
    }

    private Errors error(ByteBuffer batch) throws IOException {
        PartitionProduceResponse answer = produce(9, TOPIC, batch);
        assertThat(answer.baseOffset()).isEqualTo(-1);
        return Errors.forCode(answer.errorCode());
    }

    @Test
    void kafka7692_aProducerAtItsLastEpochGetsANewIdNotAnOlderEpoch() throws IOException {
        create(TOPIC, 1);
        assertThat(produce(9, TOPIC, ofProducer(5, Short.MAX_VALUE, 0, TIME)).baseOffset())
                .isZero();
        assertThat(error(ofProducer(5, 0, 0, TIME))).isEqualTo(Errors.INVALID_PRODUCER_EPOCH);
        InitProducerIdRequestData again = new InitProducerIdRequestData()
                .setTransactionalId(null)
                .setProducerId(5)
                .setProducerEpoch(Short.MAX_VALUE);
        InitProducerIdResponseData granted =
                (InitProducerIdResponseData) client.call(ApiKeys.INIT_PRODUCER_ID, 4, again);
        assertThat(granted.errorCode()).isZero();
        assertThat(granted.producerId()).isNotEqualTo(5);
        assertThat(granted.producerEpoch()).isZero();
    }

    @Test
    void aTopicWithItsOwnCompressionStoresThatAndKnowsRetries() throws IOException {
        create(TOPIC, 1, "compression.type", "zstd");
        assertThat(produce(9, TOPIC, ofProducer(5, 0, 0, TIME)).baseOffset()).isZero();
        assertThat(produce(9, TOPIC, ofProducer(5, 0, 0, TIME)).baseOffset()).isZero();
        assertThat(produce(9, TOPIC, ofProducer(5, 0, 1, TIME)).baseOffset()).isEqualTo(1);
        assertThat(RecordBatches.of(
                        RecordBatches.bytes(fetch(11, TOPIC, 0, 1 << 20).records())))
                .allMatch(batch -> batch.codec() == Codec.ZSTD)
                .hasSize(2);
    }
}
