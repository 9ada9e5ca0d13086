package io.kagami.broker.mirror;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.ports.LocalCluster;
import io.kagami.protocol.MirrorError;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;

/** The cluster metadata as the mirror engine sees it. Thread-safe. */
final class ClusterMetadataPort implements LocalCluster {
    private final Cluster cluster;
    private final BiFunction<String, String, String> configProblem;

    /** @param configProblem of a topic key and value: null, or why a topic can't have it */
    ClusterMetadataPort(Cluster cluster, BiFunction<String, String, String> configProblem) {
        this.cluster = cluster;
        this.configProblem = configProblem;
    }

    @Override
    public String clusterId() {
        return cluster.image().clusterId();
    }

    @Override
    public String configProblem(String key, String value) {
        return configProblem.apply(key, value);
    }

    @Override
    public Optional<LocalTopic> topic(String name) {
        return Optional.ofNullable(cluster.image().topics().get(name)).map(ClusterMetadataPort::local);
    }

    @Override
    public Collection<LocalTopic> topicsOf(String mirror) {
        List<LocalTopic> topics = new ArrayList<>();
        for (TopicImage topic : cluster.image().topics().values()) {
            if (mirror.equals(topic.mirror())) {
                topics.add(local(topic));
            }
        }
        return topics;
    }

    private static LocalTopic local(TopicImage topic) {
        return new LocalTopic(
                topic.name(), topic.id(), topic.partitions(), topic.mirror(), topic.desired(), topic.sourceTopicId());
    }

    @Override
    public CompletionStage<LocalTopic> createMirrorTopic(
            String mirror,
            String topic,
            Uuid sourceTopicId,
            Map<Integer, Integer> leaderEpoch,
            Map<String, String> configs) {
        List<Integer> epochs = new ArrayList<>();
        for (int p = 0; p < leaderEpoch.size(); p++) {
            Integer epoch = leaderEpoch.get(p);
            if (epoch == null) {
                return CompletableFuture.failedFuture(
                        new Refused(Errors.INVALID_PARTITIONS.code(), "the source does not describe partition " + p));
            }
            epochs.add(epoch);
        }
        return cluster.createTopic(topic, sourceTopicId, epochs, configs, mirror, sourceTopicId)
                .thenApply(image -> require(image, topic));
    }

    @Override
    public CompletionStage<LocalTopic> adoptMirrorTopic(String mirror, String topic, Uuid sourceTopicId) {
        TopicImage here = cluster.image().topics().get(topic);
        if (here == null) {
            return unknown(topic);
        }
        return cluster.adoptTopic(here.id(), mirror, sourceTopicId).thenApply(image -> require(image, topic));
    }

    @Override
    public CompletionStage<LocalTopic> growMirrorTopic(String mirror, String topic, int partitions, int leaderEpoch) {
        TopicImage here = cluster.image().topics().get(topic);
        if (here == null) {
            return unknown(topic);
        }
        if (!mirror.equals(here.mirror())) {
            return CompletableFuture.failedFuture(new Refused(
                    MirrorError.TOPIC_NOT_IN_CLUSTER_MIRROR.code(),
                    "Topic '" + topic + "' does not belong to the mirror '" + mirror + "'."));
        }
        int added = partitions - here.partitions();
        if (added <= 0) {
            return CompletableFuture.completedFuture(local(here));
        }
        return cluster.growTopic(here.id(), Collections.nCopies(added, leaderEpoch))
                .thenApply(image -> require(image, topic));
    }

    private static CompletionStage<LocalTopic> unknown(String topic) {
        return CompletableFuture.failedFuture(
                new Refused(Errors.UNKNOWN_TOPIC_OR_PARTITION.code(), "There is no topic '" + topic + "'."));
    }

    private static LocalTopic require(ClusterImage image, String name) {
        TopicImage topic = image.topics().get(name);
        if (topic == null) {
            throw new Refused(Errors.UNKNOWN_TOPIC_OR_PARTITION.code(), "Topic '" + name + "' was deleted meanwhile.");
        }
        return local(topic);
    }

    @Override
    public CompletionStage<Void> setDesired(String mirror, Collection<String> topics, Desired desired) {
        return cluster.setDesired(mirror, topics, desired).thenApply(image -> null);
    }

    @Override
    public CompletionStage<Void> pinSource(String mirror, String sourceClusterId) {
        return cluster.pinSource(mirror, sourceClusterId).thenApply(image -> null);
    }
}
