package io.kagami.broker.core.adopt;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;

/**
 * The topics of the broker whose directories are adopted, as its metadata has them.
 *
 * @param clusterId its cluster
 * @param topics by name, sorted
 * @param removed ids of topics that the metadata says were deleted; those deleted before its oldest record are not known
 * @param nextProducerId first producer id that its cluster has not handed out
 * @param brokerConfigs configs of the broker that its metadata sets, which win over its configuration file
 * @param notes sentences on what its metadata holds beside topics and is not taken over
 */
public record SourceCatalog(
        String clusterId,
        Map<String, Topic> topics,
        Set<Uuid> removed,
        long nextProducerId,
        Map<String, String> brokerConfigs,
        List<String> notes) {
    /** Whether nothing is known of the topic that a directory says it belongs to: neither that it is nor that it was deleted. */
    public boolean stray(SourceLog log) {
        if (log.topic() == null || removed.contains(log.topicId())) {
            return false;
        }
        Topic topic = topics.get(log.topic());
        return topic == null
                || !(topic.id().equals(log.topicId()) || log.topicId().equals(Uuid.ZERO_UUID));
    }

    /**
     * @param partitions by number, without holes
     * @param mirror the mirror of another Kagami that it belongs to and that has not stopped, or null
     */
    public record Topic(String name, Uuid id, List<Partition> partitions, Map<String, String> configs, String mirror) {}

    /**
     * @param leaderEpoch the newest one given
     * @param leader node id, -1 when there was none at the end
     * @param complete node ids of the replicas that have every committed record
     */
    public record Partition(int leaderEpoch, int leader, List<Integer> replicas, List<Integer> complete) {}
}
