package io.kagami.mirror;

import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.client.ConnectionClosed;
import io.kagami.protocol.client.Node;
import io.kagami.protocol.client.Reply;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
import org.apache.kafka.common.message.DescribeConfigsRequestData;
import org.apache.kafka.common.message.DescribeConfigsResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsPartitionResponse;
import org.apache.kafka.common.message.ListOffsetsResponseData.ListOffsetsTopicResponse;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.EpochEndOffset;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData.OffsetForLeaderTopicResult;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/** A client of the simulated source; answers take time and may never come. */
final class SimClient implements ClusterClient {
    private final Sim sim;
    private final SimSource source;
    private final Set<SimConnection> connections = new HashSet<>();
    private ClusterMetadata last;
    /** Answers handed out and not closed yet. */
    final Set<Reply> open = new HashSet<>();

    SimClient(Sim sim, SimSource source) {
        this.sim = sim;
        this.source = source;
    }

    record SimReply(ApiMessage body, int sizeInBytes, Set<Reply> open) implements Reply {
        @Override
        public short version() {
            return 17;
        }

        @Override
        public void close() {
            if (!open.removeIf(r -> r == this)) {
                throw new AssertionError("an answer was closed twice");
            }
        }

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }

    Reply reply(ApiMessage body, int size) {
        SimReply reply = new SimReply(body, size, open);
        open.add(reply);
        return reply;
    }

    private <T> CompletableFuture<T> later(boolean reachable, Supplier<T> answer) {
        CompletableFuture<T> future = new CompletableFuture<>();
        sim.after(sim.latency(20), () -> {
            if (reachable) {
                future.complete(answer.get());
            } else {
                future.completeExceptionally(new ConnectionClosed("refused", null));
            }
        });
        return future;
    }

    private boolean anyUp() {
        return source.down.size() < source.nodes.size();
    }

    private boolean up(int node) {
        return source.nodes.containsKey(node) && !source.down.contains(node);
    }

    @Override
    public CompletableFuture<ClusterMetadata> metadata(Collection<String> topics) {
        return later(anyUp(), () -> {
            boolean lags = source.old != null && sim.chance(0.2);
            last = lags ? source.old : source.metadata(topics);
            return last;
        });
    }

    @Override
    public ClusterMetadata lastMetadata() {
        return last;
    }

    @Override
    public CompletableFuture<Reply> send(int nodeId, ApiMessage request) {
        return later(up(nodeId), () -> reply(answer(nodeId, request), 100));
    }

    @Override
    public CompletableFuture<Reply> sendToAny(ApiMessage request) {
        return later(anyUp(), () -> {
            DescribeConfigsResponseData body = new DescribeConfigsResponseData();
            ((DescribeConfigsRequestData) request).resources().forEach(r -> body.results()
                    .add(new DescribeConfigsResponseData.DescribeConfigsResult()
                            .setResourceName(r.resourceName())
                            .setResourceType(r.resourceType())));
            return reply(body, 100);
        });
    }

    @Override
    public CompletableFuture<Connection> connect(int nodeId) {
        return later(up(nodeId), () -> {
            SimConnection made = new SimConnection(sim, source, this, nodeId);
            connections.add(made);
            return made;
        });
    }

    void disconnect(int nodeId) {
        for (SimConnection connection : List.copyOf(connections)) {
            if (connection.node().id() == nodeId) {
                connections.remove(connection);
                connection.cut();
            }
        }
    }

    @Override
    public CompletableFuture<Node> coordinator(byte keyType, String key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        List.copyOf(connections).forEach(SimConnection::cut);
    }

    static Errors leaderError(SimSource.Log log, int node, int currentEpoch) {
        if (log == null) {
            return Errors.UNKNOWN_TOPIC_OR_PARTITION;
        }
        if (currentEpoch >= 0 && currentEpoch < log.epoch) {
            return Errors.FENCED_LEADER_EPOCH;
        }
        if (currentEpoch > log.epoch) {
            return Errors.UNKNOWN_LEADER_EPOCH;
        }
        return log.leader == node ? Errors.NONE : Errors.NOT_LEADER_OR_FOLLOWER;
    }

    SimSource.Log log(String topic, int partition) {
        SimSource.SimTopic known = source.topics.get(topic);
        return known == null || partition >= known.partitions.size() ? null : known.partitions.get(partition);
    }

    private ApiMessage answer(int node, ApiMessage request) {
        if (request instanceof ListOffsetsRequestData asked) {
            ListOffsetsResponseData body = new ListOffsetsResponseData();
            asked.topics().forEach(t -> {
                ListOffsetsTopicResponse topic = new ListOffsetsTopicResponse().setName(t.name());
                t.partitions().forEach(p -> {
                    SimSource.Log log = log(t.name(), p.partitionIndex());
                    Errors error = leaderError(log, node, p.currentLeaderEpoch());
                    topic.partitions()
                            .add(new ListOffsetsPartitionResponse()
                                    .setPartitionIndex(p.partitionIndex())
                                    .setErrorCode(error.code())
                                    .setOffset(error == Errors.NONE ? log.start : -1));
                });
                body.topics().add(topic);
            });
            return body;
        }
        OffsetForLeaderEpochRequestData asked = (OffsetForLeaderEpochRequestData) request;
        OffsetForLeaderEpochResponseData body = new OffsetForLeaderEpochResponseData();
        asked.topics().forEach(t -> {
            List<EpochEndOffset> ends = new ArrayList<>();
            t.partitions().forEach(p -> {
                SimSource.Log log = log(t.topic(), p.partition());
                Errors error = leaderError(log, node, p.currentLeaderEpoch());
                long[] end = error == Errors.NONE ? log.endOfEpoch(p.leaderEpoch()) : new long[] {-1, -1};
                ends.add(new EpochEndOffset()
                        .setPartition(p.partition())
                        .setErrorCode(error.code())
                        .setLeaderEpoch((int) end[0])
                        .setEndOffset(end[1]));
            });
            body.topics()
                    .add(new OffsetForLeaderTopicResult().setTopic(t.topic()).setPartitions(ends));
        });
        return body;
    }
}
