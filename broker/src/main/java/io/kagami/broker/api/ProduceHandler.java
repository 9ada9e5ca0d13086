package io.kagami.broker.api;

import io.kagami.broker.api.ProduceCheck.RecordFault;
import io.kagami.broker.api.ProduceCheck.Verdict;
import io.kagami.broker.net.CloseConnection;
import io.kagami.broker.net.Session;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.Partitions;
import io.kagami.log.Appended;
import io.kagami.protocol.Request;
import io.kagami.protocol.records.RecordBatches;
import java.nio.ByteBuffer;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.ApiException;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.message.ProduceRequestData.PartitionProduceData;
import org.apache.kafka.common.message.ProduceRequestData.TopicProduceData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.message.ProduceResponseData.BatchIndexAndErrorMessage;
import org.apache.kafka.common.message.ProduceResponseData.PartitionProduceResponse;
import org.apache.kafka.common.message.ProduceResponseData.TopicProduceResponse;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/**
 * Produce 3 to 13, by name and from 13 on by topic id. Each partition stands for itself: its batch is checked on the I/O thread, then
 * appended by the partition's loop as it is (but for offset and epoch in the header, the time where the topic wants the broker's, and
 * the compression where the topic has one of its own). With
 * one replica acks=1 and acks=all are the same. acks=0 has no answer; after an error the connection is closed, which is all that such
 * a client can notice. A batch that its producer sent before is answered as it was the first time.
 *
 * <p>Not here yet: transactions.
 */
public final class ProduceHandler implements Handler {
    private static final short TOPIC_IDS_FROM = 13;

    private final Partitions partitions;
    private final int inflatedBytesMax;
    private final InstantSource clock;

    /** @param inflatedBytesMax what the records of one batch may inflate to while they are checked */
    public ProduceHandler(Partitions partitions, int inflatedBytesMax, InstantSource clock) {
        this.partitions = partitions;
        this.inflatedBytesMax = inflatedBytesMax;
        this.clock = clock;
    }

    @Override
    public CompletionStage<ApiMessage> handle(Request request, Session session) {
        ProduceRequestData body = (ProduceRequestData) request.body();
        Errors whole = refusal(body);
        Set<Target> seen = new HashSet<>();
        List<CompletableFuture<Void>> pending = new ArrayList<>();
        ProduceResponseData response = new ProduceResponseData();
        for (TopicProduceData topic : body.topicData()) {
            TopicProduceResponse answers =
                    new TopicProduceResponse().setName(topic.name()).setTopicId(topic.topicId());
            for (PartitionProduceData data : topic.partitionData()) {
                PartitionProduceResponse answer = new PartitionProduceResponse().setIndex(data.index());
                answers.partitionResponses().add(answer);
                if (whole != Errors.NONE) {
                    refuse(answer, whole, null);
                } else if (!seen.add(new Target(topic.name(), topic.topicId(), data.index()))) {
                    refuse(answer, Errors.INVALID_REQUEST, "partition " + data.index() + " is named twice");
                } else {
                    pending.add(append(topic, data, request.version(), answer));
                }
            }
            response.responses().add(answers);
        }
        CompletableFuture<Void> all = CompletableFuture.allOf(pending.toArray(new CompletableFuture<?>[0]));
        return all.thenApply(done -> body.acks() == 0 ? silence(response) : response);
    }

    private record Target(String topic, Uuid topicId, int partition) {}

    private static Errors refusal(ProduceRequestData body) {
        // a transactional id counts for transactional batches alone, as in Apache Kafka
        return body.acks() < -1 || body.acks() > 1 ? Errors.INVALID_REQUIRED_ACKS : Errors.NONE;
    }

    /** Ends when the partition's answer is filled in; never fails but for a bug. */
    private CompletableFuture<Void> append(
            TopicProduceData topic, PartitionProduceData data, short version, PartitionProduceResponse answer) {
        boolean byId = version >= TOPIC_IDS_FROM;
        Optional<Partition> found =
                byId ? partitions.get(topic.topicId(), data.index()) : partitions.get(topic.name(), data.index());
        if (found.isEmpty()) {
            boolean topicKnown = byId && partitions.get(topic.topicId(), 0).isPresent();
            refuse(answer, byId && !topicKnown ? Errors.UNKNOWN_TOPIC_ID : Errors.UNKNOWN_TOPIC_OR_PARTITION, null);
            return CompletableFuture.completedFuture(null);
        }
        Partition partition = found.get();
        if (Topic.isInternal(partition.topic())) {
            // a coordinator reads its partition at start only: a record from outside would be seen after a restart, if
            // at all
            refuse(
                    answer,
                    Errors.INVALID_TOPIC_EXCEPTION,
                    partition.topic() + " is written by the broker's coordinators alone");
            return CompletableFuture.completedFuture(null);
        }
        ByteBuffer batch = RecordBatches.bytes(data.records());
        Verdict verdict = new ProduceCheck(partition.rules(), inflatedBytesMax, clock.millis()).check(batch, version);
        answer.setLogAppendTimeMs(verdict.appendTimeMs());
        if (!verdict.ok()) {
            refuse(answer, verdict);
            return CompletableFuture.completedFuture(null);
        }
        // only the loop knows whether the partition is writable at that moment; it refuses with the reason
        return partition
                .append(verdict.batch())
                .handle((appended, failure) -> {
                    fill(answer, partition, appended, failure);
                    return (Void) null;
                })
                .toCompletableFuture();
    }

    private static void fill(
            PartitionProduceResponse answer, Partition partition, Appended appended, Throwable failure) {
        if (failure == null) {
            answer.setBaseOffset(appended.baseOffset())
                    .setLogStartOffset(partition.view().startOffset());
            if (appended.duplicate()) { // as Apache Kafka answers, whatever the topic's timestamp type
                answer.setLogAppendTimeMs(appended.originalTimestampMs());
            }
            return;
        }
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        answer.setLogAppendTimeMs(-1);
        if (!(cause instanceof ApiException)) {
            throw new CompletionException(cause);
        }
        refuse(answer, Errors.forException(cause), cause.getMessage());
    }

    private static void refuse(PartitionProduceResponse answer, Errors error, String message) {
        answer.setErrorCode(error.code())
                .setBaseOffset(-1)
                .setLogStartOffset(-1)
                .setErrorMessage(message == null ? error.message() : message);
    }

    private static void refuse(PartitionProduceResponse answer, Verdict verdict) {
        refuse(answer, verdict.error(), verdict.message());
        for (RecordFault fault : verdict.records()) {
            answer.recordErrors()
                    .add(new BatchIndexAndErrorMessage()
                            .setBatchIndex(fault.index())
                            .setBatchIndexErrorMessage(fault.message()));
        }
    }

    private static ApiMessage silence(ProduceResponseData response) {
        for (TopicProduceResponse topic : response.responses()) {
            for (PartitionProduceResponse partition : topic.partitionResponses()) {
                if (partition.errorCode() != Errors.NONE.code()) {
                    throw new CloseConnection("acks=0, and " + topic.name() + "-" + partition.index() + " failed with "
                            + Errors.forCode(partition.errorCode()) + ": " + partition.errorMessage());
                }
            }
        }
        return null;
    }
}
