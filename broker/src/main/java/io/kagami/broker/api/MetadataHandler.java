package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.net.Session;
import io.kagami.protocol.Request;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.BiPredicate;
import java.util.stream.IntStream;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidTopicException;
import org.apache.kafka.common.internals.Topic;
import org.apache.kafka.common.message.DescribeClusterRequestData;
import org.apache.kafka.common.message.DescribeClusterResponseData;
import org.apache.kafka.common.message.DescribeClusterResponseData.DescribeClusterBroker;
import org.apache.kafka.common.message.DescribeTopicPartitionsRequestData;
import org.apache.kafka.common.message.DescribeTopicPartitionsRequestData.TopicRequest;
import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData;
import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponsePartition;
import org.apache.kafka.common.message.DescribeTopicPartitionsResponseData.DescribeTopicPartitionsResponseTopic;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataRequestData.MetadataRequestTopic;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseBroker;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Metadata 0-13, DescribeCluster 0-2, DescribeTopicPartitions 0, answered from the current image as Kafka 4.4.0 does. A missing topic is
 * created only where the request and {@code auto.create.topics.enable} both allow it; the first answer says UNKNOWN_TOPIC_OR_PARTITION
 * all the same. Internal topics are never created this way. A partition whose log cannot be read has no leader and an offline replica, as in Kafka when a directory
 * fails. Not here: racks.
 */
final class MetadataHandler {
    private static final Logger LOG = LoggerFactory.getLogger(MetadataHandler.class);
    private static final int PARTITIONS_PER_ANSWER_MAX = 2000;
    private static final int NO_LEADER = -1;
    private static final byte BROKERS = 1;
    private static final byte CONTROLLERS = 2;
    /** Operations on a topic, as KIP-430 numbers them: read, write, create, delete, alter, describe, describe and alter configs. */
    private static final int ALL_TOPIC_OPERATIONS = bits(3, 4, 5, 6, 7, 8, 10, 11);
    /** The same of a cluster: create, alter, describe, cluster action, describe and alter configs, idempotent write. */
    private static final int ALL_CLUSTER_OPERATIONS = bits(5, 7, 8, 9, 10, 11, 12);

    private final Cluster cluster;
    private final MetadataOptions options;
    private final BiPredicate<String, Integer> led;

    MetadataHandler(Cluster cluster, MetadataOptions options, BiPredicate<String, Integer> led) {
        this.cluster = cluster;
        this.options = options;
        this.led = led;
    }

    CompletionStage<ApiMessage> metadata(Request request, Session session) {
        MetadataRequestData body = (MetadataRequestData) request.body();
        short version = request.version();
        ClusterImage image = cluster.image();
        HostPort here = options.advertised().apply(session.listener());
        MetadataResponseData answer =
                new MetadataResponseData().setClusterId(image.clusterId()).setControllerId(cluster.nodeId());
        answer.brokers()
                .add(new MetadataResponseBroker()
                        .setNodeId(cluster.nodeId())
                        .setHost(here.host())
                        .setPort(here.port()));
        if (version >= 8 && version <= 10 && body.includeClusterAuthorizedOperations()) {
            answer.setClusterAuthorizedOperations(ALL_CLUSTER_OPERATIONS);
        }
        List<MetadataRequestTopic> asked = body.topics();
        if (asked == null || (version == 0 && asked.isEmpty())) {
            image.topics().values().forEach(topic -> answer.topics().add(known(topic)));
        } else if (asked.stream().anyMatch(topic -> !topic.topicId().equals(Uuid.ZERO_UUID))) {
            byId(image, version, asked, answer);
        } else {
            boolean mayCreate = options.autoCreateTopics() && (version < 4 || body.allowAutoTopicCreation());
            byName(image, asked, mayCreate, answer);
        }
        if (version >= 8 && body.includeTopicAuthorizedOperations()) {
            answer.topics().stream()
                    .filter(topic -> topic.errorCode() == Errors.NONE.code())
                    .forEach(topic -> topic.setTopicAuthorizedOperations(ALL_TOPIC_OPERATIONS));
        }
        return CompletableFuture.completedFuture(answer);
    }

    private void byName(
            ClusterImage image, List<MetadataRequestTopic> asked, boolean mayCreate, MetadataResponseData answer) {
        for (MetadataRequestTopic one : asked) {
            String name = one.name();
            if (name == null) {
                answer.topics().add(unknown(name, Uuid.ZERO_UUID, Errors.INVALID_REQUEST));
                continue;
            }
            TopicImage topic = image.topics().get(name);
            if (topic != null) {
                if (answer.topics().find(name) == null) {
                    answer.topics().add(known(topic));
                }
                continue;
            }
            Errors error = legal(name) ? Errors.UNKNOWN_TOPIC_OR_PARTITION : Errors.INVALID_TOPIC_EXCEPTION;
            if (answer.topics().find(name) == null) {
                answer.topics().add(unknown(name, Uuid.ZERO_UUID, error));
                if (mayCreate && error == Errors.UNKNOWN_TOPIC_OR_PARTITION) {
                    create(name);
                }
            }
        }
    }

    private void byId(
            ClusterImage image, short version, List<MetadataRequestTopic> asked, MetadataResponseData answer) {
        for (MetadataRequestTopic one : asked) {
            if (version < 12) {
                answer.topics().add(unknown(one.name(), one.topicId(), Errors.INVALID_REQUEST));
                continue;
            }
            if (one.topicId().equals(Uuid.ZERO_UUID)) {
                continue;
            }
            answer.topics()
                    .add(image.topic(one.topicId())
                            .map(this::known)
                            .orElseGet(() -> unknown(null, one.topicId(), Errors.UNKNOWN_TOPIC_ID)));
        }
    }

    private void create(String name) {
        if (TopicHandler.reserved(name) || Topic.isInternal(name) || options.defaultReplicationFactor() > 1) {
            return;
        }
        cluster.createTopic(
                        name,
                        Uuid.ZERO_UUID,
                        Collections.nCopies(options.numPartitions(), 0),
                        Map.of(),
                        null,
                        Uuid.ZERO_UUID)
                .whenComplete((image, failure) -> {
                    if (failure == null) {
                        LOG.atInfo().addKeyValue("topic", name).log("created a topic that a client asked for");
                    } else {
                        LOG.atDebug()
                                .addKeyValue("topic", name)
                                .addKeyValue("reason", failure.getMessage())
                                .log("did not create a topic that a client asked for");
                    }
                });
    }

    private MetadataResponseTopic known(TopicImage topic) {
        MetadataResponseTopic answer = new MetadataResponseTopic()
                .setName(topic.name())
                .setTopicId(topic.id())
                .setIsInternal(Topic.isInternal(topic.name()));
        List<Integer> here = List.of(cluster.nodeId());
        for (int p = 0; p < topic.partitions(); p++) {
            boolean online = led.test(topic.name(), p);
            answer.partitions()
                    .add(new MetadataResponsePartition()
                            .setErrorCode((online ? Errors.NONE : Errors.LEADER_NOT_AVAILABLE).code())
                            .setPartitionIndex(p)
                            .setLeaderId(online ? cluster.nodeId() : NO_LEADER)
                            .setLeaderEpoch(topic.leaderEpochs().get(p))
                            .setReplicaNodes(here)
                            .setIsrNodes(here)
                            .setOfflineReplicas(online ? List.of() : here));
        }
        return answer;
    }

    private static MetadataResponseTopic unknown(String name, Uuid id, Errors error) {
        return new MetadataResponseTopic()
                .setErrorCode(error.code())
                .setName(name)
                .setTopicId(id)
                .setIsInternal(name != null && Topic.isInternal(name));
    }

    CompletionStage<ApiMessage> describeCluster(Request request, Session session) {
        DescribeClusterRequestData body = (DescribeClusterRequestData) request.body();
        DescribeClusterResponseData answer = new DescribeClusterResponseData();
        if (body.endpointType() != BROKERS) {
            boolean controllers = body.endpointType() == CONTROLLERS;
            Errors error = controllers ? Errors.MISMATCHED_ENDPOINT_TYPE : Errors.UNSUPPORTED_ENDPOINT_TYPE;
            return CompletableFuture.completedFuture(answer.setErrorCode(error.code())
                    .setErrorMessage(
                            controllers
                                    ? "The request was sent to an endpoint of type BROKER, "
                                            + "but we wanted an endpoint of type CONTROLLER"
                                    : "Unsupported endpoint type " + body.endpointType()));
        }
        HostPort here = options.advertised().apply(session.listener());
        answer.setEndpointType(BROKERS)
                .setClusterId(cluster.image().clusterId())
                .setControllerId(cluster.nodeId());
        answer.brokers()
                .add(new DescribeClusterBroker()
                        .setBrokerId(cluster.nodeId())
                        .setHost(here.host())
                        .setPort(here.port()));
        if (body.includeClusterAuthorizedOperations()) {
            answer.setClusterAuthorizedOperations(ALL_CLUSTER_OPERATIONS);
        }
        return CompletableFuture.completedFuture(answer);
    }

    CompletionStage<ApiMessage> describeTopicPartitions(Request request, Session session) {
        DescribeTopicPartitionsRequestData body = (DescribeTopicPartitionsRequestData) request.body();
        ClusterImage image = cluster.image();
        DescribeTopicPartitionsResponseData answer = new DescribeTopicPartitionsResponseData();
        TreeSet<String> names = new TreeSet<>();
        if (body.topics().isEmpty()) {
            names.addAll(image.topics().keySet());
        } else {
            body.topics().stream().map(TopicRequest::name).forEach(names::add);
        }
        if (body.cursor() != null && badCursor(body)) {
            names.forEach(name -> answer.topics()
                    .add(new DescribeTopicPartitionsResponseTopic()
                            .setErrorCode(Errors.INVALID_REQUEST.code())
                            .setName(name)));
            return CompletableFuture.completedFuture(answer);
        }
        String fromTopic = body.cursor() == null ? "" : body.cursor().topicName();
        int fromPartition = body.cursor() == null ? 0 : body.cursor().partitionIndex();
        int room = Math.max(1, Math.min(PARTITIONS_PER_ANSWER_MAX, body.responsePartitionLimit()));
        for (String name : names.tailSet(fromTopic)) {
            if (room == 0) {
                answer.setNextCursor(new DescribeTopicPartitionsResponseData.Cursor()
                        .setTopicName(name)
                        .setPartitionIndex(0));
                break;
            }
            TopicImage topic = image.topics().get(name);
            if (topic == null) {
                Errors error = legal(name) ? Errors.UNKNOWN_TOPIC_OR_PARTITION : Errors.INVALID_TOPIC_EXCEPTION;
                answer.topics()
                        .add(new DescribeTopicPartitionsResponseTopic()
                                .setErrorCode(error.code())
                                .setName(name)
                                .setIsInternal(Topic.isInternal(name))
                                .setTopicAuthorizedOperations(ALL_TOPIC_OPERATIONS));
                continue;
            }
            int first = name.equals(fromTopic) ? fromPartition : 0;
            int end = Math.min(topic.partitions(), first + room);
            answer.topics().add(described(topic, first, end));
            room -= Math.max(0, end - first);
            if (end < topic.partitions()) {
                answer.setNextCursor(new DescribeTopicPartitionsResponseData.Cursor()
                        .setTopicName(name)
                        .setPartitionIndex(end));
                break;
            }
        }
        return CompletableFuture.completedFuture(answer);
    }

    /** A cursor must name a topic that is asked for and a partition that can exist. */
    private static boolean badCursor(DescribeTopicPartitionsRequestData body) {
        boolean asked = body.topics().isEmpty()
                || body.topics().stream()
                        .anyMatch(topic -> topic.name().equals(body.cursor().topicName()));
        return !asked || body.cursor().partitionIndex() < 0;
    }

    private DescribeTopicPartitionsResponseTopic described(TopicImage topic, int first, int end) {
        List<Integer> here = List.of(cluster.nodeId());
        DescribeTopicPartitionsResponseTopic answer = new DescribeTopicPartitionsResponseTopic()
                .setName(topic.name())
                .setTopicId(topic.id())
                .setIsInternal(Topic.isInternal(topic.name()))
                .setTopicAuthorizedOperations(ALL_TOPIC_OPERATIONS);
        for (int p = first; p < end; p++) {
            boolean online = led.test(topic.name(), p);
            answer.partitions()
                    .add(new DescribeTopicPartitionsResponsePartition()
                            .setErrorCode((online ? Errors.NONE : Errors.LEADER_NOT_AVAILABLE).code())
                            .setOfflineReplicas(online ? List.of() : here)
                            .setPartitionIndex(p)
                            .setLeaderId(online ? cluster.nodeId() : NO_LEADER)
                            .setLeaderEpoch(topic.leaderEpochs().get(p))
                            .setReplicaNodes(here)
                            .setIsrNodes(here)
                            .setEligibleLeaderReplicas(List.of())
                            .setLastKnownElr(List.of()));
        }
        return answer;
    }

    private static boolean legal(String name) {
        try {
            Topic.validate(name);
            return true;
        } catch (InvalidTopicException e) {
            return false;
        }
    }

    private static int bits(int... operations) {
        return IntStream.of(operations).map(operation -> 1 << operation).reduce(0, (a, b) -> a | b);
    }
}
