package io.kagami.broker.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.broker.cluster.RaftCluster;
import io.kagami.mirror.MirrorConfig;
import io.kagami.mirror.MirrorEngine;
import io.kagami.mirror.MirrorSpec;
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
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorResponse;
import io.kagami.protocol.MirrorMessages.MirrorTopicsRequest;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.PrivateMessage;
import io.kagami.protocol.PrivateMessages;
import io.kagami.protocol.Request;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class MirrorHandlerTest {
    @TempDir
    Path directory;

    private RaftCluster cluster;
    private Map<Short, Handler> handlers;

    /** Answers every command with success, and knows no mirror. */
    private static final class AgreeableEngine implements MirrorEngine {
        @Override
        public void check(String mirror, Map<String, String> configs) {
            MirrorConfig.parse(configs);
        }

        @Override
        public void apply(Collection<MirrorSpec> mirrors) {}

        @Override
        public CompletionStage<List<TopicResult>> start(String mirror, List<String> topics, List<String> exclude) {
            return CompletableFuture.completedFuture(topics.stream()
                    .map(t -> new TopicResult(t, (short) 0, null))
                    .toList());
        }

        @Override
        public CompletionStage<List<TopicResult>> pause(String mirror, List<String> topics, List<String> exclude) {
            return CompletableFuture.failedFuture(new java.io.IOException("no broker answers"));
        }

        @Override
        public CompletionStage<List<TopicResult>> resume(String mirror, List<String> topics, List<String> exclude) {
            return CompletableFuture.failedFuture(new Refused(Errors.INVALID_REQUEST.code(), "bad pattern"));
        }

        @Override
        public CompletionStage<List<TopicResult>> stop(String mirror, List<String> topics, List<String> exclude) {
            return start(mirror, topics, exclude);
        }

        @Override
        public CompletionStage<MirrorDescription> describe(String mirror) {
            return CompletableFuture.failedFuture(
                    new Refused(MirrorError.UNKNOWN_CLUSTER_MIRROR.code(), "There is no mirror."));
        }

        @Override
        public void close() {}
    }

    @BeforeEach
    void start() {
        cluster = RaftCluster.start(directory, 1, null, InstantSource.system(), failure -> {});
        handlers = new MirrorHandler(cluster, new AgreeableEngine()).handlers();
    }

    @AfterEach
    void stop() {
        cluster.close();
    }

    private Body ask(PrivateApi api, Body body) {
        Request request = new Request(null, new RequestHeaderData(), PrivateMessages.request(api, body), null, 0);
        return ((PrivateMessage) handlers.get(api.key())
                        .handle(request, null)
                        .toCompletableFuture()
                        .join())
                .body();
    }

    private MirrorResponse create(String name, Map<String, String> configs) {
        return (MirrorResponse) ask(PrivateApi.CREATE_CLUSTER_MIRROR, new CreateClusterMirrorRequest(name, configs));
    }

    private MirrorResponse topics(PrivateApi api, String... topics) {
        return (MirrorResponse) ask(api, new MirrorTopicsRequest("m", List.of(topics), List.of()));
    }

    @Test
    void aMirrorIsCreatedOnceAndListed() {
        Map<String, String> configs = Map.of("bootstrap.servers", "a:1", "groups.include", ".*");
        MirrorResponse created = create("m", configs);
        assertThat(created.errorCode()).isZero();
        assertThat(created.warnings()).singleElement().asString().contains("groups.include");
        assertThat(create("m", configs).errorCode()).isEqualTo(MirrorError.CLUSTER_MIRROR_ALREADY_EXISTS.code());
        ListClusterMirrorsResponse listed =
                (ListClusterMirrorsResponse) ask(PrivateApi.LIST_CLUSTER_MIRRORS, new ListClusterMirrorsRequest());
        assertThat(listed.mirrors()).singleElement().satisfies(mirror -> {
            assertThat(mirror.mirror()).isEqualTo("m");
            assertThat(mirror.sourceBootstrapServers()).isEqualTo("a:1");
        });
    }

    @Test
    void aBadConfigurationOrNameIsRefusedAndNothingIsStored() {
        MirrorResponse bad = create("m", Map.of("bootstrap.servers", "a:1", "no.such", "x"));
        assertThat(bad.errorCode()).isEqualTo(Errors.INVALID_CONFIG.code());
        assertThat(bad.errorMessage()).contains("no.such");
        assertThat(create("a/b", Map.of("bootstrap.servers", "a:1")).errorCode())
                .isEqualTo(MirrorError.INVALID_CLUSTER_MIRROR_NAME.code());
        assertThat(cluster.image().mirrors()).isEmpty();
    }

    @Test
    void aMirrorIsDeletedOnlyWhenAllItsTopicsAreStopped() {
        create("m", Map.of("bootstrap.servers", "a:1"));
        Uuid id = Uuid.randomUuid();
        cluster.createTopic("t", id, List.of(10), Map.of(), "m", id)
                .toCompletableFuture()
                .join();
        assertThat(delete("m").errorCode()).isEqualTo(MirrorError.CLUSTER_MIRROR_NOT_EMPTY.code());
        MirrorPartition partition = new MirrorPartition("m", "t", id, 0);
        put(partition, Phase.MIRRORING, 0);
        cluster.setDesired("m", List.of("t"), Desired.STOPPED)
                .toCompletableFuture()
                .join();
        // wanted, but not reached
        assertThat(delete("m").errorCode()).isEqualTo(MirrorError.CLUSTER_MIRROR_NOT_EMPTY.code());
        put(partition, Phase.STOPPED, 1);
        assertThat(delete("m").errorCode()).isZero();
        assertThat(delete("m").errorCode()).isEqualTo(MirrorError.UNKNOWN_CLUSTER_MIRROR.code());
    }

    private MirrorResponse delete(String mirror) {
        return (MirrorResponse) ask(PrivateApi.DELETE_CLUSTER_MIRROR, new DeleteClusterMirrorRequest(mirror));
    }

    private void put(MirrorPartition partition, Phase phase, int expected) {
        cluster.putMirrorState(partition, new PartitionState(phase, expected, null, 0, null), expected)
                .toCompletableFuture()
                .join();
    }

    @Test
    void aStopSaysWhatItDoesNotDoYetAndAStartDoesNot() {
        assertThat(topics(PrivateApi.STOP_MIRROR_TOPICS, "t").warnings()).isEqualTo(MirrorHandler.STOP_WARNINGS);
        assertThat(topics(PrivateApi.START_MIRROR_TOPICS, "t").warnings()).isEmpty();
    }

    @Test
    void refusalsAndAnUnreachableSourceAreAnswers() {
        assertThat(topics(PrivateApi.START_MIRROR_TOPICS).errorCode()).isEqualTo(Errors.INVALID_REQUEST.code());
        assertThat(topics(PrivateApi.RESUME_MIRROR_TOPICS, "t").errorMessage()).isEqualTo("bad pattern");
        MirrorResponse away = topics(PrivateApi.PAUSE_MIRROR_TOPICS, "t");
        assertThat(away.errorCode()).isEqualTo(Errors.NETWORK_EXCEPTION.code());
        assertThat(away.errorMessage()).contains("no broker answers");
        DescribeClusterMirrorsResponse described = (DescribeClusterMirrorsResponse)
                ask(PrivateApi.DESCRIBE_CLUSTER_MIRRORS, new DescribeClusterMirrorsRequest(List.of("nope")));
        assertThat(described.mirrors()).singleElement().satisfies(mirror -> assertThat(mirror.errorCode())
                .isEqualTo(MirrorError.UNKNOWN_CLUSTER_MIRROR.code()));
    }
}
