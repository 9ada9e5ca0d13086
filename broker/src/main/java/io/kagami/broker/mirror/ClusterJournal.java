package io.kagami.broker.mirror;

import io.kagami.broker.cluster.Cluster;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.mirror.ports.MirrorJournal;
import io.kagami.mirror.ports.MirrorPartition;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.protocol.Errors;

/** Partition states in the cluster's metadata log. Thread-safe. */
final class ClusterJournal implements MirrorJournal {
    private final Cluster cluster;

    ClusterJournal(Cluster cluster) {
        this.cluster = cluster;
    }

    @Override
    public Map<MirrorPartition, PartitionState> states(String mirror) {
        Map<MirrorPartition, PartitionState> states = new HashMap<>();
        cluster.image().mirrorStates().forEach((partition, state) -> {
            if (partition.mirror().equals(mirror)) {
                states.put(partition, state);
            }
        });
        return states;
    }

    @Override
    public CompletionStage<PartitionState> propose(
            MirrorPartition partition, PartitionState next, int expectedStateEpoch) {
        CompletableFuture<PartitionState> outcome = new CompletableFuture<>();
        cluster.putMirrorState(partition, next, expectedStateEpoch).whenComplete((stored, failure) -> {
            if (failure == null) {
                outcome.complete(stored);
            } else {
                outcome.completeExceptionally(fenced(failure));
            }
        });
        return outcome;
    }

    private static Throwable fenced(Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        boolean epoch = cause instanceof Refused refused && refused.errorCode() == Errors.FENCED_STATE_EPOCH.code();
        return epoch ? new Fenced(cause.getMessage()) : cause;
    }
}
