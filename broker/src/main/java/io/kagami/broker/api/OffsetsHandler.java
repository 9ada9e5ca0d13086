package io.kagami.broker.api;

import io.kagami.broker.net.Session;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.Partitions;
import io.kagami.log.LogView;
import io.kagami.log.LogView.EpochEnd;
import io.kagami.log.LogView.TimestampOffset;
import io.kagami.log.StorageFault;
import io.kagami.protocol.Request;
import io.kagami.protocol.records.MalformedRecords;
import java.io.IOException;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsTopic;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsPartitionResponse;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsTopicResponse;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderTopic;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * ListOffsets 1 to 11 and OffsetForLeaderEpoch 2 to 4.
 *
 * <p>By time the answer is exact to the record, also inside a compressed batch and where times are out of order. The epoch beside an
 * offset is the one of the record there (for the end: of the record before it) from the epoch history, not the partition's leader epoch:
 * on a mirrored partition that one lies above every batch. Without tiered storage -5 and -6 answer -1.
 */
public final class OffsetsHandler {
    private static final Logger LOG = LoggerFactory.getLogger(OffsetsHandler.class);
    private static final long LATEST = -1;
    private static final long EARLIEST = -2;
    private static final long MAX_TIMESTAMP = -3;
    private static final long EARLIEST_LOCAL = -4;
    private static final long LATEST_TIERED = -5;
    private static final long EARLIEST_PENDING_UPLOAD = -6;
    private static final byte READ_COMMITTED = 1;
    private static final int UNKNOWN = -1;
    private static final short EPOCH_FROM = 4;

    private final Partitions partitions;
    private final int inflatedBytesMax;

    public OffsetsHandler(Partitions partitions, int inflatedBytesMax) {
        this.partitions = partitions;
        this.inflatedBytesMax = inflatedBytesMax;
    }

    /** Handler of ListOffsets. */
    public CompletionStage<ApiMessage> listOffsets(Request request, Session session) {
        ListOffsetsRequestData body = (ListOffsetsRequestData) request.body();
        boolean committed = body.isolationLevel() == READ_COMMITTED;
        ListOffsetsResponseData response = new ListOffsetsResponseData();
        for (ListOffsetsTopic topic : body.topics()) {
            Set<Integer> seen = new HashSet<>();
            ListOffsetsTopicResponse answers = new ListOffsetsTopicResponse().setName(topic.name());
            for (ListOffsetsPartition wanted : topic.partitions()) {
                ListOffsetsPartitionResponse answer = seen.add(wanted.partitionIndex())
                        ? listOne(topic.name(), wanted, request.version(), committed)
                        : offsetError(wanted, Errors.INVALID_REQUEST);
                answers.partitions().add(answer);
            }
            response.topics().add(answers);
        }
        return CompletableFuture.completedFuture(response);
    }

    private ListOffsetsPartitionResponse listOne(
            String topic, ListOffsetsPartition wanted, short version, boolean committed) {
        if (wanted.timestamp() < 0 && version < sinceVersion(wanted.timestamp())) {
            return offsetError(wanted, Errors.UNSUPPORTED_VERSION);
        }
        Optional<Partition> found = partitions.get(topic, wanted.partitionIndex());
        Errors error = check(found, wanted.currentLeaderEpoch());
        if (error != Errors.NONE) {
            return offsetError(wanted, error);
        }
        try {
            ListOffsetsPartitionResponse answer = lookUp(found.get().view(), wanted, committed);
            return version < EPOCH_FROM ? answer.setLeaderEpoch(UNKNOWN) : answer;
        } catch (StorageFault | IOException e) {
            LOG.warn("looking up time {} in {} failed: {}", wanted.timestamp(), found.get(), e.getMessage(), e);
            return offsetError(wanted, Errors.KAFKA_STORAGE_ERROR);
        } catch (MalformedRecords e) {
            LOG.warn("looking up time {} in {}: {}", wanted.timestamp(), found.get(), e.getMessage());
            return offsetError(wanted, Errors.CORRUPT_MESSAGE);
        }
    }

    /** The version a special time came with; none has the others. */
    private static int sinceVersion(long timestamp) {
        if (timestamp == LATEST || timestamp == EARLIEST) {
            return 1;
        }
        if (timestamp == MAX_TIMESTAMP) {
            return 7;
        }
        if (timestamp == EARLIEST_LOCAL) {
            return 8;
        }
        if (timestamp == LATEST_TIERED) {
            return 9;
        }
        return timestamp == EARLIEST_PENDING_UPLOAD ? 11 : Integer.MAX_VALUE;
    }

    private ListOffsetsPartitionResponse lookUp(LogView view, ListOffsetsPartition wanted, boolean committed)
            throws IOException {
        long end = committed ? view.lastStableOffset() : view.endOffset();
        long timestamp = wanted.timestamp();
        if (timestamp == LATEST) {
            return offset(wanted, end, UNKNOWN, end > view.startOffset() ? view.epochAt(end - 1) : UNKNOWN);
        }
        if (timestamp == EARLIEST || timestamp == EARLIEST_LOCAL) {
            long start = view.startOffset();
            return offset(wanted, start, UNKNOWN, start < view.endOffset() ? view.epochAt(start) : UNKNOWN);
        }
        if (timestamp == LATEST_TIERED || timestamp == EARLIEST_PENDING_UPLOAD) {
            return offset(wanted, UNKNOWN, UNKNOWN, UNKNOWN);
        }
        TimeLookup lookup = new TimeLookup(view, inflatedBytesMax);
        Optional<TimestampOffset> hit =
                timestamp == MAX_TIMESTAMP ? lookup.largest() : lookup.firstAtOrAfter(timestamp);
        return hit.filter(each -> each.offset() < end)
                .map(each -> offset(wanted, each.offset(), each.timestampMs(), view.epochAt(each.offset())))
                .orElseGet(() -> offset(wanted, UNKNOWN, UNKNOWN, UNKNOWN));
    }

    private static ListOffsetsPartitionResponse offset(
            ListOffsetsPartition wanted, long offset, long timestamp, int epoch) {
        return new ListOffsetsPartitionResponse()
                .setPartitionIndex(wanted.partitionIndex())
                .setOffset(offset)
                .setTimestamp(timestamp)
                .setLeaderEpoch(epoch);
    }

    private static ListOffsetsPartitionResponse offsetError(ListOffsetsPartition wanted, Errors error) {
        return offset(wanted, UNKNOWN, UNKNOWN, UNKNOWN).setErrorCode(error.code());
    }

    /** Handler of OffsetForLeaderEpoch. */
    public CompletionStage<ApiMessage> offsetForLeaderEpoch(Request request, Session session) {
        OffsetForLeaderEpochRequestData body = (OffsetForLeaderEpochRequestData) request.body();
        OffsetForLeaderEpochResponseData response = new OffsetForLeaderEpochResponseData();
        for (OffsetForLeaderTopic topic : body.topics()) {
            OffsetForLeaderTopicResult answers = new OffsetForLeaderTopicResult().setTopic(topic.topic());
            for (OffsetForLeaderPartition wanted : topic.partitions()) {
                answers.partitions().add(endOfEpoch(topic.topic(), wanted));
            }
            response.topics().add(answers);
        }
        return CompletableFuture.completedFuture(response);
    }

    private EpochEndOffset endOfEpoch(String topic, OffsetForLeaderPartition wanted) {
        EpochEndOffset answer = new EpochEndOffset().setPartition(wanted.partition());
        Optional<Partition> found = partitions.get(topic, wanted.partition());
        Errors error = check(found, wanted.currentLeaderEpoch());
        if (error != Errors.NONE) {
            return answer.setErrorCode(error.code());
        }
        try {
            EpochEnd end = EpochAnswers.endOf(found.get().view(), found.get().leaderEpoch(), wanted.leaderEpoch());
            return answer.setLeaderEpoch(end.epoch()).setEndOffset(end.endOffset());
        } catch (StorageFault e) {
            LOG.warn("looking up epoch {} of {} failed: {}", wanted.leaderEpoch(), found.get(), e.getMessage());
            return answer.setErrorCode(Errors.KAFKA_STORAGE_ERROR.code());
        }
    }

    private static Errors check(Optional<Partition> found, int currentLeaderEpoch) {
        if (found.isEmpty()) {
            return Errors.UNKNOWN_TOPIC_OR_PARTITION;
        }
        if (!found.get().readable()) {
            return Errors.KAFKA_STORAGE_ERROR;
        }
        return EpochAnswers.fence(currentLeaderEpoch, found.get().leaderEpoch());
    }
}
