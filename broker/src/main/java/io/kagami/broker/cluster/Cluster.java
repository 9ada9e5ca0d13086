package io.kagami.broker.cluster;

import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.ports.MirrorPartition;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.function.BiConsumer;
import org.apache.kafka.common.Uuid;

/**
 * The cluster's metadata: current image and the changes that may be proposed. Thread-safe; nothing blocks. Stages complete on the raft
 * loop with the image that holds the change, after all listeners have run; a refused change fails with
 * {@link io.kagami.mirror.ports.LocalCluster.Refused}.
 */
public interface Cluster extends AutoCloseable {
    ClusterImage image();

    int nodeId();

    /** Called on the raft loop with the image before and after, for every applied change, and once at registration with an empty image before. */
    void listen(BiConsumer<ClusterImage, ClusterImage> listener);

    /** A zero id asks for a fresh one; a null mirror makes an ordinary topic. */
    CompletionStage<ClusterImage> createTopic(
            String name,
            Uuid id,
            List<Integer> leaderEpochs,
            Map<String, String> configs,
            String mirror,
            Uuid sourceTopicId);

    CompletionStage<ClusterImage> deleteTopic(Uuid id);

    CompletionStage<ClusterImage> growTopic(Uuid id, List<Integer> addedLeaderEpochs);

    /** Null values remove an override. */
    CompletionStage<ClusterImage> alterTopicConfigs(Uuid id, Map<String, String> changes);

    CompletionStage<ClusterImage> raiseLeaderEpoch(Uuid id, int partition, int epoch);

    CompletionStage<ClusterImage> createMirror(String name, Map<String, String> configs);

    CompletionStage<ClusterImage> pinSource(String mirror, String sourceClusterId);

    CompletionStage<ClusterImage> deleteMirror(String name);

    /** Puts an existing topic under a mirror, desired MIRRORING. */
    CompletionStage<ClusterImage> adoptTopic(Uuid id, String mirror, Uuid sourceTopicId);

    CompletionStage<ClusterImage> setDesired(String mirror, Collection<String> topics, Desired desired);

    CompletionStage<PartitionState> putMirrorState(
            MirrorPartition partition, PartitionState next, int expectedStateEpoch);

    /** Hands out a durable block; completes with its first id. */
    CompletionStage<Long> allocateProducerIds(int count);

    @Override
    void close();
}
