package io.kagami.broker.cluster;

import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.ClusterRecord;
import io.kagami.broker.core.cluster.ClusterRecord.ClusterIdSet;
import io.kagami.broker.core.cluster.ClusterRecord.DesiredSet;
import io.kagami.broker.core.cluster.ClusterRecord.LeaderEpochRaised;
import io.kagami.broker.core.cluster.ClusterRecord.MirrorCreated;
import io.kagami.broker.core.cluster.ClusterRecord.MirrorDeleted;
import io.kagami.broker.core.cluster.ClusterRecord.MirrorStatePut;
import io.kagami.broker.core.cluster.ClusterRecord.ProducerIdsAllocated;
import io.kagami.broker.core.cluster.ClusterRecord.SourcePinned;
import io.kagami.broker.core.cluster.ClusterRecord.TopicAdopted;
import io.kagami.broker.core.cluster.ClusterRecord.TopicConfigChanged;
import io.kagami.broker.core.cluster.ClusterRecord.TopicCreated;
import io.kagami.broker.core.cluster.ClusterRecord.TopicDeleted;
import io.kagami.broker.core.cluster.ClusterRecord.TopicGrown;
import io.kagami.broker.core.cluster.ClusterRecordCodec;
import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.broker.core.cluster.Refusal;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.raft.FileRaftStore;
import io.kagami.raft.ProposalFailed;
import io.kagami.raft.RaftLoop;
import io.kagami.raft.StoreFault;
import io.kagami.raft.Transport;
import io.kagami.raft.core.RaftConfig;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiConsumer;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The cluster's metadata in a Raft group of one. The rules judge a change when it is applied, so the order in the log decides races. */
public final class RaftCluster implements Cluster {
    private static final Logger LOG = LoggerFactory.getLogger(RaftCluster.class);
    private static final Pattern CLUSTER_ID = Pattern.compile("[a-zA-Z0-9_-]{1,64}");
    private static final int EXIT_CODE_AFTER_FAILURE = 1;

    private final int nodeId;
    /** Distinguishes proposals of this start from those of earlier ones that are replayed. */
    private final long session;

    private final AtomicLong lastNumber = new AtomicLong();
    private final Map<Long, Pending<?>> pending = new ConcurrentHashMap<>();
    private final ClusterMachine machine = new ClusterMachine(this::onApplied);
    private volatile RaftLoop raft;

    /** One who waits for the outcome of a proposal, and how the answer is read from the states before and after. */
    private record Pending<T>(CompletableFuture<T> outcome, BiFunction<ClusterState, ClusterState, T> answer) {
        void complete(ClusterState before, ClusterState.Applied applied) {
            if (applied.refusal().isPresent()) {
                Refusal refusal = applied.refusal().get();
                outcome.completeExceptionally(new Refused(refusal.errorCode(), refusal.message()));
            } else {
                outcome.complete(answer.apply(before, applied.state()));
            }
        }
    }

    private RaftCluster(int nodeId, long session) {
        this.nodeId = nodeId;
        this.session = session;
    }

    /** As the other, ending the process when the metadata log fails. */
    public static RaftCluster start(Path directory, int nodeId, String clusterIdOrNull, InstantSource clock) {
        return start(directory, nodeId, clusterIdOrNull, clock, failure -> Runtime.getRuntime()
                .halt(EXIT_CODE_AFTER_FAILURE));
    }

    /**
     * Replays the metadata log and returns when it takes changes; blocks meanwhile.
     *
     * @param directory used by the metadata alone; created when missing, locked against a second process
     * @param clusterIdOrNull must equal the stored one; null takes that, or a new one at the first start
     * @param fatal called on the raft loop when the metadata log has failed: the process should end, its replay is the remedy
     * @throws StoreFault when the directory cannot be used, naming the file and what to do
     */
    public static RaftCluster start(
            Path directory, int nodeId, String clusterIdOrNull, InstantSource clock, Consumer<Throwable> fatal) {
        if (clusterIdOrNull != null && !CLUSTER_ID.matcher(clusterIdOrNull).matches()) {
            throw new StoreFault("cluster.id '" + clusterIdOrNull + "' is none: it must match " + CLUSTER_ID + ".");
        }
        FileRaftStore store = FileRaftStore.open(directory);
        String inFile;
        try {
            inFile = IdentityFile.readClusterId(directory, nodeId);
            requireSameCluster(directory, inFile, clusterIdOrNull, "meta.properties");
        } catch (RuntimeException e) {
            store.close();
            throw e;
        }
        RaftCluster cluster =
                new RaftCluster(nodeId, clock.millis() << 20 ^ Uuid.randomUuid().hashCode());
        cluster.raft = RaftLoop.start(RaftConfig.single(nodeId), store, Transport.none(), cluster.machine, fatal);
        try {
            cluster.settleClusterId(directory, inFile, clusterIdOrNull);
            return cluster;
        } catch (RuntimeException e) {
            cluster.close();
            throw e;
        }
    }

    private void settleClusterId(Path directory, String inFile, String configured) {
        String inLog = machine.state().clusterId();
        if (inLog == null) {
            if (inFile != null) {
                throw new StoreFault(
                        directory + " has a meta.properties of cluster " + inFile
                                + " but its metadata log is empty. Restore the log from a backup, or empty the directory to begin anew.");
            }
            String chosen = configured != null ? configured : Uuid.randomUuid().toString();
            propose(new ClusterIdSet(chosen)).toCompletableFuture().join();
            LOG.atInfo().addKeyValue("clusterId", chosen).log("a new cluster begins");
        } else {
            requireSameCluster(directory, inLog, configured, "the metadata log");
            requireSameCluster(directory, inLog, inFile, "the metadata log");
        }
        if (inFile == null) {
            IdentityFile.write(directory, nodeId, machine.state().clusterId());
        }
    }

    private static void requireSameCluster(Path directory, String known, String other, String where) {
        if (known != null && other != null && !known.equals(other)) {
            throw new StoreFault(directory + " belongs to the cluster " + known + " (" + where + "), not to " + other
                    + ". Correct cluster.id or metadata.log.dir.");
        }
    }

    @Override
    public ClusterImage image() {
        return machine.state();
    }

    @Override
    public int nodeId() {
        return nodeId;
    }

    /** Blocks until the listener has seen the current image, unless called on the raft loop, where it sees it soon. */
    @Override
    public void listen(BiConsumer<ClusterImage, ClusterImage> listener) {
        CompletableFuture<Long> registered = raft.onLoop(() -> machine.listen(listener));
        if (!Thread.currentThread().getName().equals(RaftLoop.THREAD_NAME)) {
            try {
                registered.join();
            } catch (CompletionException e) {
                throw new IllegalStateException("cannot listen to the metadata", e.getCause());
            }
        }
    }

    @Override
    public CompletionStage<ClusterImage> createTopic(
            String name,
            Uuid id,
            List<Integer> leaderEpochs,
            Map<String, String> configs,
            String mirror,
            Uuid sourceTopicId) {
        Uuid chosen = id.equals(Uuid.ZERO_UUID) ? Uuid.randomUuid() : id;
        return propose(new TopicCreated(name, chosen, leaderEpochs, configs, mirror, sourceTopicId));
    }

    @Override
    public CompletionStage<ClusterImage> deleteTopic(Uuid id) {
        return propose(new TopicDeleted(id));
    }

    @Override
    public CompletionStage<ClusterImage> growTopic(Uuid id, List<Integer> addedLeaderEpochs) {
        int first = machine.state().topic(id).map(t -> t.partitions()).orElse(0);
        return propose(new TopicGrown(id, first, addedLeaderEpochs));
    }

    @Override
    public CompletionStage<ClusterImage> alterTopicConfigs(Uuid id, Map<String, String> changes) {
        return propose(new TopicConfigChanged(id, new HashMap<>(changes)));
    }

    @Override
    public CompletionStage<ClusterImage> raiseLeaderEpoch(Uuid id, int partition, int epoch) {
        return propose(new LeaderEpochRaised(id, partition, epoch));
    }

    @Override
    public CompletionStage<ClusterImage> createMirror(String name, Map<String, String> configs) {
        return propose(new MirrorCreated(name, configs));
    }

    @Override
    public CompletionStage<ClusterImage> pinSource(String mirror, String sourceClusterId) {
        return propose(new SourcePinned(mirror, sourceClusterId));
    }

    @Override
    public CompletionStage<ClusterImage> deleteMirror(String name) {
        return propose(new MirrorDeleted(name));
    }

    @Override
    public CompletionStage<ClusterImage> adoptTopic(Uuid id, String mirror, Uuid sourceTopicId) {
        return propose(new TopicAdopted(id, mirror, sourceTopicId));
    }

    @Override
    public CompletionStage<ClusterImage> setDesired(String mirror, Collection<String> topics, Desired desired) {
        return propose(new DesiredSet(mirror, List.copyOf(topics), desired));
    }

    /** A stored state epoch other than the expected one fails with FENCED_STATE_EPOCH. */
    @Override
    public CompletionStage<PartitionState> putMirrorState(
            MirrorPartition partition, PartitionState next, int expectedStateEpoch) {
        return propose(new MirrorStatePut(partition, next, expectedStateEpoch), (before, after) -> after.mirrorStates()
                .get(partition));
    }

    @Override
    public CompletionStage<Long> allocateProducerIds(int count) {
        return propose(new ProducerIdsAllocated(count), (before, after) -> before.nextProducerId());
    }

    /** Proposes a change that was decided elsewhere, such as a step of an adoption. */
    public CompletionStage<ClusterImage> change(ClusterRecord record) {
        return propose(record);
    }

    @Override
    public void close() {
        raft.close();
    }

    private CompletionStage<ClusterImage> propose(ClusterRecord record) {
        return propose(record, (before, after) -> after);
    }

    private <T> CompletionStage<T> propose(ClusterRecord record, BiFunction<ClusterState, ClusterState, T> answer) {
        byte[] bytes = ClusterRecordCodec.encode(record);
        long number = lastNumber.incrementAndGet();
        CompletableFuture<T> outcome = new CompletableFuture<>();
        pending.put(number, new Pending<>(outcome, answer));
        ByteBuffer entry = ByteBuffer.allocate(ClusterMachine.PROPOSAL_BYTES + bytes.length);
        entry.putLong(session).putLong(number).put(bytes);
        raft.propose(entry.array()).whenComplete((index, failure) -> {
            if (failure != null && pending.remove(number) != null) {
                outcome.completeExceptionally(refusedBecause(failure));
            }
        });
        return outcome;
    }

    private void onApplied(long fromSession, long number, ClusterState before, ClusterState.Applied applied) {
        Pending<?> waiting = fromSession == session ? pending.remove(number) : null;
        if (waiting != null) {
            waiting.complete(before, applied);
        }
    }

    private static Refused refusedBecause(Throwable failure) {
        if (failure instanceof ProposalFailed proposal) {
            Errors error =
                    switch (proposal.reason()) {
                        case NOT_LEADER -> Errors.NOT_CONTROLLER;
                        case OVERLOADED -> Errors.THROTTLING_QUOTA_EXCEEDED;
                        case TOO_LARGE -> Errors.INVALID_REQUEST;
                        case OUTCOME_UNKNOWN -> Errors.REQUEST_TIMED_OUT;
                    };
            return new Refused(error.code(), proposal.getMessage());
        }
        return new Refused(Errors.UNKNOWN_SERVER_ERROR.code(), String.valueOf(failure));
    }
}
