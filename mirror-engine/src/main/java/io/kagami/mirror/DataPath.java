package io.kagami.mirror;

import io.kagami.log.StorageFault;
import io.kagami.log.core.BatchWalker;
import io.kagami.log.core.BatchWalker.Walk;
import io.kagami.mirror.SourceCluster.Leader;
import io.kagami.mirror.core.BatchRules;
import io.kagami.mirror.core.EpochFence;
import io.kagami.mirror.core.Failure;
import io.kagami.mirror.core.FetchSession.Slot;
import io.kagami.mirror.ports.LocalPartitions.AppendOutcome;
import io.kagami.mirror.ports.LocalPartitions.Position;
import io.kagami.protocol.records.RecordSlices;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** From an answer of the source to the local log: walk, judge, append, follow the log start. One bad partition is its own affair. Loop only. */
final class DataPath implements SourceFetcher.Listener {
    private static final Logger LOG = LoggerFactory.getLogger(DataPath.class);

    private final MirrorContext mirror;
    private final Events events;
    private SourceCluster source;
    private Fetchers fetchers;

    /** What the data path reports. */
    interface Events {
        void failed(MirrorPart part, Failure failure);

        /** Nothing was appended: the local leader epoch must rise first. */
        void epochTooLow(MirrorPart part);

        void raiseEpoch(MirrorPart part, int target);

        void appended(MirrorPart part);

        void outOfRange(MirrorPart part);

        void diverged(MirrorPart part, int sourceEpoch, long sourceEnd);

        /** The source does not know the topic: it may be deleted. */
        void suspectDeleted(MirrorPart part);

        /** No append of the partition is in flight any more. */
        void quiet(MirrorPart part);
    }

    DataPath(MirrorContext mirror, Events events) {
        this.mirror = mirror;
        this.events = events;
    }

    void wire(SourceCluster cluster, Fetchers pool) {
        this.source = cluster;
        this.fetchers = pool;
    }

    @Override
    public void onPartition(SourceFetcher from, MirrorPart part, Slot asked, PartitionData data, FetchAnswer answer) {
        if (data.errorCode() != 0) {
            onError(part, data);
            return;
        }
        part.leaderErrors = 0;
        if (data.logStartOffset() >= 0) {
            part.sourceStart = data.logStartOffset();
        }
        if (data.highWatermark() >= 0) {
            part.sourceEnd = data.highWatermark();
            part.measuredAtMs = mirror.turns().nowMs();
        }
        if (data.divergingEpoch().endOffset() >= 0) {
            events.diverged(
                    part, data.divergingEpoch().epoch(), data.divergingEpoch().endOffset());
            return;
        }
        ByteBuffer batches = RecordSlices.of(data);
        if (batches.hasRemaining()) {
            onBatches(from, part, asked, batches, answer);
        } else {
            followStart(part);
        }
    }

    private void onBatches(SourceFetcher from, MirrorPart part, Slot asked, ByteBuffer batches, FetchAnswer answer) {
        Optional<Position> local = mirror.local().position(part.id);
        if (local.isEmpty()) {
            fetchers.leaderError(part, false);
            return;
        }
        Position at = local.get();
        boolean empty = at.startOffset() == at.endOffset() && part.appendsInFlight == 0;
        Leader leader = source.leader(part.id.topic(), part.id.partition());
        Walk walk = BatchWalker.walk(batches, true);
        BatchRules.Verdict verdict = BatchRules.judge(
                walk, new BatchRules.Facts(asked.offset(), asked.lastEpoch(), empty, leader.epoch(), at.leaderEpoch()));
        if (verdict instanceof BatchRules.Verdict.Nothing) {
            // the limit cut the first batch; it comes whole when the partition is first in an answer
            from.move(part, asked);
        } else if (verdict instanceof BatchRules.Verdict.Append append) {
            append(from, part, asked, batches, walk, append, answer);
        } else if (verdict instanceof BatchRules.Verdict.Fence) {
            part.seenEpoch = Math.max(part.seenEpoch, walk.maxEpoch());
            events.epochTooLow(part);
        } else if (verdict instanceof BatchRules.Verdict.RefreshMetadata refresh) {
            part.note = refresh.text();
            mirror.meters().fetchError("UNKNOWN_SOURCE_EPOCH");
            fetchers.leaderError(part, false);
        } else if (verdict instanceof BatchRules.Verdict.Failed failed) {
            mirror.meters().fetchError("BAD_BATCH");
            events.failed(part, failed.failure());
        } else {
            throw new AssertionError(verdict);
        }
    }

    private void append(
            SourceFetcher from,
            MirrorPart part,
            Slot asked,
            ByteBuffer batches,
            Walk walk,
            BatchRules.Verdict.Append verdict,
            FetchAnswer answer) {
        ByteBuffer good = batches.slice(batches.position(), verdict.bytes());
        part.seenEpoch = Math.max(part.seenEpoch, walk.maxEpoch());
        if (verdict.raiseTo() >= 0) {
            events.raiseEpoch(part, verdict.raiseTo());
        }
        CompletionStage<AppendOutcome> append;
        if (verdict.restartAt() >= 0) {
            // the source's log starts inside its first batch: two steps here, so nothing is fetched ahead of them
            fetchers.detach(part);
            long base = verdict.restartAt();
            append = mirror.local().restartAt(part.id, base).thenCompose(moved -> mirror.local()
                    .appendMirrored(part.id, base, good));
        } else {
            from.move(part, new Slot(walk.nextOffset(), walk.lastEpoch(), asked.leaderEpoch(), asked.bytesMax()));
            append = mirror.local().appendMirrored(part.id, asked.offset(), good);
        }
        part.appendsInFlight++;
        answer.retain();
        long generation = part.generation;
        append.whenComplete((outcome, failure) -> {
            answer.release();
            mirror.turns().post(() -> onAppended(part, generation, walk, verdict.bytes(), outcome, failure));
        });
    }

    private void onAppended(
            MirrorPart part, long generation, Walk walk, int bytes, AppendOutcome outcome, Throwable failure) {
        part.appendsInFlight--;
        boolean current = generation == part.generation;
        if (failure != null) {
            String text = "local append at offset " + walk.firstOffset() + " failed: "
                    + SourceCluster.text(SourceCluster.cause(failure));
            LOG.atError()
                    .addKeyValue("mirror", mirror.name())
                    .addKeyValue("partition", part)
                    .setCause(SourceCluster.cause(failure))
                    .log("A mirrored append failed");
            if (current) {
                boolean storage = SourceCluster.cause(failure) instanceof StorageFault;
                events.failed(part, storage ? Failure.storage(text) : Failure.realign(text));
            }
        } else {
            switch (outcome.result()) {
                case APPENDED -> {
                    part.mirroredBytes += bytes;
                    mirror.meters().appended(part.id.topic(), bytes, walk.records(), walk.batches());
                    events.appended(part);
                    followStart(part);
                }
                case STALE -> {
                    if (current) {
                        fetchers.detach(part); // fetched again from the real log end below
                    }
                }
                case NOT_MIRRORED -> {
                    if (current) {
                        fetchers.leaderError(part, false);
                    }
                }
                case EPOCH_TOO_LOW -> {
                    if (current) {
                        events.epochTooLow(part);
                    }
                }
            }
        }
        if (part.appendsInFlight == 0) {
            events.quiet(part);
            fetchers.attach(part);
        }
    }

    /** The local log start follows the source's, also on idle topics and into the middle of a batch. */
    void followStart(MirrorPart part) {
        Optional<Position> local = mirror.local().position(part.id);
        if (local.isEmpty() || part.advancing || part.appendsInFlight > 0) {
            return;
        }
        Position at = local.get();
        long target = Math.min(part.sourceStart, at.endOffset());
        if (target <= at.startOffset()) {
            return;
        }
        part.advancing = true;
        mirror.local().advanceStart(part.id, target).whenComplete((moved, failure) -> mirror.turns()
                .post(() -> {
                    part.advancing = false;
                    if (failure != null) {
                        LOG.atWarn()
                                .addKeyValue("mirror", mirror.name())
                                .addKeyValue("partition", part)
                                .addKeyValue("offset", target)
                                .setCause(SourceCluster.cause(failure))
                                .log("The log start could not follow the source's");
                    }
                }));
    }

    private void onError(MirrorPart part, PartitionData data) {
        Errors error = Errors.forCode(data.errorCode());
        mirror.meters().fetchError(error.name());
        switch (error) {
            case OFFSET_OUT_OF_RANGE -> events.outOfRange(part);
            case NOT_LEADER_OR_FOLLOWER,
                    FENCED_LEADER_EPOCH,
                    UNKNOWN_LEADER_EPOCH,
                    LEADER_NOT_AVAILABLE,
                    REPLICA_NOT_AVAILABLE,
                    OFFSET_NOT_AVAILABLE,
                    KAFKA_STORAGE_ERROR,
                    NOT_CONTROLLER -> fetchers.leaderError(part, hinted(part, data));
            case UNKNOWN_TOPIC_OR_PARTITION, UNKNOWN_TOPIC_ID, INCONSISTENT_TOPIC_ID -> {
                fetchers.leaderError(part, false);
                events.suspectDeleted(part);
            }
            case TOPIC_AUTHORIZATION_FAILED ->
                events.failed(part, Failure.retryable("the source refuses READ on topic " + part.id.topic()));
            default -> events.failed(part, Failure.retryable("the source answered a fetch with " + error.name()));
        }
    }

    private boolean hinted(MirrorPart part, PartitionData data) {
        return source.hint(
                part.id.topic(),
                part.id.partition(),
                data.currentLeader().leaderId(),
                data.currentLeader().leaderEpoch());
    }

    @Override
    public void onLost(SourceFetcher from, Throwable why) {
        mirror.meters().fetchError("CONNECTION_LOST");
        LOG.atDebug()
                .addKeyValue("mirror", mirror.name())
                .addKeyValue("sourceBroker", from.node())
                .addKeyValue("reason", SourceCluster.text(why))
                .log("Lost the connection to a source broker");
        fetchers.refreshSoon();
    }

    @Override
    public void onUnusable(SourceFetcher from, String text) {
        from.parts().forEach(part -> events.failed(part, Failure.retryable(text)));
    }

    /** Whether a raise in the background is needed although no data came. */
    EpochFence.Verdict fence(MirrorPart part, Position local) {
        Leader leader = source.leader(part.id.topic(), part.id.partition());
        return EpochFence.judge(part.seenEpoch, leader.epoch(), local.leaderEpoch());
    }
}
