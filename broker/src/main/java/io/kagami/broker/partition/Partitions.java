package io.kagami.broker.partition;

import java.util.Collection;
import java.util.Optional;
import org.apache.kafka.common.Uuid;

/** All partitions of this broker; copy-on-write, any thread. Follows the cluster image. */
public interface Partitions {
    Optional<Partition> get(String topic, int partition);

    Optional<Partition> get(Uuid topicId, int partition);

    Collection<Partition> all();
}
