package io.kagami.broker.core.cluster;

import io.kagami.mirror.core.Desired;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;

/**
 * One topic.
 *
 * @param incarnation metadata index of its creation
 * @param leaderEpochs local leader epoch of each partition, by number; its size is the partition count
 * @param configs overrides only
 * @param mirror mirror it belongs to (also when stopped), or null
 * @param desired null unless {@code mirror} is set
 * @param sourceTopicId id at the source, zero when unknown or not mirrored
 */
public record TopicImage(
        String name,
        Uuid id,
        long incarnation,
        List<Integer> leaderEpochs,
        Map<String, String> configs,
        String mirror,
        Desired desired,
        Uuid sourceTopicId) {
    public int partitions() {
        return leaderEpochs.size();
    }

    /** Read-only for clients: in a mirror and not desired STOPPED. */
    public boolean mirrored() {
        return mirror != null && desired != Desired.STOPPED;
    }
}
