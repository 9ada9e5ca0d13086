package io.kagami.mirror;

import io.kagami.mirror.SimSource.Batch;
import io.kagami.mirror.SimSource.Log;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.client.ConnectionClosed;
import io.kagami.protocol.client.Node;
import io.kagami.protocol.client.Reply;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchRequestData.FetchPartition;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.FetchableTopicResponse;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;

/** A connection to one simulated broker, with a fetch session as KIP-227 has it. */
final class SimConnection implements Connection {
    private final Sim sim;
    private final SimSource source;
    private final SimClient client;
    private final Node node;
    private final CompletableFuture<ConnectionClosed> closed = new CompletableFuture<>();
    private final List<CompletableFuture<Reply>> inFlight = new ArrayList<>();

    private final Map<Key, Cached> session = new LinkedHashMap<>();
    private int sessionId;
    private int sessionEpoch;

    private record Key(Uuid topicId, int partition) {}

    private static final class Cached {
        FetchPartition asked;
        String name;
        long toldEnd = -2;
        long toldStart = -2;
    }

    SimConnection(Sim sim, SimSource source, SimClient client, int nodeId) {
        this.sim = sim;
        this.source = source;
        this.client = client;
        this.node = source.nodes.get(nodeId);
    }

    @Override
    public Node node() {
        return node;
    }

    @Override
    public OptionalInt version(short apiKey) {
        return OptionalInt.of(apiKey == 1 ? source.fetchVersion : 9);
    }

    @Override
    public boolean open() {
        return !closed.isDone();
    }

    @Override
    public CompletableFuture<ConnectionClosed> closed() {
        return closed;
    }

    void cut() {
        ConnectionClosed why = new ConnectionClosed("closed by peer", null);
        closed.complete(why);
        List.copyOf(inFlight).forEach(future -> future.completeExceptionally(why));
        inFlight.clear();
    }

    @Override
    public void close() {
        cut();
    }

    @Override
    public CompletableFuture<Reply> send(ApiMessage request, int versionMax) {
        CompletableFuture<Reply> future = new CompletableFuture<>();
        if (!open()) {
            return CompletableFuture.failedFuture(new ConnectionClosed("closed", null));
        }
        inFlight.add(future);
        sim.after(1 + sim.latency(30), () -> {
            if (future.isDone()) {
                return;
            }
            if (request instanceof MetadataRequestData) {
                answer(future, new MetadataResponseData().setClusterId(source.clusterId), 100);
            } else {
                fetch(future, (FetchRequestData) request, true);
            }
        });
        return future;
    }

    private void answer(CompletableFuture<Reply> future, ApiMessage body, int size) {
        sim.after(sim.latency(30), () -> {
            if (inFlight.removeIf(f -> f == future)) {
                future.complete(client.reply(body, size));
            }
        });
    }

    private void fetch(CompletableFuture<Reply> future, FetchRequestData request, boolean first) {
        FetchResponseData body = new FetchResponseData();
        if (first) {
            Errors refused = accept(request);
            if (refused != Errors.NONE) {
                answer(future, body.setErrorCode(refused.code()), 60);
                return;
            }
        }
        int size = 100;
        int left = request.maxBytes();
        boolean full = request.sessionEpoch() == 0;
        boolean urgent = full;
        Map<Uuid, FetchableTopicResponse> topics = new LinkedHashMap<>();
        for (Map.Entry<Key, Cached> e : session.entrySet()) {
            PartitionData data = read(e.getKey(), e.getValue(), left, size == 100);
            int bytes = data.records().sizeInBytes();
            size += bytes;
            left -= bytes;
            if (full || news(e.getValue(), data)) {
                urgent |= bytes > 0 || data.errorCode() != 0;
                topics.computeIfAbsent(e.getKey().topicId(), id -> topic(id, e.getValue().name))
                        .partitions()
                        .add(data);
            }
        }
        if (!urgent && first) {
            sim.after(request.maxWaitMs(), () -> {
                if (!future.isDone()) {
                    fetch(future, request, false);
                }
            });
            return;
        }
        topics.forEach((id, t) -> t.partitions().forEach(p -> remember(new Key(id, p.partitionIndex()), p)));
        answer(future, body.setSessionId(sessionId).setResponses(new ArrayList<>(topics.values())), size);
    }

    private FetchableTopicResponse topic(Uuid id, String name) {
        FetchableTopicResponse topic = new FetchableTopicResponse();
        return source.fetchVersion < 13 ? topic.setTopic(name) : topic.setTopicId(id);
    }

    private Errors accept(FetchRequestData request) {
        if (request.sessionEpoch() == 0) {
            session.clear();
            sessionId = sim.chance(0.1) ? 0 : 1 + sim.random.nextInt(1000);
            sessionEpoch = 1;
        } else {
            if (request.sessionId() != sessionId || sim.chance(0.02)) {
                sessionId = -1;
                return Errors.FETCH_SESSION_ID_NOT_FOUND;
            }
            if (request.sessionEpoch() != sessionEpoch) {
                throw new AssertionError("session epoch " + request.sessionEpoch() + ", expected " + sessionEpoch);
            }
            sessionEpoch++;
        }
        request.topics().forEach(t -> t.partitions().forEach(p -> {
            Cached cached = session.computeIfAbsent(new Key(t.topicId(), p.partition()), k -> new Cached());
            cached.asked = p;
            cached.name = t.topic();
            if (source.fetchVersion < 12 && p.lastFetchedEpoch() != -1) {
                throw new AssertionError("version " + source.fetchVersion + " has no lastFetchedEpoch");
            }
        }));
        request.forgottenTopicsData().forEach(t -> t.partitions().forEach(p -> {
            if (session.remove(new Key(t.topicId(), p)) == null) {
                throw new AssertionError("a partition that is not in the session was forgotten");
            }
        }));
        return Errors.NONE;
    }

    private static boolean news(Cached cached, PartitionData data) {
        return data.records().sizeInBytes() > 0
                || data.errorCode() != 0
                || data.divergingEpoch().endOffset() >= 0
                || data.highWatermark() != cached.toldEnd
                || data.logStartOffset() != cached.toldStart;
    }

    private void remember(Key key, PartitionData data) {
        Cached cached = session.get(key);
        cached.toldEnd = data.highWatermark();
        cached.toldStart = data.logStartOffset();
    }

    private PartitionData read(Key key, Cached cached, int left, boolean atLeastOne) {
        FetchPartition asked = cached.asked;
        PartitionData data = new PartitionData()
                .setPartitionIndex(key.partition())
                .setHighWatermark(-1)
                .setLogStartOffset(-1)
                .setRecords(MemoryRecords.EMPTY);
        Log log = byId(key);
        if (log == null) {
            return data.setErrorCode(Errors.UNKNOWN_TOPIC_ID.code());
        }
        Errors error = SimClient.leaderError(log, node.id(), asked.currentLeaderEpoch());
        if (error != Errors.NONE) {
            if (sim.chance(0.5)) {
                data.currentLeader().setLeaderId(log.leader).setLeaderEpoch(log.epoch);
            }
            return data.setErrorCode(error.code());
        }
        if (asked.lastFetchedEpoch() >= 0) {
            long[] end = log.endOfEpoch(asked.lastFetchedEpoch());
            if (end[0] < asked.lastFetchedEpoch() || end[1] < asked.fetchOffset()) {
                data.divergingEpoch().setEpoch((int) end[0]).setEndOffset(end[1]);
                return data.setHighWatermark(log.end).setLogStartOffset(log.start);
            }
        }
        if (asked.fetchOffset() < log.start || asked.fetchOffset() > log.end) {
            return data.setErrorCode(Errors.OFFSET_OUT_OF_RANGE.code());
        }
        return data.setHighWatermark(log.end)
                .setLogStartOffset(log.start)
                .setRecords(batches(log, asked.fetchOffset(), Math.min(left, asked.partitionMaxBytes()), atLeastOne));
    }

    private MemoryRecords batches(Log log, long from, int bytesMax, boolean atLeastOne) {
        List<Batch> chosen = new ArrayList<>();
        int bytes = 0;
        for (Batch batch : log.history.values()) {
            if (batch.next() <= from) {
                continue;
            }
            if (bytes + batch.bytes().length > bytesMax && !(chosen.isEmpty() && atLeastOne)) {
                break;
            }
            chosen.add(batch);
            bytes += batch.bytes().length;
        }
        ByteBuffer buffer = ByteBuffer.allocate(bytes);
        chosen.forEach(batch -> buffer.put(batch.bytes()));
        buffer.flip();
        return MemoryRecords.readableRecords(buffer);
    }

    private Log byId(Key key) {
        for (SimSource.SimTopic topic : source.topics.values()) {
            if (topic.id.equals(key.topicId())) {
                return key.partition() < topic.partitions.size() ? topic.partitions.get(key.partition()) : null;
            }
        }
        return null;
    }
}
