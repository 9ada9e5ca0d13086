package io.kagami.broker.api;

import io.kagami.broker.api.FetchSessions.Named;
import io.kagami.broker.api.FetchSessions.Wanted;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.Partitions;
import io.kagami.log.AbortedTxn;
import io.kagami.log.LogSlice;
import io.kagami.log.LogView;
import io.kagami.log.LogView.EpochEnd;
import io.kagami.log.StorageFault;
import io.kagami.log.core.BatchHeader;
import io.kagami.protocol.codec.SliceRecords;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction;
import org.apache.kafka.common.message.FetchResponseData.EpochEndOffset;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads one partition for a fetch: checks in Apache Kafka's order, then a slice of the log. Any thread; never waits. */
final class FetchReader {
    private static final Logger LOG = LoggerFactory.getLogger(FetchReader.class);
    /** Above this many, aborted transactions behind the slice are left out exactly instead of roughly. */
    private static final int ABORTED_ROUGH_MAX = 64;

    /** Zero-length, not null: librdkafka takes null records for a protocol error. */
    private static final SliceRecords EMPTY = new SliceRecords(null, 0, 0, () -> {});

    /**
     * What was found.
     *
     * @param bytes of records
     * @param more whether the log goes on behind these bytes, so that waiting for an append has no point; ask before they are released
     * @param end the log end that was seen, or -1: where to wait for news
     */
    record Found(PartitionData data, Partition partition, int bytes, BooleanSupplier more, long end) {
        /** Answers without waiting. */
        boolean atOnce() {
            return data.errorCode() != Errors.NONE.code()
                    || data.divergingEpoch().epoch() >= 0;
        }
    }

    private final Partitions partitions;

    static SliceRecords empty() {
        return EMPTY;
    }

    FetchReader(Partitions partitions) {
        this.partitions = partitions;
    }

    /**
     * @param bytesMax at most this many bytes
     * @param atLeastOne but one whole batch however large
     */
    Found read(Wanted wanted, boolean committed, int bytesMax, boolean atLeastOne) {
        Named key = wanted.key();
        Optional<Partition> found = key.topic() == null
                ? partitions.get(key.topicId(), key.partition())
                : partitions.get(key.topic(), key.partition());
        if (found.isEmpty()) {
            return failed(wanted, null, unknown(key));
        }
        Partition partition = found.get();
        if (!partition.readable()) {
            return failed(wanted, partition, Errors.KAFKA_STORAGE_ERROR);
        }
        Errors fenced = EpochAnswers.fence(wanted.currentLeaderEpoch(), partition.leaderEpoch());
        if (fenced != Errors.NONE) {
            return failed(wanted, partition, fenced);
        }
        try {
            return readLog(wanted, partition, committed, bytesMax, atLeastOne);
        } catch (StorageFault | IOException e) {
            LOG.warn("a fetch of {} at offset {} failed: {}", partition, wanted.offset(), e.getMessage(), e);
            return failed(wanted, partition, Errors.KAFKA_STORAGE_ERROR);
        }
    }

    /** An id that exists with a partition number that does not is the other error. */
    private Errors unknown(Named key) {
        if (key.topic() != null) {
            return Errors.UNKNOWN_TOPIC_OR_PARTITION;
        }
        boolean topicExists = !key.topicId().equals(Uuid.ZERO_UUID)
                && partitions.get(key.topicId(), 0).isPresent();
        return topicExists ? Errors.UNKNOWN_TOPIC_OR_PARTITION : Errors.UNKNOWN_TOPIC_ID;
    }

    private static Found readLog(
            Wanted wanted, Partition partition, boolean committed, int bytesMax, boolean atLeastOne)
            throws IOException {
        LogView view = partition.view();
        long offset = wanted.offset();
        PartitionData data = new PartitionData()
                .setPartitionIndex(wanted.key().partition())
                .setHighWatermark(view.endOffset())
                .setLastStableOffset(view.lastStableOffset())
                .setLogStartOffset(view.startOffset())
                .setAbortedTransactions(committed ? new ArrayList<>() : null)
                .setRecords(EMPTY);
        if (wanted.lastFetchedEpoch() >= 0) {
            EpochEnd end = EpochAnswers.endOf(view, partition.leaderEpoch(), wanted.lastFetchedEpoch());
            if (end.endOffset() < 0 || offset < view.startOffset()) {
                return failed(wanted, partition, Errors.OFFSET_OUT_OF_RANGE);
            }
            // an epoch above the history was only ever known from metadata: nothing written in it can be missing here
            boolean epochGone =
                    end.epoch() < wanted.lastFetchedEpoch() && wanted.lastFetchedEpoch() <= view.lastEpoch();
            if (epochGone || end.endOffset() < offset) {
                data.setDivergingEpoch(
                        new EpochEndOffset().setEpoch(end.epoch()).setEndOffset(end.endOffset()));
                return new Found(data, partition, 0, () -> false, view.endOffset());
            }
        }
        if (offset < view.startOffset() || offset > view.endOffset()) {
            return failed(wanted, partition, Errors.OFFSET_OUT_OF_RANGE);
        }
        long upper = committed ? view.lastStableOffset() : view.endOffset();
        if (offset >= upper || (bytesMax <= 0 && !atLeastOne)) {
            return new Found(data, partition, 0, () -> false, view.endOffset());
        }
        Optional<LogSlice> slice = view.read(offset, upper, Math.max(0, bytesMax), atLeastOne);
        if (slice.isEmpty()) {
            return new Found(data, partition, 0, () -> false, view.endOffset());
        }
        LogSlice bytes = slice.get();
        try {
            if (committed) {
                data.setAbortedTransactions(aborted(view, bytes, offset, upper));
            }
            data.setRecords(new SliceRecords(bytes.channel(), bytes.position(), bytes.sizeInBytes(), bytes::close));
            return new Found(data, partition, bytes.sizeInBytes(), () -> more(view, bytes, upper), view.endOffset());
        } catch (IOException | RuntimeException e) {
            bytes.close();
            throw e;
        }
    }

    /** Whether the log goes on behind the slice, below the limit: in a later segment, or beyond the byte limit. */
    private static boolean more(LogView view, LogSlice slice, long upper) {
        Optional<LogSlice> last = view.read(upper - 1, upper, 1, true);
        if (last.isEmpty()) {
            return false;
        }
        try (LogSlice tail = last.get()) {
            return tail.channel() != slice.channel()
                    || tail.position() + tail.sizeInBytes() > slice.position() + slice.sizeInBytes();
        }
    }

    /** Ascending by first offset; complete for the slice, so that no marker in it names a producer that is not listed. */
    private static List<AbortedTransaction> aborted(LogView view, LogSlice slice, long offset, long upper)
            throws IOException {
        List<AbortedTxn> all = view.abortedIn(Math.min(offset, slice.firstBatchOffset()), upper);
        long end = all.size() > ABORTED_ROUGH_MAX ? endOf(slice) : upper;
        List<AbortedTransaction> listed = new ArrayList<>();
        for (AbortedTxn each : all) {
            if (each.firstOffset() < end) {
                listed.add(new AbortedTransaction()
                        .setProducerId(each.producerId())
                        .setFirstOffset(each.firstOffset()));
            }
        }
        return listed;
    }

    /** Offset after the last batch of a slice, by going from header to header. */
    private static long endOf(LogSlice slice) throws IOException {
        ByteBuffer header = ByteBuffer.allocate(BatchHeader.V2_HEADER);
        long at = slice.position();
        long stop = at + slice.sizeInBytes();
        long end = slice.firstBatchOffset();
        while (at < stop) {
            header.clear();
            while (header.hasRemaining() && at + header.position() < stop) {
                if (slice.channel().read(header, at + header.position()) < 0) {
                    throw new IOException("the segment ends inside a batch at position " + at);
                }
            }
            end = BatchHeader.lastOffset(header, 0) + 1;
            at += BatchHeader.sizeInBytes(header, 0);
        }
        return end;
    }

    /** Offsets are all -1 beside an error, as in Apache Kafka. */
    private static Found failed(Wanted wanted, Partition partition, Errors error) {
        PartitionData data = new PartitionData()
                .setPartitionIndex(wanted.key().partition())
                .setErrorCode(error.code())
                .setHighWatermark(-1)
                .setLastStableOffset(-1)
                .setLogStartOffset(-1)
                .setAbortedTransactions(null)
                .setRecords(EMPTY);
        return new Found(data, partition, 0, () -> false, -1);
    }
}
