package io.kagami.protocol.client;

import java.util.Collection;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.protocol.ApiMessage;

/**
 * A client of one cluster: tries all bootstrap servers and all brokers it has learned of, keeps one shared connection per broker
 * for small requests, and opens further ones on request. Names are resolved anew at each connect. Thread-safe.
 */
public interface ClusterClient extends AutoCloseable {
    /** Topics by name; null means all; an empty collection asks for brokers only. Never auto-creates. */
    CompletableFuture<ClusterMetadata> metadata(Collection<String> topics);

    /** The last answer of {@link #metadata}, or null before the first. */
    ClusterMetadata lastMetadata();

    /** On the shared connection of that broker, which is opened if needed. */
    CompletableFuture<Reply> send(int nodeId, ApiMessage request);

    /** On any broker that answers. */
    CompletableFuture<Reply> sendToAny(ApiMessage request);

    /** A connection of the caller's own to a known broker; the caller closes it. */
    CompletableFuture<Connection> connect(int nodeId);

    /** Coordinator of a group (key type 0) or transactional id (1). */
    CompletableFuture<Node> coordinator(byte keyType, String key);

    @Override
    void close();
}
