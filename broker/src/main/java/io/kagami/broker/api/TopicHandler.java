package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.ClusterRules;
import io.kagami.broker.core.cluster.Refusal;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.net.Session;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.protocol.Request;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.CreateTopicsRequestData;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableReplicaAssignment;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopic;
import org.apache.kafka.common.message.CreateTopicsRequestData.CreatableTopicConfig;
import org.apache.kafka.common.message.CreateTopicsResponseData;
import org.apache.kafka.common.message.CreateTopicsResponseData.CreatableTopicConfigs;
import org.apache.kafka.common.message.CreateTopicsResponseData.CreatableTopicResult;
import org.apache.kafka.common.message.DeleteTopicsRequestData;
import org.apache.kafka.common.message.DeleteTopicsRequestData.DeleteTopicState;
import org.apache.kafka.common.message.DeleteTopicsResponseData;
import org.apache.kafka.common.message.DeleteTopicsResponseData.DeletableTopicResult;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/**
 * CreateTopics 2-7 and DeleteTopics 1-6 with Kafka 4.4.0's error codes. A partition has one copy, so a replication factor above 1 is
 * refused with INVALID_REPLICATION_FACTOR as a Kafka of one broker does. A topic of an active mirror is not deleted; the other topics of
 * the request are. The request's time-out is not used: a change is durable or refused within milliseconds.
 */
final class TopicHandler {
    private static final short DEFAULT = -1;
    private static final short BROKERS = 1;
    private static final String METADATA_TOPIC = "__cluster_metadata";
    private static final String MIRROR_PREFIX = "__mirror_";

    private final Cluster cluster;
    private final MetadataOptions options;

    TopicHandler(Cluster cluster, MetadataOptions options) {
        this.cluster = cluster;
        this.options = options;
    }

    /** Names that only this broker itself may use. */
    static boolean reserved(String name) {
        return name.equals(METADATA_TOPIC) || name.startsWith(MIRROR_PREFIX);
    }

    CompletionStage<ApiMessage> create(Request request, Session session) {
        CreateTopicsRequestData body = (CreateTopicsRequestData) request.body();
        CreateTopicsResponseData answer = new CreateTopicsResponseData();
        Set<String> duplicates = new HashSet<>();
        Set<String> seen = new HashSet<>();
        long partitions = 0;
        for (CreatableTopic topic : body.topics()) {
            if (!seen.add(topic.name())) {
                duplicates.add(topic.name());
            }
            partitions += topic.assignments().isEmpty()
                    ? Math.max(0, topic.numPartitions())
                    : topic.assignments().size();
        }

        List<CompletableFuture<CreatableTopicResult>> results = new ArrayList<>();
        for (CreatableTopic topic : body.topics()) {
            if (duplicates.contains(topic.name())) {
                continue;
            }
            results.add(
                    partitions > ClusterRules.PARTITIONS_MAX
                            ? CompletableFuture.completedFuture(failed(
                                    topic.name(),
                                    Errors.POLICY_VIOLATION,
                                    "Excessively large number of partitions per request."))
                            : create(topic, body.validateOnly()));
        }
        return CompletableFuture.allOf(results.toArray(CompletableFuture[]::new))
                .thenApply(done -> {
                    results.forEach(result -> answer.topics().add(result.join()));
                    duplicates.forEach(
                            name -> answer.topics().add(failed(name, Errors.INVALID_REQUEST, "Duplicate topic name.")));
                    return answer;
                });
    }

    private CompletableFuture<CreatableTopicResult> create(CreatableTopic topic, boolean validateOnly) {
        String name = topic.name();
        Map<String, String> configs = new HashMap<>();
        topic.configs().forEach(config -> configs.put(config.name(), config.value()));
        Optional<Refusal> refusal = ClusterRules.checkNewName(cluster.image(), name)
                .or(() -> counts(topic))
                .or(() -> badConfigs(topic, configs))
                .or(() -> tooManyReplicas(topic));
        if (refusal.isPresent()) {
            return CompletableFuture.completedFuture(failed(name, refusal.get()));
        }
        int partitions = topic.assignments().isEmpty()
                ? (topic.numPartitions() == DEFAULT ? options.numPartitions() : topic.numPartitions())
                : topic.assignments().size();
        if (validateOnly) {
            return CompletableFuture.completedFuture(created(name, Uuid.ZERO_UUID, partitions, configs));
        }
        return cluster.createTopic(
                        name, Uuid.ZERO_UUID, Collections.nCopies(partitions, 0), configs, null, Uuid.ZERO_UUID)
                .handle((image, failure) -> failure == null
                        ? created(name, idOf(image, name), partitions, configs)
                        : failed(name, refusalIn(failure)))
                .toCompletableFuture();
    }

    private static Uuid idOf(ClusterImage image, String name) {
        return image.topics().get(name).id();
    }

    private Optional<Refusal> counts(CreatableTopic topic) {
        if (reserved(topic.name())) {
            return refuse(Errors.INVALID_REQUEST, "Creation of internal topic " + topic.name() + " is prohibited.");
        }
        if (!topic.assignments().isEmpty()) {
            return assignment(topic);
        }
        short factor =
                topic.replicationFactor() == DEFAULT ? options.defaultReplicationFactor() : topic.replicationFactor();
        if (factor <= 0) {
            return refuse(
                    Errors.INVALID_REPLICATION_FACTOR,
                    "Replication factor must be larger than 0, or -1 to use the default value.");
        }
        if (topic.numPartitions() == 0 || topic.numPartitions() < DEFAULT) {
            return refuse(Errors.INVALID_PARTITIONS, "Number of partitions was set to an invalid non-positive value.");
        }
        return Optional.empty();
    }

    /** Asked last, as Kafka does: it is the placement that fails. */
    private Optional<Refusal> tooManyReplicas(CreatableTopic topic) {
        short factor =
                topic.replicationFactor() == DEFAULT && topic.assignments().isEmpty()
                        ? options.defaultReplicationFactor()
                        : topic.replicationFactor();
        if (factor > BROKERS) {
            return refuse(
                    Errors.INVALID_REPLICATION_FACTOR,
                    "Unable to replicate the partition " + factor + " time(s): The target replication factor of "
                            + factor + " cannot be reached because only " + BROKERS + " broker(s) are registered.");
        }
        return Optional.empty();
    }

    private Optional<Refusal> assignment(CreatableTopic topic) {
        if (topic.replicationFactor() != DEFAULT) {
            return refuse(
                    Errors.INVALID_REQUEST,
                    "A manual partition assignment was specified, but replication factor was not set to -1.");
        }
        if (topic.numPartitions() != DEFAULT) {
            return refuse(
                    Errors.INVALID_REQUEST,
                    "A manual partition assignment was specified, but numPartitions was not set to -1.");
        }
        Set<Integer> partitions = new HashSet<>();
        for (CreatableReplicaAssignment one : topic.assignments()) {
            if (!partitions.add(one.partitionIndex())) {
                return refuse(
                        Errors.INVALID_REPLICA_ASSIGNMENT,
                        "Found multiple manual partition assignments for partition " + one.partitionIndex());
            }
            if (one.brokerIds().isEmpty()) {
                return refuse(
                        Errors.INVALID_REPLICA_ASSIGNMENT,
                        "The manual partition assignment includes an empty replica list.");
            }
            Set<Integer> brokers = new HashSet<>();
            for (int broker : one.brokerIds()) {
                if (broker != cluster.nodeId()) {
                    return refuse(
                            Errors.INVALID_REPLICA_ASSIGNMENT,
                            "The manual partition assignment includes broker " + broker
                                    + ", but no such broker is registered.");
                }
                if (!brokers.add(broker)) {
                    return refuse(
                            Errors.INVALID_REPLICA_ASSIGNMENT,
                            "The manual partition assignment includes the broker " + broker + " more than once.");
                }
            }
        }
        for (int p = 0; p < partitions.size(); p++) {
            if (!partitions.contains(p)) {
                return refuse(
                        Errors.INVALID_REPLICA_ASSIGNMENT,
                        "partitions should be a consecutive 0-based integer sequence");
            }
        }
        return Optional.empty();
    }

    private static Optional<Refusal> badConfigs(CreatableTopic topic, Map<String, String> configs) {
        List<String> nulls = topic.configs().stream()
                .filter(config -> config.value() == null)
                .map(CreatableTopicConfig::name)
                .toList();
        if (!nulls.isEmpty()) {
            return refuse(
                    Errors.INVALID_CONFIG, "Null value not supported for topic configs: " + String.join(",", nulls));
        }
        return TopicConfigs.problem(configs).map(problem -> new Refusal(Errors.INVALID_CONFIG.code(), problem));
    }

    private CreatableTopicResult created(String name, Uuid id, int partitions, Map<String, String> configs) {
        List<CreatableTopicConfigs> shown = TopicConfigs.names().stream()
                .map(key -> new CreatableTopicConfigs()
                        .setName(key)
                        .setValue(TopicConfigs.value(key, configs, options.topicDefaults()))
                        .setReadOnly(false)
                        .setConfigSource(ConfigHandler.source(key, configs, options.topicDefaults())
                                .id())
                        .setIsSensitive(false))
                .toList();
        return new CreatableTopicResult()
                .setName(name)
                .setTopicId(id)
                .setErrorMessage(null)
                .setNumPartitions(partitions)
                .setReplicationFactor(BROKERS)
                .setConfigs(shown);
    }

    private static CreatableTopicResult failed(String name, Errors error, String message) {
        return failed(name, new Refusal(error.code(), message));
    }

    private static CreatableTopicResult failed(String name, Refusal refusal) {
        return new CreatableTopicResult()
                .setName(name)
                .setErrorCode(refusal.errorCode())
                .setErrorMessage(refusal.message());
    }

    CompletionStage<ApiMessage> delete(Request request, Session session) {
        DeleteTopicsRequestData body = (DeleteTopicsRequestData) request.body();
        List<DeleteTopicState> asked = new ArrayList<>(body.topics());
        body.topicNames().forEach(name -> asked.add(new DeleteTopicState().setName(name)));
        ClusterImage image = cluster.image();
        Map<Object, Integer> times = new HashMap<>();
        asked.forEach(topic -> times.merge(subject(topic), 1, Integer::sum));
        DeleteTopicsResponseData answer = new DeleteTopicsResponseData();
        Set<Uuid> taken = new HashSet<>();
        List<CompletableFuture<DeletableTopicResult>> results = new ArrayList<>();
        for (DeleteTopicState topic : asked) {
            Integer count = times.remove(subject(topic));
            if (count == null) {
                continue;
            }
            Refusal wrong = wrongSubject(topic, count);
            Optional<TopicImage> found = topic.name() != null
                    ? Optional.ofNullable(image.topics().get(topic.name()))
                    : image.topic(topic.topicId());
            if (wrong == null && found.isPresent() && !taken.add(found.get().id())) {
                wrong = new Refusal(
                        Errors.INVALID_REQUEST.code(),
                        "The provided topic name maps to an ID that was already supplied.");
            }
            if (wrong == null && found.isEmpty()) {
                Errors error = topic.name() != null ? Errors.UNKNOWN_TOPIC_OR_PARTITION : Errors.UNKNOWN_TOPIC_ID;
                wrong = new Refusal(error.code(), error.message());
            }
            results.add(
                    wrong != null
                            ? CompletableFuture.completedFuture(deleted(topic.name(), topic.topicId(), wrong))
                            : delete(found.get()));
        }
        return CompletableFuture.allOf(results.toArray(CompletableFuture[]::new))
                .thenApply(done -> {
                    results.forEach(result -> answer.responses().add(result.join()));
                    return answer;
                });
    }

    private CompletableFuture<DeletableTopicResult> delete(TopicImage topic) {
        return cluster.deleteTopic(topic.id())
                .handle((image, failure) ->
                        deleted(topic.name(), topic.id(), failure == null ? null : refusalIn(failure)))
                .toCompletableFuture();
    }

    private static Object subject(DeleteTopicState topic) {
        return topic.name() != null ? topic.name() : topic.topicId();
    }

    private static Refusal wrongSubject(DeleteTopicState topic, int times) {
        boolean byId = !topic.topicId().equals(Uuid.ZERO_UUID);
        String message = null;
        if (topic.name() != null && byId) {
            message = "You may not specify both topic name and topic id.";
        } else if (topic.name() == null && !byId) {
            message = "Neither topic name nor id were specified.";
        } else if (times > 1) {
            message = byId ? "Duplicate topic id." : "Duplicate topic name.";
        }
        return message == null ? null : new Refusal(Errors.INVALID_REQUEST.code(), message);
    }

    private static DeletableTopicResult deleted(String name, Uuid id, Refusal refusal) {
        DeletableTopicResult result = new DeletableTopicResult().setName(name).setTopicId(id);
        if (refusal != null) {
            result.setErrorCode(refusal.errorCode()).setErrorMessage(refusal.message());
        }
        return result;
    }

    private static Optional<Refusal> refuse(Errors error, String message) {
        return Optional.of(new Refusal(error.code(), message));
    }

    /** The refusal that a change failed with; anything else is a bug and goes on as one. */
    static Refusal refusalIn(Throwable failure) {
        Throwable cause = failure instanceof CompletionException ? failure.getCause() : failure;
        if (cause instanceof Refused refused) {
            return new Refusal(refused.errorCode(), refused.getMessage());
        }
        throw new CompletionException(cause);
    }
}
