package io.kagami.broker.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.broker.cluster.RaftCluster;
import io.kagami.broker.net.Session;
import io.kagami.mirror.core.Desired;
import io.kagami.protocol.Api;
import io.kagami.protocol.Request;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableReplicaAssignment;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopicConfig;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.CreateTopicsResponseData.CreatableTopicResult;
import org.apache.kafka.common.message.DeleteTopicsRequestData;
import org.apache.kafka.common.message.DeleteTopicsRequestData.DeleteTopicState;
import org.apache.kafka.common.message.DeleteTopicsResponseData;
import org.apache.kafka.common.message.DeleteTopicsResponseData.DeletableTopicResult;
import org.apache.kafka.common.message.DescribeConfigsRequestData;
import org.apache.kafka.common.message.DescribeConfigsRequestData.DescribeConfigsResource;
import org.apache.kafka.common.message.DescribeConfigsResponseData;
import org.apache.kafka.common.message.DescribeConfigsResponseData.DescribeConfigsResult;
import org.apache.kafka.common.message.DescribeTopicPartitionsRequestData;
import org.apache.kafka.common.message.DescribeTopicPartitionsRequestData.TopicRequest;
import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData.AlterConfigsResource;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData.AlterableConfig;
import org.apache.kafka.common.message.IncrementalAlterConfigsResponseData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataRequestData.MetadataRequestTopic;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The answers were compared with those of a real Kafka 4.4.0 broker to the same requests. */
class MetadataApisTest {
    private static final Session SESSION =
            new Session(new InetSocketAddress(InetAddress.getLoopbackAddress(), 1), "PLAINTEXT");

    @TempDir
    Path directory;

    private final Set<String> offline = new HashSet<>();
    private RaftCluster cluster;
    private Map<Short, Handler> handlers;

    @BeforeEach
    void start() {
        cluster = RaftCluster.start(directory, 1, null, InstantSource.system(), failure -> {
            throw new AssertionError(failure);
        });
        handlers = handlers(true);
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private Map<Short, Handler> handlers(boolean autoCreate) {
        return MetadataApis.handlers(
                cluster,
                new MetadataOptions(
                        listener -> new HostPort(listener.toLowerCase(java.util.Locale.ROOT), 9092),
                        autoCreate,
                        4,
                        (short) 1,
                        Map.of("retention.ms", "1234")),
                (topic, partition) -> !offline.contains(topic + partition));
    }

    private ApiMessage ask(ApiMessage body, int version) {
        short v = (short) version;
        Request request = new Request(
                new Api(body.apiKey(), "x", v, v, v, Api.Visibility.PUBLIC),
                new RequestHeaderData().setRequestApiKey(body.apiKey()).setRequestApiVersion(v),
                body,
                Unpooled.EMPTY_BUFFER,
                0);
        return handlers.get(body.apiKey())
                .handle(request, SESSION)
                .toCompletableFuture()
                .join();
    }

    private static CreatableTopic topic(String name, int partitions, int factor, String... configs) {
        CreatableTopic topic =
                new CreatableTopic().setName(name).setNumPartitions(partitions).setReplicationFactor((short) factor);
        for (int i = 0; i < configs.length; i += 2) {
            topic.configs().add(new CreatableTopicConfig().setName(configs[i]).setValue(configs[i + 1]));
        }
        return topic;
    }

    private static CreatableTopic assigned(CreatableTopic topic, int partition, Integer... brokers) {
        topic.assignments()
                .add(new CreatableReplicaAssignment()
                        .setPartitionIndex(partition)
                        .setBrokerIds(List.of(brokers)));
        return topic;
    }

    private CreateTopicsResponseData create(boolean validateOnly, CreatableTopic... topics) {
        CreateTopicsRequestData body = new CreateTopicsRequestData().setValidateOnly(validateOnly);
        for (CreatableTopic topic : topics) {
            body.topics().mustAdd(topic);
        }
        return (CreateTopicsResponseData) ask(body, 7);
    }

    private void refused(Errors error, CreatableTopic topic) {
        String what = topic.toString();
        CreatableTopicResult result = create(false, topic).topics().iterator().next();
        assertThat(Errors.forCode(result.errorCode())).as(what).isEqualTo(error);
        assertThat(result.errorMessage()).as(what).isNotBlank();
    }

    @Test
    void creationsAreRefusedWithKafkasCodes() {
        create(false, topic("there", 1, 1), topic("a.b", 1, 1));
        refused(Errors.TOPIC_ALREADY_EXISTS, topic("there", 1, 1));
        refused(Errors.TOPIC_ALREADY_EXISTS, topic("there", 0, 9, "foo", "x"));
        refused(Errors.INVALID_TOPIC_EXCEPTION, topic("a_b", 1, 1));
        refused(Errors.INVALID_TOPIC_EXCEPTION, topic("a b", 1, 1));
        refused(Errors.INVALID_TOPIC_EXCEPTION, topic("", 1, 1));
        refused(Errors.INVALID_PARTITIONS, topic("x", 0, 1));
        refused(Errors.INVALID_PARTITIONS, topic("x", -2, 1));
        refused(Errors.INVALID_REPLICATION_FACTOR, topic("x", 1, 0));
        refused(Errors.INVALID_REPLICATION_FACTOR, topic("x", 1, 3));
        refused(Errors.INVALID_CONFIG, topic("x", 1, 3, "foo", "x"));
        refused(Errors.INVALID_CONFIG, topic("x", 1, 1, "foo", "x"));
        refused(Errors.INVALID_CONFIG, topic("x", 1, 1, "retention.ms", "abc"));
        refused(Errors.INVALID_CONFIG, topic("x", 1, 1, "retention.ms", null));
        refused(Errors.INVALID_CONFIG, topic("x", 1, 1, "segment.bytes", "1"));
        refused(Errors.INVALID_CONFIG, topic("x", 1, 1, "min.compaction.lag.ms", "2", "max.compaction.lag.ms", "1"));
        refused(Errors.INVALID_CONFIG, topic("x", 1, 1, "remote.storage.enable", "true"));
        refused(Errors.INVALID_REQUEST, assigned(topic("x", 1, 1), 0, 1));
        refused(Errors.INVALID_REQUEST, assigned(topic("x", 1, -1), 0, 1));
        refused(Errors.INVALID_REPLICA_ASSIGNMENT, assigned(topic("x", -1, -1), 0, 9));
        refused(Errors.INVALID_REPLICA_ASSIGNMENT, assigned(topic("x", -1, -1), 1, 1));
        refused(Errors.INVALID_REPLICA_ASSIGNMENT, assigned(topic("x", -1, -1), 0));
        refused(Errors.INVALID_REPLICA_ASSIGNMENT, assigned(topic("x", -1, -1), 0, 1, 1));
        refused(Errors.POLICY_VIOLATION, topic("x", 10_001, 1));
        refused(Errors.INVALID_REQUEST, topic("__cluster_metadata", 1, 1));
        assertThat(cluster.image().topics()).containsOnlyKeys("there", "a.b");
    }

    @Test
    void aCreationTellsIdCountsAndAllConfigs() {
        CreatableTopicResult result = create(false, topic("t", -1, -1, "cleanup.policy", "compact"))
                .topics()
                .find("t");
        assertThat(result.errorCode()).isZero();
        assertThat(result.errorMessage()).isNull();
        assertThat(result.topicId()).isEqualTo(cluster.image().topics().get("t").id());
        assertThat(result.numPartitions()).isEqualTo(4);
        assertThat(result.replicationFactor()).isEqualTo((short) 1);
        assertThat(result.configs()).hasSize(TopicConfigs.names().size());
        assertThat(result.configs())
                .filteredOn(c ->
                        List.of("cleanup.policy", "retention.ms", "flush.ms").contains(c.name()))
                .extracting(c -> c.name() + "=" + c.value() + " from " + c.configSource())
                .containsExactlyInAnyOrder(
                        "cleanup.policy=compact from 1",
                        "retention.ms=1234 from 4",
                        "flush.ms=9223372036854775807 from 5");
        CreatableTopicResult two = create(false, assigned(assigned(topic("u", -1, -1), 1, 1), 0, 1))
                .topics()
                .find("u");
        assertThat(two.numPartitions()).isEqualTo(2);
    }

    @Test
    void validateOnlyCreatesNothingAndDuplicatesFailAlone() {
        assertThat(create(true, topic("t", 1, 1)).topics().find("t").errorCode())
                .isZero();
        assertThat(cluster.image().topics()).isEmpty();
        CreateTopicsResponseData answer = create(false, topic("d", 1, 1), topic("d", 2, 1), topic("e", 1, 1));
        assertThat(answer.topics().find("d").errorCode()).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(cluster.image().topics()).containsOnlyKeys("e");
        assertThat(create(true, topic("e", 1, 1)).topics().find("e").errorCode())
                .isEqualTo(Errors.TOPIC_ALREADY_EXISTS.code());
    }

    @Test
    void aMirrorTopicIsNotDeletedAndTheOthersOfTheRequestAre() {
        Uuid id = Uuid.randomUuid();
        cluster.createMirror("west", Map.of());
        cluster.createTopic("copied", id, List.of(0), Map.of(), "west", id)
                .toCompletableFuture()
                .join();
        create(false, topic("one", 1, 1), topic("two", 1, 1));
        Uuid two = cluster.image().topics().get("two").id();
        DeleteTopicsRequestData body = new DeleteTopicsRequestData()
                .setTopics(List.of(
                        new DeleteTopicState().setName("copied"),
                        new DeleteTopicState().setName("one"),
                        new DeleteTopicState().setName(null).setTopicId(two),
                        new DeleteTopicState().setName("nope"),
                        new DeleteTopicState().setName(null).setTopicId(Uuid.randomUuid())));
        DeleteTopicsResponseData answer = (DeleteTopicsResponseData) ask(body, 6);
        assertThat(answer.responses())
                .extracting(DeletableTopicResult::errorCode)
                .containsExactly(
                        Errors.INVALID_REQUEST.code(),
                        (short) 0,
                        (short) 0,
                        Errors.UNKNOWN_TOPIC_OR_PARTITION.code(),
                        Errors.UNKNOWN_TOPIC_ID.code());
        assertThat(answer.responses().iterator().next().errorMessage()).contains("west");
        assertThat(cluster.image().topics()).containsOnlyKeys("copied");
        cluster.setDesired("west", List.of("copied"), Desired.STOPPED);
        ask(new DeleteTopicsRequestData().setTopicNames(List.of("copied")), 5);
        assertThat(cluster.image().topics()).isEmpty();
    }

    private MetadataResponseData metadata(int version, boolean mayCreate, String... names) {
        List<MetadataRequestTopic> topics = names == null
                ? null
                : Arrays.stream(names)
                        .map(n -> new MetadataRequestTopic().setName(n))
                        .toList();
        return (MetadataResponseData)
                ask(new MetadataRequestData().setTopics(topics).setAllowAutoTopicCreation(mayCreate), version);
    }

    @Test
    void metadataNamesTheListenersAddressAndKnowsAllFromNone() {
        create(false, topic("t", 2, 1));
        MetadataResponseData all = metadata(12, false, (String[]) null);
        assertThat(all.brokers().find(1).host()).isEqualTo("plaintext");
        assertThat(all.clusterId()).isEqualTo(cluster.image().clusterId());
        assertThat(all.controllerId()).isEqualTo(1);
        MetadataResponseTopic topic = all.topics().find("t");
        assertThat(topic.topicId()).isEqualTo(cluster.image().topics().get("t").id());
        assertThat(topic.partitions())
                .extracting(p -> p.partitionIndex() + "@" + p.leaderId())
                .containsExactly("0@1", "1@1");
        assertThat(metadata(0, false).topics()).hasSize(1);
        assertThat(metadata(1, false).topics()).isEmpty();
        assertThat(metadata(12, false, "t", "t").topics()).hasSize(1);
    }

    @Test
    void aMissingTopicIsCreatedOnlyWhereBothSidesAllowItAndTheFirstAnswerSaysUnknown() {
        assertThat(metadata(12, true, "auto").topics().find("auto").errorCode())
                .isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION.code());
        Awaitility.await().until(() -> cluster.image().topics().containsKey("auto"));
        assertThat(cluster.image().topics().get("auto").partitions()).isEqualTo(4);
        metadata(3, false, "old");
        Awaitility.await().until(() -> cluster.image().topics().containsKey("old"));
        metadata(12, false, "no");
        metadata(12, true, "__consumer_offsets", "__mirror_state", "a b");
        assertThat(metadata(12, true, "a b").topics().find("a b").errorCode())
                .isEqualTo(Errors.INVALID_TOPIC_EXCEPTION.code());
        handlers = handlers(false);
        metadata(12, true, "never");
        create(false, topic("last", 1, 1));
        assertThat(cluster.image().topics()).containsOnlyKeys("auto", "old", "last");
    }

    @Test
    void anUnknownIdIsAnsweredWithoutAName() {
        Uuid unknown = Uuid.randomUuid();
        MetadataRequestTopic one = new MetadataRequestTopic().setName(null).setTopicId(unknown);
        MetadataResponseData answer = (MetadataResponseData) ask(new MetadataRequestData().setTopics(List.of(one)), 12);
        MetadataResponseTopic topic = answer.topics().iterator().next();
        assertThat(topic.errorCode()).isEqualTo(Errors.UNKNOWN_TOPIC_ID.code());
        assertThat(topic.name()).isNull();
        assertThat(topic.topicId()).isEqualTo(unknown);
    }

    @Test
    void aPartitionWhoseLogCannotBeReadHasNoLeaderAndAnOfflineReplica() {
        create(false, topic("t", 2, 1));
        offline.add("t1");
        MetadataResponseData answer = (MetadataResponseData) ask(new MetadataRequestData().setTopics(null), 12);
        var partitions = answer.topics().find("t").partitions();
        assertThat(partitions.get(0).leaderId()).isEqualTo(1);
        assertThat(partitions.get(0).offlineReplicas()).isEmpty();
        assertThat(partitions.get(1).leaderId()).isEqualTo(-1);
        assertThat(partitions.get(1).errorCode()).isEqualTo(Errors.LEADER_NOT_AVAILABLE.code());
        assertThat(partitions.get(1).replicaNodes()).containsExactly(1);
        assertThat(partitions.get(1).offlineReplicas()).containsExactly(1);
    }

    @Test
    void pagesOfPartitionsJoinToTheWhole() {
        create(false, topic("a", 3, 1), topic("b", 1, 1), topic("c", 5, 1));
        for (int limit = 1; limit <= 10; limit++) {
            StringBuilder seen = new StringBuilder();
            DescribeTopicPartitionsRequestData body =
                    new DescribeTopicPartitionsRequestData().setResponsePartitionLimit(limit);
            for (int page = 0; page < 20; page++) {
                var answer = (DescribeTopicPartitionsResponseData) ask(body, 0);
                answer.topics().forEach(t -> t.partitions()
                        .forEach(p -> seen.append(t.name()).append(p.partitionIndex())));
                if (answer.nextCursor() == null) {
                    break;
                }
                body.setCursor(new DescribeTopicPartitionsRequestData.Cursor()
                        .setTopicName(answer.nextCursor().topicName())
                        .setPartitionIndex(answer.nextCursor().partitionIndex()));
            }
            assertThat(seen).as("limit %s", limit).hasToString("a0a1a2b0c0c1c2c3c4");
        }
        DescribeTopicPartitionsRequestData foreign = new DescribeTopicPartitionsRequestData()
                .setTopics(List.of(new TopicRequest().setName("a")))
                .setCursor(new DescribeTopicPartitionsRequestData.Cursor().setTopicName("b"));
        assertThat(((DescribeTopicPartitionsResponseData) ask(foreign, 0))
                        .topics()
                        .find("a")
                        .errorCode())
                .isEqualTo(Errors.INVALID_REQUEST.code());
    }

    private DescribeConfigsResult describe(int type, String name, String... keys) {
        DescribeConfigsRequestData body = new DescribeConfigsRequestData()
                .setIncludeSynonyms(true)
                .setResources(List.of(new DescribeConfigsResource()
                        .setResourceType((byte) type)
                        .setResourceName(name)
                        .setConfigurationKeys(keys.length == 0 ? null : List.of(keys))));
        return ((DescribeConfigsResponseData) ask(body, 4)).results().get(0);
    }

    @Test
    void describedConfigsTellValueSourceAndSynonyms() {
        create(false, topic("t", 1, 1, "cleanup.policy", "compact"));
        assertThat(describe(2, "t").configs()).hasSize(TopicConfigs.names().size());
        assertThat(describe(2, "t", "cleanup.policy", "retention.ms", "flush.ms")
                        .configs())
                .extracting(c -> c.name() + "=" + c.value() + " " + c.configSource() + " "
                        + c.synonyms().stream()
                                .map(s -> s.name() + ":" + s.source())
                                .toList())
                .containsExactlyInAnyOrder(
                        "cleanup.policy=compact 1 [cleanup.policy:1, log.cleanup.policy:5]",
                        "retention.ms=1234 4 [log.retention.ms:4]",
                        "flush.ms=9223372036854775807 5 []");
        assertThat(describe(2, "nope").errorCode()).isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION.code());
        assertThat(describe(2, "a b").errorCode()).isEqualTo(Errors.INVALID_TOPIC_EXCEPTION.code());
        assertThat(describe(4, "1", "num.partitions").configs())
                .extracting(c -> c.value() + c.readOnly())
                .containsExactly("4true");
        assertThat(describe(4, "7").errorCode()).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(describe(4, "x").errorCode()).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(describe(99, "t").errorCode()).isEqualTo(Errors.INVALID_REQUEST.code());
    }

    private short alter(boolean validateOnly, int type, String name, Object... operations) {
        AlterConfigsResource resource =
                new AlterConfigsResource().setResourceType((byte) type).setResourceName(name);
        for (int i = 0; i < operations.length; i += 3) {
            resource.configs()
                    .add(new AlterableConfig()
                            .setName((String) operations[i])
                            .setConfigOperation(((Integer) operations[i + 1]).byteValue())
                            .setValue((String) operations[i + 2]));
        }
        IncrementalAlterConfigsRequestData body =
                new IncrementalAlterConfigsRequestData().setValidateOnly(validateOnly);
        body.resources().add(resource);
        return ((IncrementalAlterConfigsResponseData) ask(body, 1))
                .responses()
                .get(0)
                .errorCode();
    }

    @Test
    void configsAreSetDeletedAppendedAndSubtracted() {
        create(false, topic("t", 1, 1));
        assertThat(alter(false, 2, "t", "retention.ms", 0, "5")).isZero();
        assertThat(alter(false, 2, "t", "cleanup.policy", 2, "compact")).isZero();
        assertThat(cluster.image().topics().get("t").configs())
                .isEqualTo(Map.of("retention.ms", "5", "cleanup.policy", "delete,compact"));
        assertThat(alter(true, 2, "t", "retention.ms", 0, "6")).isZero();
        assertThat(alter(false, 2, "t", "cleanup.policy", 3, "delete", "retention.ms", 1, null))
                .isZero();
        assertThat(cluster.image().topics().get("t").configs()).isEqualTo(Map.of("cleanup.policy", "compact"));
    }

    @Test
    void badAlterationsAreRefusedWithKafkasCodesAndChangeNothing() {
        create(false, topic("t", 1, 1));
        assertThat(alter(false, 2, "t", "foo", 0, "5")).isEqualTo(Errors.INVALID_CONFIG.code());
        assertThat(alter(false, 2, "t", "retention.ms", 0, "x")).isEqualTo(Errors.INVALID_CONFIG.code());
        assertThat(alter(false, 2, "t", "retention.ms", 2, "5")).isEqualTo(Errors.INVALID_CONFIG.code());
        assertThat(alter(false, 2, "t", "cleanup.policy", 2, "foo")).isEqualTo(Errors.INVALID_CONFIG.code());
        assertThat(alter(false, 2, "t", "retention.ms", 0, null)).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(alter(false, 2, "t", "retention.ms", 9, "5")).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(alter(false, 2, "t", "retention.ms", 0, "5", "retention.ms", 0, "6"))
                .isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(alter(false, 2, "nope", "retention.ms", 0, "5")).isEqualTo(Errors.UNKNOWN_TOPIC_OR_PARTITION.code());
        assertThat(alter(false, 2, "a b", "retention.ms", 0, "5")).isEqualTo(Errors.INVALID_TOPIC_EXCEPTION.code());
        assertThat(alter(false, 4, "1", "num.partitions", 0, "5")).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(cluster.image().topics().get("t").configs()).isEmpty();
    }
}
