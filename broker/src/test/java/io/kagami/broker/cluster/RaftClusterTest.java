package io.kagami.broker.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.protocol.MirrorError;
import io.kagami.raft.StoreFault;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class RaftClusterTest {
    @TempDir
    Path directory;

    private RaftCluster cluster;

    @BeforeEach
    void start() {
        cluster = start(null);
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private RaftCluster start(String clusterId) {
        return RaftCluster.start(directory, 1, clusterId, InstantSource.system(), failure -> {
            throw new AssertionError(failure);
        });
    }

    private void restart() {
        cluster.close();
        cluster = start(null);
    }

    private static <T> T get(CompletionStage<T> stage) {
        return stage.toCompletableFuture().join();
    }

    private static short refusal(CompletionStage<?> stage) {
        try {
            stage.toCompletableFuture().join();
        } catch (CompletionException e) {
            return ((Refused) e.getCause()).errorCode();
        }
        throw new AssertionError("the change was made");
    }

    private ClusterImage createTopic(String name, Uuid id, String mirror) {
        return get(cluster.createTopic(name, id, List.of(0, 0), Map.of("retention.ms", "5"), mirror, id));
    }

    @Test
    void everythingIsThereAgainAfterARestart() {
        Uuid mirrored = Uuid.randomUuid();
        get(cluster.createMirror("m", Map.of("bootstrap.servers", "h:1")));
        get(cluster.pinSource("m", "source"));
        createTopic("plain", Uuid.ZERO_UUID, null);
        createTopic("copied", mirrored, "m");
        get(cluster.setDesired("m", List.of("copied"), Desired.PAUSED));
        get(cluster.raiseLeaderEpoch(mirrored, 1, 17));
        get(cluster.growTopic(mirrored, List.of(3)));
        MirrorPartition partition = new MirrorPartition("m", "copied", mirrored, 0);
        PartitionState state = new PartitionState(Phase.FAILED, 0, Phase.MIRRORING, 2, "broken");
        assertThat(get(cluster.putMirrorState(partition, state, 0)).stateEpoch())
                .isEqualTo(1);
        assertThat(get(cluster.allocateProducerIds(1000))).isZero();
        ClusterImage before = cluster.image();

        restart();

        ClusterImage after = cluster.image();
        assertThat(after.clusterId()).isEqualTo(before.clusterId()).hasSize(22);
        assertThat(after.topics()).isEqualTo(before.topics()).containsOnlyKeys("plain", "copied");
        assertThat(after.topics().get("copied").leaderEpochs()).containsExactly(0, 17, 3);
        assertThat(after.mirrors()).isEqualTo(before.mirrors());
        assertThat(after.mirrorStates()).isEqualTo(before.mirrorStates()).containsOnlyKeys(partition);
        assertThat(get(cluster.allocateProducerIds(1000))).isEqualTo(1000);
    }

    @Test
    void listenersSeeEveryChangeInOrderBeforeTheProposerDoes() {
        createTopic("first", Uuid.ZERO_UUID, null);
        List<Integer> sizes = new ArrayList<>();
        cluster.listen((before, after) -> {
            assertThat(before.topics()).hasSizeLessThanOrEqualTo(after.topics().size());
            sizes.add(after.topics().size());
        });
        assertThat(sizes).containsExactly(1);
        createTopic("second", Uuid.ZERO_UUID, null);
        assertThat(sizes).containsExactly(1, 2);
    }

    @Test
    void topicsThatAreCreatedAtTheSameTimeAreToldTogether() throws Exception {
        int topics = 300;
        CountDownLatch go = new CountDownLatch(1);
        AtomicInteger told = new AtomicInteger();
        AtomicInteger seen = new AtomicInteger();
        cluster.listen((before, after) -> {
            awaitQuietly(after.topics().isEmpty() ? null : go);
            told.incrementAndGet();
            assertThat(before.topics()).hasSize(seen.get());
            seen.set(after.topics().size());
        });
        List<CompletionStage<ClusterImage>> created = new ArrayList<>();
        for (int i = 0; i < topics; i++) {
            created.add(cluster.createTopic("t" + i, Uuid.ZERO_UUID, List.of(0), Map.of(), null, Uuid.ZERO_UUID));
        }
        go.countDown();
        for (int i = 0; i < topics; i++) {
            assertThat(get(created.get(i)).topics()).containsKey("t" + i);
            assertThat(seen.get()).isGreaterThan(i); // whoever hears of it is told after the listeners
        }
        assertThat(cluster.image().topics()).hasSize(topics);
        // the empty image, the first topic or few of them, then all that came while those were told
        assertThat(told.get()).isLessThan(topics / 10);
    }

    private static void awaitQuietly(CountDownLatch latch) {
        try {
            if (latch != null) {
                latch.await(10, TimeUnit.SECONDS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void oneOfTwoRacingCreationsIsRefused() {
        CompletionStage<ClusterImage> one =
                cluster.createTopic("t", Uuid.ZERO_UUID, List.of(0), Map.of(), null, Uuid.ZERO_UUID);
        CompletionStage<ClusterImage> two =
                cluster.createTopic("t", Uuid.ZERO_UUID, List.of(0), Map.of(), null, Uuid.ZERO_UUID);
        get(one);
        assertThat(refusal(two)).isEqualTo(Errors.TOPIC_ALREADY_EXISTS.code());
    }

    @Test
    void aStaleStateEpochIsFenced() {
        Uuid id = Uuid.randomUuid();
        get(cluster.createMirror("m", Map.of()));
        createTopic("t", id, "m");
        MirrorPartition partition = new MirrorPartition("m", "t", id, 0);
        PartitionState state = new PartitionState(Phase.MIRRORING, 0, null, 0, null);
        get(cluster.putMirrorState(partition, state, 0));
        assertThat(refusal(cluster.putMirrorState(partition, state, 0))).isEqualTo(Errors.FENCED_STATE_EPOCH.code());
        assertThat(get(cluster.putMirrorState(partition, state, 1)).stateEpoch())
                .isEqualTo(2);
    }

    @Test
    void aMirrorTopicIsDeletedOnlyWhenStopped() {
        Uuid id = Uuid.randomUuid();
        get(cluster.createMirror("m", Map.of()));
        createTopic("t", id, "m");
        MirrorPartition partition = new MirrorPartition("m", "t", id, 0);
        get(cluster.putMirrorState(partition, new PartitionState(Phase.MIRRORING, 0, null, 0, null), 0));
        assertThat(refusal(cluster.deleteTopic(id))).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(refusal(cluster.deleteMirror("m"))).isEqualTo(MirrorError.CLUSTER_MIRROR_NOT_EMPTY.code());
        get(cluster.setDesired("m", List.of("t"), Desired.STOPPED));
        assertThat(refusal(cluster.deleteTopic(id))).isEqualTo(Errors.INVALID_REQUEST.code());
        get(cluster.putMirrorState(partition, new PartitionState(Phase.STOPPED, 0, null, 0, null), 1));
        ClusterImage after = get(cluster.deleteTopic(id));
        assertThat(after.topics()).isEmpty();
        assertThat(after.mirrorStates()).isEmpty();
        get(cluster.deleteMirror("m"));
    }

    @Test
    void aDirectoryOfAnotherClusterOrNodeIsRefused() {
        cluster.close();
        assertThatThrownBy(() -> start("another"))
                .isInstanceOf(StoreFault.class)
                .hasMessageContaining("belongs to the cluster")
                .hasMessageContaining("another");
        assertThatThrownBy(() -> RaftCluster.start(directory, 2, null, InstantSource.system(), failure -> {}))
                .isInstanceOf(StoreFault.class)
                .hasMessageContaining("node.id 1");
        cluster = start(null);
    }

    @Test
    void aLostLogBesideItsIdentityIsNotTakenForAFreshCluster() throws Exception {
        cluster.close();
        try (var files = Files.list(directory)) {
            for (Path file : files.filter(f -> f.toString().endsWith(".raft")).toList()) {
                Files.delete(file);
            }
        }
        assertThatThrownBy(() -> start(null)).isInstanceOf(StoreFault.class).hasMessageContaining("log is empty");
        Files.delete(directory.resolve("meta.properties"));
        cluster = start(null);
    }

    @Test
    void aThousandTopicsAreCreatedInAFewSeconds() {
        List<CompletableFuture<ClusterImage>> stages = new ArrayList<>();
        long begin = System.nanoTime();
        for (int i = 0; i < 1000; i++) {
            stages.add(cluster.createTopic(
                            "topic-" + i,
                            Uuid.ZERO_UUID,
                            List.of(0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
                            new HashMap<>(),
                            null,
                            Uuid.ZERO_UUID)
                    .toCompletableFuture());
        }
        stages.forEach(CompletableFuture::join);
        long ms = (System.nanoTime() - begin) / 1_000_000;
        System.out.println("1000 topics of 10 partitions created in " + ms + " ms");
        assertThat(cluster.image().topics()).hasSize(1000);
        assertThat(ms).isLessThan(5000);
        assertThat(((ClusterState) cluster.image())
                        .topics().values().stream()
                                .mapToInt(t -> t.partitions())
                                .sum())
                .isEqualTo(10_000);
    }
}
