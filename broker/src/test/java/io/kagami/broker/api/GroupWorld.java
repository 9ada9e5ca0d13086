package io.kagami.broker.api;

import io.kagami.broker.cluster.RaftCluster;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.core.group.GroupLimits;
import io.kagami.broker.net.Session;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.Partitions;
import io.kagami.log.Appended;
import io.kagami.log.FileLogDirectory;
import io.kagami.log.LogDirectory;
import io.kagami.log.LogName;
import io.kagami.log.LogOptions;
import io.kagami.log.PartitionLog;
import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Request;
import io.netty.buffer.Unpooled;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;

/** The group family on real metadata and real logs in a directory, without sockets. */
final class GroupWorld implements AutoCloseable {
    static final int OFFSETS_PARTITIONS = 3;

    private final RaftCluster cluster;
    private final LogDirectory logs;
    private final ExecutorService loop = Executors.newSingleThreadExecutor();
    private final Map<LogName, Partition> partitions = new ConcurrentHashMap<>();
    private final GroupApis apis;
    /** While set, appends fail with it. */
    volatile RuntimeException appendFailure;
    /** While set, appends wait for it. */
    volatile CompletableFuture<Void> appendGate = CompletableFuture.completedFuture(null);

    GroupWorld(Path directory, int initialDelayMs) {
        cluster = RaftCluster.start(directory.resolve("meta"), 1, null, InstantSource.system(), failure -> {
            throw new AssertionError(failure);
        });
        logs = FileLogDirectory.open(directory.resolve("data"), name -> LogOptions.DEFAULT, InstantSource.system());
        GroupLimits d = GroupLimits.DEFAULT;
        GroupLimits limits = new GroupLimits(
                100,
                d.sessionMaxMs(),
                initialDelayMs,
                d.newMemberMs(),
                d.membersMax(),
                d.memberBytesMax(),
                d.groupBytesMax(),
                d.groupsMax(),
                d.commitMetadataMax(),
                d.offsetsRetentionMs());
        apis = GroupApis.start(
                cluster,
                new TablePartitions(),
                GroupOptions.defaults(listener -> new HostPort("broker." + listener, 9092))
                        .with(limits, OFFSETS_PARTITIONS),
                InstantSource.system());
    }

    TopicImage createTopic(String name, int count) {
        return cluster.createTopic(name, Uuid.ZERO_UUID, Collections.nCopies(count, 0), Map.of(), null, Uuid.ZERO_UUID)
                .toCompletableFuture()
                .join()
                .topics()
                .get(name);
    }

    void deleteTopic(Uuid id) {
        cluster.deleteTopic(id).toCompletableFuture().join();
    }

    CompletableFuture<ApiMessage> send(ApiMessage body, int version) {
        Request request = new Request(
                ApiTable.find(body.apiKey()),
                new RequestHeaderData()
                        .setRequestApiKey(body.apiKey())
                        .setRequestApiVersion((short) version)
                        .setClientId("client"),
                body,
                Unpooled.EMPTY_BUFFER,
                0);
        Session session = new Session(new InetSocketAddress(InetAddress.getLoopbackAddress(), 5), "PLAINTEXT");
        return apis.handlers()
                .get(body.apiKey())
                .handle(request, session)
                .toCompletableFuture()
                .thenApply(reply -> {
                    // what cannot be encoded in this version is no answer
                    MessageUtil.toByteBufferAccessor(reply, (short) version);
                    return reply;
                });
    }

    <T> T ask(Class<T> type, ApiMessage body, int version) {
        try {
            return type.cast(send(body, version).get(30, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        } catch (ExecutionException | TimeoutException e) {
            throw new AssertionError("no answer to " + body, e);
        }
    }

    @Override
    public void close() {
        apis.close();
        loop.shutdown();
        try {
            if (!loop.awaitTermination(10, TimeUnit.SECONDS)) {
                throw new AssertionError("the loop does not end");
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        logs.close();
        cluster.close();
    }

    private final class TablePartitions implements Partitions {
        @Override
        public Optional<Partition> get(String topic, int partition) {
            TopicImage image = cluster.image().topics().get(topic);
            if (image == null || partition >= image.partitions()) {
                return Optional.empty();
            }
            return Optional.of(partitions.computeIfAbsent(new LogName(topic, partition), name -> {
                UUID id =
                        new UUID(image.id().getMostSignificantBits(), image.id().getLeastSignificantBits());
                PartitionLog log = logs.get(name).orElseGet(() -> logs.create(name, id, LogOptions.DEFAULT));
                return new TestPartition(image, name, log).asPartition();
            }));
        }

        @Override
        public Optional<Partition> get(Uuid topicId, int partition) {
            return cluster.image().topic(topicId).flatMap(topic -> get(topic.name(), partition));
        }

        @Override
        public Collection<Partition> all() {
            return List.copyOf(partitions.values());
        }
    }

    /** Appends through the loop's queue or the gate, never inline: the host must bear that. */
    private final class TestPartition extends PartitionStub {
        private final PartitionLog log;

        TestPartition(TopicImage topic, LogName name, PartitionLog log) {
            super(topic, name, log, loop);
            this.log = log;
        }

        @Override
        CompletableFuture<Appended> append(ByteBuffer batches) {
            return appendGate.thenApplyAsync(
                    open -> {
                        if (appendFailure != null) {
                            throw appendFailure;
                        }
                        return log.append(batches, 0);
                    },
                    loop);
        }
    }
}
