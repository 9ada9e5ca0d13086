package io.kagami.broker.core.cluster;

import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.ports.MirrorPartition;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;

/** One proposed change of the cluster's metadata; {@link ClusterRules} says whether it holds, {@link ClusterState} what it does. */
public sealed interface ClusterRecord {
    /** Names the cluster; once. */
    record ClusterIdSet(String clusterId) implements ClusterRecord {}

    /** @param mirror null for an ordinary topic */
    record TopicCreated(
            String name,
            Uuid id,
            List<Integer> leaderEpochs,
            Map<String, String> configs,
            String mirror,
            Uuid sourceTopicId)
            implements ClusterRecord {}

    record TopicDeleted(Uuid id) implements ClusterRecord {}

    /** @param firstPartition number of the first new partition, so that two growths that race do not add up */
    record TopicGrown(Uuid id, int firstPartition, List<Integer> addedLeaderEpochs) implements ClusterRecord {}

    /** @param changes new overrides; a null value removes one */
    record TopicConfigChanged(Uuid id, Map<String, String> changes) implements ClusterRecord {}

    /** Lower or equal epochs change nothing. */
    record LeaderEpochRaised(Uuid id, int partition, int epoch) implements ClusterRecord {}

    record MirrorCreated(String name, Map<String, String> configs) implements ClusterRecord {}

    record SourcePinned(String mirror, String sourceClusterId) implements ClusterRecord {}

    record MirrorDeleted(String name) implements ClusterRecord {}

    record TopicAdopted(Uuid id, String mirror, Uuid sourceTopicId) implements ClusterRecord {}

    record DesiredSet(String mirror, List<String> topics, Desired desired) implements ClusterRecord {}

    /** @param expectedStateEpoch state epoch that must be stored, 0 for none; the stored state becomes one higher */
    record MirrorStatePut(MirrorPartition partition, PartitionState next, int expectedStateEpoch)
            implements ClusterRecord {}

    /** Hands out the next {@code count} producer ids. */
    record ProducerIdsAllocated(int count) implements ClusterRecord {}

    /** No producer id below this one is handed out any more. Lower or equal ones change nothing. */
    record ProducerIdsRaised(long nextProducerId) implements ClusterRecord {}
}
