package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.net.Session;
import io.kagami.mirror.MirrorEngine;
import io.kagami.mirror.MirrorSpec;
import io.kagami.mirror.RunningMirrors;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.protocol.MirrorError;
import io.kagami.protocol.MirrorMessages.Body;
import io.kagami.protocol.MirrorMessages.CreateClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DeleteClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorListing;
import io.kagami.protocol.MirrorMessages.MirrorResponse;
import io.kagami.protocol.MirrorMessages.MirrorTopicsRequest;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.PrivateMessage;
import io.kagami.protocol.PrivateMessages;
import io.kagami.protocol.Request;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The private mirror RPCs, version 0: Create-, Delete-, Start-, Stop-, Pause-, Resume-, List- and DescribeClusterMirrors. A request whose
 * topics partly fail answers with error NONE and the topics' own errors; one that fails as a whole has the error at the top. Not yet:
 * rights, RecoverMirrorTopics, and what {@link #STOP_WARNINGS} names.
 */
public final class MirrorHandler {
    private static final Logger LOG = LoggerFactory.getLogger(MirrorHandler.class);

    /** What a stop leaves out for now; told with every stop. */
    static final List<String> STOP_WARNINGS = List.of(
            "Transactions that were open at the source stay open here: read_committed consumers do not pass them.",
            "Producer state of the source is kept: a producer id handed out here may meet one that was mirrored.",
            "Committed offsets of consumer groups were not copied from the source.",
            "No receipt (last mirrored positions, records behind) is written.");

    private final Cluster cluster;
    private final MirrorEngine engine;

    public MirrorHandler(Cluster cluster, MirrorEngine engine) {
        this.cluster = cluster;
        this.engine = engine;
    }

    /** By api key. */
    public Map<Short, Handler> handlers() {
        Map<Short, Handler> handlers = new HashMap<>();
        handlers.put(PrivateApi.CREATE_CLUSTER_MIRROR.key(), changing(PrivateApi.CREATE_CLUSTER_MIRROR, this::create));
        handlers.put(PrivateApi.DELETE_CLUSTER_MIRROR.key(), changing(PrivateApi.DELETE_CLUSTER_MIRROR, this::delete));
        handlers.put(
                PrivateApi.START_MIRROR_TOPICS.key(), topics(PrivateApi.START_MIRROR_TOPICS, List.of(), engine::start));
        handlers.put(
                PrivateApi.STOP_MIRROR_TOPICS.key(),
                topics(PrivateApi.STOP_MIRROR_TOPICS, STOP_WARNINGS, engine::stop));
        handlers.put(
                PrivateApi.PAUSE_MIRROR_TOPICS.key(), topics(PrivateApi.PAUSE_MIRROR_TOPICS, List.of(), engine::pause));
        handlers.put(
                PrivateApi.RESUME_MIRROR_TOPICS.key(),
                topics(PrivateApi.RESUME_MIRROR_TOPICS, List.of(), engine::resume));
        handlers.put(PrivateApi.LIST_CLUSTER_MIRRORS.key(), this::list);
        handlers.put(PrivateApi.DESCRIBE_CLUSTER_MIRRORS.key(), this::describe);
        return handlers;
    }

    private interface TopicsCall {
        CompletionStage<List<TopicResult>> run(String mirror, List<String> topics, List<String> exclude);
    }

    private Handler topics(PrivateApi api, List<String> warnings, TopicsCall call) {
        return changing(api, body -> {
            MirrorTopicsRequest request = (MirrorTopicsRequest) body;
            if (request.topics().isEmpty()) {
                throw new Refused(Errors.INVALID_REQUEST.code(), "No topics were named: give names, patterns or all.");
            }
            return call.run(request.mirror(), request.topics(), request.exclude())
                    .thenApply(results -> {
                        List<TopicResult> sorted = new ArrayList<>(results);
                        sorted.sort(Comparator.comparing(TopicResult::topic));
                        boolean any = sorted.stream().anyMatch(result -> result.errorCode() == 0);
                        return new MirrorResponse((short) 0, null, sorted, any ? warnings : List.of());
                    });
        });
    }

    /** A refusal becomes an answer; anything else is a bug and stays one, but it is answered. */
    private static Handler changing(PrivateApi api, Function<Body, CompletionStage<MirrorResponse>> work) {
        return (request, session) -> {
            CompletionStage<MirrorResponse> outcome;
            try {
                outcome = work.apply(body(request));
            } catch (Refused e) {
                outcome = CompletableFuture.failedFuture(e);
            }
            return outcome.exceptionally(failure -> refused(api, failure))
                    .thenApply(answer -> (ApiMessage) PrivateMessages.response(api, answer));
        };
    }

    private static Body body(Request request) {
        return ((PrivateMessage) request.body()).body();
    }

    private static MirrorResponse refused(PrivateApi api, Throwable failure) {
        Refused refused = refusal(api, failure);
        return new MirrorResponse(refused.errorCode(), refused.getMessage(), List.of(), List.of());
    }

    private static Refused refusal(PrivateApi api, Throwable failure) {
        Throwable cause =
                failure instanceof CompletionException && failure.getCause() != null ? failure.getCause() : failure;
        if (cause instanceof Refused refused) {
            return refused;
        }
        // mostly the source: what it said is the best answer there is
        LOG.atWarn()
                .addKeyValue("api", api)
                .addKeyValue("reason", cause.toString())
                .log("A mirror request failed");
        String text = cause.getMessage() == null ? cause.toString() : cause.getMessage();
        return new Refused(
                cause instanceof java.io.IOException
                        ? Errors.NETWORK_EXCEPTION.code()
                        : Errors.UNKNOWN_SERVER_ERROR.code(),
                text);
    }

    private CompletionStage<MirrorResponse> create(Body body) {
        CreateClusterMirrorRequest request = (CreateClusterMirrorRequest) body;
        engine.check(request.mirror(), request.configs());
        List<String> warnings = new ArrayList<>();
        for (String key : RunningMirrors.withoutEffect(request.configs())) {
            warnings.add(key + " is stored, but this version does not act on it yet.");
        }
        return cluster.createMirror(request.mirror(), request.configs())
                .thenApply(image -> new MirrorResponse((short) 0, null, List.of(), warnings));
    }

    private CompletionStage<MirrorResponse> delete(Body body) {
        String mirror = ((DeleteClusterMirrorRequest) body).mirror();
        ClusterImage image = cluster.image();
        if (!image.mirrors().containsKey(mirror)) {
            throw unknown(mirror);
        }
        for (TopicImage topic : image.topics().values()) {
            if (mirror.equals(topic.mirror()) && !stopped(image, topic)) {
                throw new Refused(
                        MirrorError.CLUSTER_MIRROR_NOT_EMPTY.code(),
                        "Topic '" + topic.name() + "' of the mirror '" + mirror + "' is not stopped: stop it first.");
            }
        }
        return cluster.deleteMirror(mirror)
                .thenApply(done -> new MirrorResponse((short) 0, null, List.of(), List.of()));
    }

    private static boolean stopped(ClusterImage image, TopicImage topic) {
        if (topic.desired() != Desired.STOPPED) {
            return false;
        }
        for (int p = 0; p < topic.partitions(); p++) {
            PartitionState state =
                    image.mirrorStates().get(new MirrorPartition(topic.mirror(), topic.name(), topic.id(), p));
            if (state != null && state.phase() != Phase.STOPPED) {
                return false;
            }
        }
        return true;
    }

    private CompletionStage<ApiMessage> list(Request request, Session session) {
        ClusterImage image = cluster.image();
        List<MirrorListing> listings = new ArrayList<>();
        for (MirrorSpec spec : image.mirrors().values()) {
            long topics = image.topics().values().stream()
                    .filter(topic -> spec.name().equals(topic.mirror()))
                    .count();
            listings.add(new MirrorListing(
                    spec.name(),
                    (int) topics,
                    spec.sourceClusterId(),
                    spec.configs().getOrDefault("bootstrap.servers", "")));
        }
        listings.sort(Comparator.comparing(MirrorListing::mirror));
        return CompletableFuture.completedFuture(PrivateMessages.response(
                PrivateApi.LIST_CLUSTER_MIRRORS, new ListClusterMirrorsResponse((short) 0, null, listings)));
    }

    private CompletionStage<ApiMessage> describe(Request request, Session session) {
        List<String> asked = ((DescribeClusterMirrorsRequest) body(request)).mirrors();
        List<String> names =
                new ArrayList<>(asked.isEmpty() ? cluster.image().mirrors().keySet() : asked);
        names.sort(null);
        List<CompletableFuture<MirrorDescription>> descriptions = new ArrayList<>();
        for (String name : names) {
            descriptions.add(engine.describe(name)
                    .exceptionally(failure -> notDescribed(name, failure))
                    .toCompletableFuture());
        }
        return CompletableFuture.allOf(descriptions.toArray(CompletableFuture<?>[]::new))
                .thenApply(all -> PrivateMessages.response(
                        PrivateApi.DESCRIBE_CLUSTER_MIRRORS,
                        new DescribeClusterMirrorsResponse(
                                (short) 0,
                                null,
                                descriptions.stream()
                                        .map(CompletableFuture::join)
                                        .toList())));
    }

    private MirrorDescription notDescribed(String name, Throwable failure) {
        Refused refused = refusal(PrivateApi.DESCRIBE_CLUSTER_MIRRORS, failure);
        MirrorSpec spec = cluster.image().mirrors().get(name);
        return new MirrorDescription(
                name,
                refused.errorCode(),
                refused.getMessage(),
                spec == null ? null : spec.sourceClusterId(),
                spec == null ? "" : spec.configs().getOrDefault("bootstrap.servers", ""),
                "",
                List.of());
    }

    private static Refused unknown(String mirror) {
        return new Refused(MirrorError.UNKNOWN_CLUSTER_MIRROR.code(), "There is no mirror '" + mirror + "'.");
    }
}
