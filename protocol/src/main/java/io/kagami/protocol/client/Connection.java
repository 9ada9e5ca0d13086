package io.kagami.protocol.client;

import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import org.apache.kafka.common.protocol.ApiMessage;

/**
 * One socket to one broker. Requests may be sent from any thread, leave in order and are answered in order. Futures complete on the
 * connection's event loop; when the connection closes, all in flight fail with a {@link ConnectionClosed} that says why.
 */
public interface Connection extends AutoCloseable {
    Node node();

    /** The highest version that both sides speak; empty when the peer or we lack the api. */
    OptionalInt version(short apiKey);

    /** Sends at {@link #version}, capped by {@code versionMax}. Private messages work too. */
    CompletableFuture<Reply> send(ApiMessage request, int versionMax);

    default CompletableFuture<Reply> send(ApiMessage request) {
        return send(request, Short.MAX_VALUE);
    }

    boolean open();

    /** Completes (never exceptionally) with the reason when the connection has closed. */
    CompletableFuture<ConnectionClosed> closed();

    @Override
    void close();
}
