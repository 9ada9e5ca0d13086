package io.kagami.broker.partition;

import io.kagami.log.Appended;
import io.kagami.log.LogView;
import io.kagami.mirror.ports.LocalPartitions.AppendOutcome;
import io.kagami.mirror.ports.LocalPartitions.Position;
import java.nio.ByteBuffer;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import org.apache.kafka.common.Uuid;

/**
 * One partition on its loop. Methods may be called from any thread; work queues on the loop in call order; stages complete there.
 */
public interface Partition {
    /** Who may append. */
    enum Mode {
        WRITABLE,
        MIRRORED,
        OFFLINE
    }

    String topic();

    Uuid topicId();

    int partition();

    Mode mode();

    int leaderEpoch();

    /** What the topic's configuration says about batches of producers. */
    default TopicRules rules() {
        return TopicRules.DEFAULT;
    }

    /** Whether {@link #view()} may be read; also true of an OFFLINE partition whose log is fenced but known to be right. */
    default boolean readable() {
        return mode() != Mode.OFFLINE;
    }

    /** Why it is OFFLINE, for people; empty when it is not. */
    default String trouble() {
        return "";
    }

    /** How often the log was opened anew: what was learnt from an earlier one has to be read again. */
    default int renewals() {
        return 0;
    }

    /** @throws io.kagami.log.StorageFault when the partition is OFFLINE because its log could not be opened */
    LogView view();

    /** Exclusive; with one replica the log end. */
    long highWatermark();

    /** The loop itself: tasks run in order with everything else of this partition. */
    Executor loop();

    /**
     * Appends validated v2 batches of a client or coordinator. Fails with a Kafka ApiException (InvalidRequestException that names
     * the mirror when MIRRORED, KafkaStorageException when OFFLINE). The buffer belongs to the loop until the stage completes.
     */
    CompletionStage<Appended> append(ByteBuffer batches);

    CompletionStage<AppendOutcome> appendMirrored(long expectedEndOffset, ByteBuffer batches);

    CompletionStage<Position> truncateTo(long endOffset);

    CompletionStage<Position> restartAt(long offset);

    CompletionStage<Position> advanceStart(long startOffset);

    CompletionStage<Position> leaderEpoch(int epoch);

    CompletionStage<Position> mode(Mode mode);

    CompletionStage<Void> force();

    /** Runs once on some thread when the log end passes {@code offset} or anything else a fetch waits for changes; returns a cancel. */
    Runnable onChange(long offset, Runnable wake);
}
