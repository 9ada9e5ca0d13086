package io.kagami.cli.demo;

import io.kagami.cli.wire.Offsets;
import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.Node;
import io.kagami.protocol.client.Reply;
import io.kagami.protocol.records.RecordBatches;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.function.Supplier;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData.AddPartitionsToTxnTopic;
import org.apache.kafka.common.message.AddPartitionsToTxnRequestData.AddPartitionsToTxnTopicCollection;
import org.apache.kafka.common.message.AddPartitionsToTxnResponseData;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopicConfig;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.DeleteRecordsRequestData;
import org.apache.kafka.common.message.DeleteRecordsRequestData.DeleteRecordsPartition;
import org.apache.kafka.common.message.DeleteRecordsRequestData.DeleteRecordsTopic;
import org.apache.kafka.common.message.DeleteRecordsResponseData;
import org.apache.kafka.common.message.EndTxnRequestData;
import org.apache.kafka.common.message.EndTxnResponseData;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData.AlterConfigsResource;
import org.apache.kafka.common.message.IncrementalAlterConfigsRequestData.AlterableConfig;
import org.apache.kafka.common.message.IncrementalAlterConfigsResponseData;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.message.OffsetCommitRequestData;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestPartition;
import org.apache.kafka.common.message.OffsetCommitRequestData.OffsetCommitRequestTopic;
import org.apache.kafka.common.message.OffsetCommitResponseData;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceRequestData.PartitionProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceDataCollection;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/** Writes to the demo's own source: topics, batches, transactions, commits. Blocks; for one thread. */
final class SourceWriter {
    private static final byte GROUP = 0;
    private static final byte TRANSACTION = 1;
    private static final byte TOPIC_RESOURCE = 2;

    // the last versions in which topics have names and transactions their own calls; every broker since 2.1 has them
    private static final int PRODUCE_MAX = 8;
    private static final int ADD_PARTITIONS_MAX = 3;
    private static final int END_TXN_MAX = 3;
    private static final int OFFSET_COMMIT_MAX = 7;

    private static final int IN_FLIGHT_MAX = 8;
    private static final int ATTEMPTS_MAX = 100;
    private static final int PAUSE_MS = 200;
    private static final int TIMEOUT_MS = 30_000;

    private static final Set<Errors> PASSING = Set.of(
            Errors.COORDINATOR_NOT_AVAILABLE,
            Errors.COORDINATOR_LOAD_IN_PROGRESS,
            Errors.NOT_COORDINATOR,
            Errors.CONCURRENT_TRANSACTIONS,
            Errors.NOT_LEADER_OR_FOLLOWER,
            Errors.UNKNOWN_TOPIC_OR_PARTITION,
            Errors.LEADER_NOT_AVAILABLE);

    /** An id for idempotent or transactional writing. */
    record Producer(String transactionalId, int coordinator, long id, short epoch) {}

    private final Wire wire;
    private final Map<TopicPartition, Integer> leaders = new HashMap<>();
    private final Deque<CompletableFuture<Reply>> inFlight = new ArrayDeque<>();

    SourceWriter(Wire wire) {
        this.wire = wire;
    }

    /** Creates the topic and waits until all its partitions have leaders. */
    void create(String topic, int partitions, Map<String, String> configs) {
        CreatableTopic creatable =
                new CreatableTopic().setName(topic).setNumPartitions(partitions).setReplicationFactor((short) 1);
        configs.forEach((key, value) ->
                creatable.configs().add(new CreatableTopicConfig().setName(key).setValue(value)));
        CreateTopicsRequestData request = new CreateTopicsRequestData().setTimeoutMs(TIMEOUT_MS);
        request.topics().add(creatable);
        wire.read(wire.client().sendToAny(request), reply -> {
            ((CreateTopicsResponseData) reply.body())
                    .topics()
                    .forEach(result ->
                            wire.check(result.errorCode(), result.errorMessage(), "Cannot create topic " + topic));
            return null;
        });
        retry("find the leaders of topic " + topic, () -> learnLeaders(topic, partitions));
    }

    private Errors learnLeaders(String topic, int partitions) {
        ClusterMetadata metadata = wire.metadata(List.of(topic));
        ClusterMetadata.Topic known = metadata.topics().get(topic);
        if (known == null || known.partitions().size() < partitions) {
            return Errors.UNKNOWN_TOPIC_OR_PARTITION;
        }
        known.partitions().forEach(p -> leaders.put(new TopicPartition(topic, p.partition()), p.leader()));
        // a broker may be named leader a moment before it knows; one that tells where its log ends does know
        return new Offsets(wire).ends(metadata).size() == partitions ? Errors.NONE : Errors.LEADER_NOT_AVAILABLE;
    }

    /** Sends one batch; it is certain to be stored only after {@link #flush()}. */
    void produce(String topic, int partition, ByteBuffer batch, Producer producer) {
        ProduceRequestData request = new ProduceRequestData()
                .setAcks((short) -1)
                .setTimeoutMs(TIMEOUT_MS)
                .setTransactionalId(producer == null ? null : producer.transactionalId())
                .setTopicData(new TopicProduceDataCollection(List.of(new TopicProduceData()
                                .setName(topic)
                                .setPartitionData(List.of(new PartitionProduceData()
                                        .setIndex(partition)
                                        .setRecords(RecordBatches.toRecords(batch)))))
                        .iterator()));
        int leader = leaders.get(new TopicPartition(topic, partition));
        inFlight.add(wire.connection(leader).send(request, PRODUCE_MAX));
        if (inFlight.size() >= IN_FLIGHT_MAX) {
            stored(inFlight.remove());
        }
    }

    void flush() {
        while (!inFlight.isEmpty()) {
            stored(inFlight.remove());
        }
    }

    private void stored(CompletableFuture<Reply> answer) {
        wire.read(answer, reply -> {
            ((ProduceResponseData) reply.body()).responses().forEach(topic -> topic.partitionResponses()
                    .forEach(partition -> wire.check(
                            partition.errorCode(),
                            partition.errorMessage(),
                            "Cannot write to " + topic.name() + "-" + partition.index())));
            return null;
        });
    }

    /** @param transactionalId null for an idempotent producer without transactions */
    Producer initProducer(String transactionalId) {
        InitProducerIdRequestData request = new InitProducerIdRequestData()
                .setTransactionalId(transactionalId)
                .setTransactionTimeoutMs(60_000);
        int coordinator = transactionalId == null ? anyBroker() : coordinator(TRANSACTION, transactionalId);
        Producer[] producer = new Producer[1];
        retry(
                "get a producer id",
                () -> wire.ask(coordinator, request, reply -> {
                    InitProducerIdResponseData answer = (InitProducerIdResponseData) reply.body();
                    producer[0] =
                            new Producer(transactionalId, coordinator, answer.producerId(), answer.producerEpoch());
                    return Errors.forCode(answer.errorCode());
                }));
        return producer[0];
    }

    void addToTransaction(Producer producer, String topic, List<Integer> partitions) {
        AddPartitionsToTxnRequestData request = new AddPartitionsToTxnRequestData()
                .setV3AndBelowTransactionalId(producer.transactionalId())
                .setV3AndBelowProducerId(producer.id())
                .setV3AndBelowProducerEpoch(producer.epoch())
                .setV3AndBelowTopics(new AddPartitionsToTxnTopicCollection(
                        List.of(new AddPartitionsToTxnTopic().setName(topic).setPartitions(partitions))
                                .iterator()));
        retry(
                "add " + topic + " to a transaction",
                () -> ask(producer.coordinator(), request, ADD_PARTITIONS_MAX, reply -> {
                    AddPartitionsToTxnResponseData answer = (AddPartitionsToTxnResponseData) reply.body();
                    return answer.resultsByTopicV3AndBelow().stream()
                            .flatMap(result -> result.resultsByPartition().stream())
                            .map(result -> Errors.forCode(result.partitionErrorCode()))
                            .filter(error -> error != Errors.NONE)
                            .findFirst()
                            .orElse(Errors.NONE);
                }));
    }

    void endTransaction(Producer producer, boolean commit) {
        flush();
        EndTxnRequestData request = new EndTxnRequestData()
                .setTransactionalId(producer.transactionalId())
                .setProducerId(producer.id())
                .setProducerEpoch(producer.epoch())
                .setCommitted(commit);
        retry(
                "end a transaction",
                () -> ask(
                        producer.coordinator(),
                        request,
                        END_TXN_MAX,
                        reply -> Errors.forCode(((EndTxnResponseData) reply.body()).errorCode())));
    }

    /** Commits as a consumer that assigns its partitions itself does. */
    void commit(String group, String topic, Map<Integer, Long> offsets) {
        OffsetCommitRequestTopic of = new OffsetCommitRequestTopic().setName(topic);
        offsets.forEach((partition, offset) -> of.partitions()
                .add(new OffsetCommitRequestPartition()
                        .setPartitionIndex(partition)
                        .setCommittedOffset(offset)
                        .setCommittedMetadata("")));
        OffsetCommitRequestData request =
                new OffsetCommitRequestData().setGroupId(group).setTopics(List.of(of));
        int coordinator = coordinator(GROUP, group);
        retry(
                "commit for group " + group,
                () -> ask(coordinator, request, OFFSET_COMMIT_MAX, reply -> ((OffsetCommitResponseData) reply.body())
                        .topics().stream()
                                .flatMap(result -> result.partitions().stream())
                                .map(result -> Errors.forCode(result.errorCode()))
                                .filter(error -> error != Errors.NONE)
                                .findFirst()
                                .orElse(Errors.NONE)));
    }

    /** Moves the start of a partition's log. */
    void deleteRecords(String topic, int partition, long beforeOffset) {
        DeleteRecordsRequestData request = new DeleteRecordsRequestData()
                .setTimeoutMs(TIMEOUT_MS)
                .setTopics(List.of(new DeleteRecordsTopic()
                        .setName(topic)
                        .setPartitions(List.of(new DeleteRecordsPartition()
                                .setPartitionIndex(partition)
                                .setOffset(beforeOffset)))));
        int leader = leaders.get(new TopicPartition(topic, partition));
        wire.ask(leader, request, reply -> {
            ((DeleteRecordsResponseData) reply.body()).topics().forEach(result -> result.partitions()
                    .forEach(of -> wire.check(of.errorCode(), null, "Cannot delete records of " + topic)));
            return null;
        });
    }

    void setConfig(String topic, String key, String value) {
        AlterConfigsResource resource =
                new AlterConfigsResource().setResourceType(TOPIC_RESOURCE).setResourceName(topic);
        resource.configs().add(new AlterableConfig().setName(key).setValue(value));
        IncrementalAlterConfigsRequestData request = new IncrementalAlterConfigsRequestData();
        request.resources().add(resource);
        wire.read(wire.client().sendToAny(request), reply -> {
            ((IncrementalAlterConfigsResponseData) reply.body())
                    .responses()
                    .forEach(result -> wire.check(
                            result.errorCode(), result.errorMessage(), "Cannot set " + key + " of topic " + topic));
            return null;
        });
    }

    RawLog read(String topic, int partition) {
        return new RawLog(wire, leaders.get(new TopicPartition(topic, partition)), topic, partition, 0);
    }

    private int anyBroker() {
        return wire.metadata(List.of()).nodes().keySet().iterator().next();
    }

    /** Its internal topic is made at the first question; until that has a leader there is no coordinator. */
    private int coordinator(byte type, String key) {
        Node[] node = new Node[1];
        retry("find the coordinator of " + key, () -> {
            try {
                node[0] = wire.coordinator(type, key);
                return Errors.NONE;
            } catch (Refused notYet) {
                return Errors.COORDINATOR_NOT_AVAILABLE;
            }
        });
        return node[0].id();
    }

    private <T> T ask(int node, ApiMessage request, int versionMax, Function<Reply, T> read) {
        return wire.read(wire.connection(node).send(request, versionMax), read);
    }

    private void retry(String what, Supplier<Errors> call) {
        Errors error = Errors.NONE;
        for (int attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
            error = call.get();
            if (error == Errors.NONE) {
                return;
            }
            if (!PASSING.contains(error)) {
                break;
            }
            pause();
        }
        throw new DemoFailed(
                "Could not " + what + " at " + wire.address() + ": " + error + " (" + error.message() + ")");
    }

    static void pause() {
        try {
            if (new CountDownLatch(1).await(PAUSE_MS, TimeUnit.MILLISECONDS)) {
                throw new AssertionError("nobody counts this latch down");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DemoFailed("Interrupted", e);
        }
    }
}
