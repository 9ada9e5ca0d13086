package io.kagami.broker.core.cluster;

import io.kagami.mirror.MirrorSpec;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.ports.MirrorPartition;
import java.util.Map;
import java.util.Optional;
import org.apache.kafka.common.Uuid;

/** Immutable result of replaying the metadata log. */
public interface ClusterImage {
    /** Index of the last applied record. */
    long index();

    String clusterId();

    Map<String, TopicImage> topics();

    Optional<TopicImage> topic(Uuid id);

    Map<String, MirrorSpec> mirrors();

    Map<MirrorPartition, PartitionState> mirrorStates();

    /** The existing topic whose name equals this one but for dots and underscores (metric names cannot tell them apart). */
    default Optional<String> topicLike(String name) {
        String likeness = name.replace('.', '_');
        return topics().keySet().stream()
                .filter(other -> other.replace('.', '_').equals(likeness))
                .findFirst();
    }

    /** First producer id not yet handed out in a block. */
    long nextProducerId();
}
