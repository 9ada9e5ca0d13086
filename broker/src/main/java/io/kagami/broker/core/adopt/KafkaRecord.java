package io.kagami.broker.core.adopt;

import java.util.List;
import org.apache.kafka.common.Uuid;

/** One record of Apache Kafka's metadata log ({@code __cluster_metadata}), as far as it says something about topics. */
public sealed interface KafkaRecord {
    record TopicMade(String name, Uuid id) implements KafkaRecord {}

    record TopicRemoved(Uuid id) implements KafkaRecord {}

    /**
     * @param leader node id, -1 for none
     * @param eligible replicas that have every committed record although they left the in-sync set (KIP-966)
     * @param lastKnown the last leader, when neither of the sets has anybody left
     */
    record PartitionMade(
            Uuid topicId,
            int partition,
            List<Integer> replicas,
            List<Integer> isr,
            int leader,
            int leaderEpoch,
            List<Integer> eligible,
            List<Integer> lastKnown)
            implements KafkaRecord {}

    /**
     * A list is null when it is unchanged.
     *
     * @param leader {@link #SAME_LEADER} when unchanged; any other value raises the leader epoch by one
     */
    record PartitionChanged(
            Uuid topicId,
            int partition,
            List<Integer> replicas,
            List<Integer> isr,
            int leader,
            List<Integer> eligible,
            List<Integer> lastKnown)
            implements KafkaRecord {}

    /** Forgets the eligible and the last known leaders of a topic; of all when the name is empty. */
    record EligibleCleared(String topic) implements KafkaRecord {}

    /** @param value null removes the override */
    record ConfigSet(byte resourceType, String resourceName, String key, String value) implements KafkaRecord {}

    record ProducerIdsTaken(long nextProducerId) implements KafkaRecord {}

    /** What follows holds only when an end comes, and not when an abort comes. */
    record TransactionBegun() implements KafkaRecord {}

    record TransactionEnded() implements KafkaRecord {}

    record TransactionAborted() implements KafkaRecord {}

    /** A record of any other kind, by its api key. */
    record Foreign(int type) implements KafkaRecord {}

    int SAME_LEADER = -2;
    byte TOPIC_RESOURCE = 2;
    byte BROKER_RESOURCE = 4;
}
