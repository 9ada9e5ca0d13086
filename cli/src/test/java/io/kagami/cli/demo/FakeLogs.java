package io.kagami.cli.demo;

import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import io.kagami.protocol.client.ClusterMetadata.Topic;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.client.ConnectionClosed;
import io.kagami.protocol.client.Node;
import io.kagami.protocol.client.Reply;
import io.kagami.protocol.records.RecordBatches;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.protocol.ApiMessage;

/** A cluster of one broker with one partition, {@code t-0}, whose batches a test has given; a fetch is cut wherever its size ends. */
final class FakeLogs implements ClusterClient, Connection {
    private static final Node NODE = new Node(1, "fake", 1);

    private final List<ByteBuffer> batches;
    private final long start;
    private final long end;
    private final int fetchBytes;

    FakeLogs(long start, long end, int fetchBytes, List<ByteBuffer> batches) {
        this.start = start;
        this.end = end;
        this.fetchBytes = fetchBytes;
        this.batches = batches;
    }

    @Override
    public CompletableFuture<ClusterMetadata> metadata(Collection<String> topics) {
        return CompletableFuture.completedFuture(lastMetadata());
    }

    @Override
    public ClusterMetadata lastMetadata() {
        Topic topic = new Topic("t", Uuid.ZERO_UUID, false, (short) 0, List.of(new PartitionInfo(0, (short) 0, 1, 0)));
        return new ClusterMetadata("c", 1, Map.of(1, NODE), Map.of("t", topic));
    }

    @Override
    public CompletableFuture<Connection> connect(int nodeId) {
        return CompletableFuture.completedFuture(this);
    }

    @Override
    public CompletableFuture<Reply> send(ApiMessage request, int versionMax) {
        ApiMessage answer =
                request instanceof FetchRequestData fetch ? fetch(fetch) : offsets((ListOffsetsRequestData) request);
        return CompletableFuture.completedFuture(new Answer(answer));
    }

    private ApiMessage offsets(ListOffsetsRequestData request) {
        long timestamp = request.topics().get(0).partitions().get(0).timestamp();
        ListOffsetsResponseData.ListOffsetsPartitionResponse partition =
                new ListOffsetsResponseData.ListOffsetsPartitionResponse().setOffset(timestamp == -2 ? start : end);
        return new ListOffsetsResponseData()
                .setTopics(List.of(new ListOffsetsResponseData.ListOffsetsTopicResponse()
                        .setName("t")
                        .setPartitions(List.of(partition))));
    }

    private ApiMessage fetch(FetchRequestData request) {
        long from = request.topics().get(0).partitions().get(0).fetchOffset();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        int first = 0;
        for (ByteBuffer batch : batches) {
            if (RawLog.lastOffset(batch) >= from) {
                first = first == 0 ? batch.remaining() : first;
                byte[] copy = new byte[batch.remaining()];
                batch.duplicate().get(copy);
                bytes.writeBytes(copy);
            }
        }
        // the first batch always comes whole
        int size = Math.min(bytes.size(), Math.max(first, fetchBytes));
        FetchResponseData.PartitionData data = new FetchResponseData.PartitionData()
                .setRecords(RecordBatches.toRecords(ByteBuffer.wrap(bytes.toByteArray(), 0, size)));
        return new FetchResponseData()
                .setResponses(List.of(new FetchResponseData.FetchableTopicResponse()
                        .setTopic("t")
                        .setPartitions(List.of(data))));
    }

    private record Answer(ApiMessage body) implements Reply {
        @Override
        public short version() {
            return 0;
        }

        @Override
        public int sizeInBytes() {
            return 0;
        }

        @Override
        public void close() {}
    }

    @Override
    public Node node() {
        return NODE;
    }

    @Override
    public OptionalInt version(short apiKey) {
        return OptionalInt.of(1);
    }

    @Override
    public boolean open() {
        return true;
    }

    @Override
    public CompletableFuture<ConnectionClosed> closed() {
        return new CompletableFuture<>();
    }

    @Override
    public CompletableFuture<Reply> send(int nodeId, ApiMessage request) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Reply> sendToAny(ApiMessage request) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Node> coordinator(byte keyType, String key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {}
}
