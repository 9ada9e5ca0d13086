package io.kagami.cli;

import io.kagami.protocol.MirrorMessages.Body;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.PrivateMessage;
import io.kagami.protocol.PrivateMessages;
import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.client.ConnectionClosed;
import io.kagami.protocol.client.Node;
import io.kagami.protocol.client.Reply;
import java.util.ArrayList;
import java.util.Collection;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.protocol.ApiMessage;

/** Answers private mirror calls with what a test has put in, and remembers what it was asked. */
final class FakeCluster implements ClusterClient {
    final Map<PrivateApi, Body> answers = new EnumMap<>(PrivateApi.class);
    final List<Body> asked = new ArrayList<>();
    boolean closed;

    @Override
    public CompletableFuture<Reply> sendToAny(ApiMessage request) {
        PrivateMessage message = (PrivateMessage) request;
        asked.add(message.body());
        Body answer = answers.get(message.api());
        if (answer == null) {
            return CompletableFuture.failedFuture(new ConnectionClosed("connection refused", null));
        }
        return CompletableFuture.completedFuture(new Answer(PrivateMessages.response(message.api(), answer)));
    }

    private record Answer(ApiMessage body) implements Reply {
        @Override
        public short version() {
            return 0;
        }

        @Override
        public int sizeInBytes() {
            return 100;
        }

        @Override
        public void close() {}
    }

    @Override
    public CompletableFuture<ClusterMetadata> metadata(Collection<String> topics) {
        throw new UnsupportedOperationException();
    }

    @Override
    public ClusterMetadata lastMetadata() {
        return null;
    }

    @Override
    public CompletableFuture<Reply> send(int nodeId, ApiMessage request) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Connection> connect(int nodeId) {
        throw new UnsupportedOperationException();
    }

    @Override
    public CompletableFuture<Node> coordinator(byte keyType, String key) {
        throw new UnsupportedOperationException();
    }

    @Override
    public void close() {
        closed = true;
    }
}
