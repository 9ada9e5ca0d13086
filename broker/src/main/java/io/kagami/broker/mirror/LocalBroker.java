package io.kagami.broker.mirror;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.Partition.Mode;
import io.kagami.broker.partition.Partitions;
import io.kagami.log.LogView;
import io.kagami.log.StorageFault;
import io.kagami.mirror.ports.LocalPartitions;
import io.kagami.mirror.ports.MirrorPartition;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;

/** The local logs as the mirror engine sees them: every call is posted to the partition's loop. Thread-safe. */
final class LocalBroker implements LocalPartitions {
    private final Cluster cluster;
    private final Partitions partitions;

    LocalBroker(Cluster cluster, Partitions partitions) {
        this.cluster = cluster;
        this.partitions = partitions;
    }

    @Override
    public Optional<Position> position(MirrorPartition partition) {
        return view(partition, (local, view) -> local.mode() == Mode.OFFLINE ? null : position(local, view));
    }

    private static Position position(Partition local, LogView view) {
        return new Position(
                view.startOffset(),
                view.endOffset(),
                local.highWatermark(),
                view.lastEpoch(),
                local.leaderEpoch(),
                view.sizeInBytes());
    }

    private interface Look<T> {
        T at(Partition local, LogView view);
    }

    private <T> Optional<T> view(MirrorPartition partition, Look<T> look) {
        Optional<Partition> local = partitions.get(partition.topicId(), partition.partition());
        if (local.isEmpty()) {
            return Optional.empty();
        }
        try {
            return Optional.ofNullable(look.at(local.get(), local.get().view()));
        } catch (StorageFault e) {
            return Optional.empty(); // it has no log at all; the partition itself has said why
        }
    }

    @Override
    public CompletionStage<AppendOutcome> appendMirrored(
            MirrorPartition partition, long expectedEndOffset, ByteBuffer batches) {
        return on(partition, local -> local.appendMirrored(expectedEndOffset, batches));
    }

    @Override
    public CompletionStage<Position> advanceStart(MirrorPartition partition, long startOffset) {
        return on(partition, local -> local.advanceStart(startOffset));
    }

    @Override
    public CompletionStage<Position> truncateTo(MirrorPartition partition, long endOffset) {
        return on(partition, local -> local.truncateTo(endOffset));
    }

    @Override
    public CompletionStage<Position> restartAt(MirrorPartition partition, long offset) {
        return on(partition, local -> local.restartAt(offset));
    }

    @Override
    public CompletionStage<Position> raiseLeaderEpoch(MirrorPartition partition, int epoch) {
        // the metadata log first; the partition's own field follows before the stage completes
        return on(partition, local -> cluster.raiseLeaderEpoch(partition.topicId(), partition.partition(), epoch)
                .thenCompose(image -> local.leaderEpoch(epoch)));
    }

    @Override
    public Optional<EpochEnd> endOfEpoch(MirrorPartition partition, int epoch) {
        return view(partition, (local, view) -> view.endOfEpoch(epoch).orElse(null))
                .map(end -> new EpochEnd(end.epoch(), end.endOffset()));
    }

    @Override
    public CompletionStage<Position> closeMirror(MirrorPartition partition, boolean writable) {
        return on(partition, local -> local.mode(writable ? Mode.WRITABLE : Mode.MIRRORED));
    }

    private <T> CompletionStage<T> on(MirrorPartition partition, Function<Partition, CompletionStage<T>> work) {
        Optional<Partition> local = partitions.get(partition.topicId(), partition.partition());
        if (local.isEmpty()) {
            return CompletableFuture.failedFuture(
                    new IllegalStateException("partition " + partition + " is not on this broker"));
        }
        return work.apply(local.get());
    }
}
