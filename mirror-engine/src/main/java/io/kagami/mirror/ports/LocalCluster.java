package io.kagami.mirror.ports;

import io.kagami.mirror.core.Desired;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.Uuid;

/** The local cluster's metadata. Stages complete when the change is durable and applied, or with a {@link Refused}. */
public interface LocalCluster {
    /**
     * A local topic.
     *
     * @param mirror mirror it belongs to, or null
     * @param desired null unless in a mirror
     * @param sourceTopicId id at the source; {@link Uuid#ZERO_UUID} when the source has none
     */
    record LocalTopic(String name, Uuid topicId, int partitions, String mirror, Desired desired, Uuid sourceTopicId) {}

    /** The change was not made: Kafka or mirror error code and a sentence. */
    final class Refused extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final short errorCode;

        public Refused(short errorCode, String message) {
            super(message);
            this.errorCode = errorCode;
        }

        public short errorCode() {
            return errorCode;
        }
    }

    String clusterId();

    /** Null, or why a topic here can't have this override (unknown key, bad value). */
    default String configProblem(String key, String value) {
        return null;
    }

    Optional<LocalTopic> topic(String name);

    Collection<LocalTopic> topicsOf(String mirror);

    /**
     * Creates a mirror topic: same name, id (or a fresh one when zero), partition count, overrides; desired MIRRORING.
     *
     * @param leaderEpoch first local leader epoch per partition, by partition number
     */
    CompletionStage<LocalTopic> createMirrorTopic(
            String mirror,
            String topic,
            Uuid sourceTopicId,
            Map<Integer, Integer> leaderEpoch,
            Map<String, String> configs);

    /** Makes an existing local topic (same id) a mirror topic again. */
    CompletionStage<LocalTopic> adoptMirrorTopic(String mirror, String topic, Uuid sourceTopicId);

    CompletionStage<LocalTopic> growMirrorTopic(String mirror, String topic, int partitions, int leaderEpoch);

    CompletionStage<Void> setDesired(String mirror, Collection<String> topics, Desired desired);

    /** Pins the source cluster id, once. */
    CompletionStage<Void> pinSource(String mirror, String sourceClusterId);
}
