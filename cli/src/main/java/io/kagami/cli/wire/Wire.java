package io.kagami.cli.wire;

import io.kagami.protocol.MirrorError;
import io.kagami.protocol.MirrorMessages.Body;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.PrivateMessage;
import io.kagami.protocol.PrivateMessages;
import io.kagami.protocol.client.ClientOptions;
import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.client.ConnectionClosed;
import io.kagami.protocol.client.Node;
import io.kagami.protocol.client.Reply;
import io.kagami.protocol.client.UnsupportedApi;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Function;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/** One cluster, asked with blocking calls from one thread. Failures are {@link Refused} and name the cluster and the reason. */
public final class Wire implements AutoCloseable {
    private static final long WAIT_MARGIN_MS = 5_000;

    private final ClusterClient client;
    private final String address;
    private final String option;
    private final long waitMs;
    private final Map<Integer, Connection> connections = new HashMap<>();

    /**
     * Takes the client over: closing the wire closes it.
     *
     * @param option the option that the address was given by, named when nobody answers there; null when the user gave none
     */
    public Wire(ClusterClient client, ClientOptions options, String option) {
        this.client = client;
        this.option = option;
        this.address = String.join(",", options.bootstrapServers());
        // the client's own time limits come first and say more; this is only the last line
        this.waitMs =
                options.connectTimeout().toMillis() + options.requestTimeout().toMillis() + WAIT_MARGIN_MS;
    }

    /** Wraps a client that stays the caller's: end with {@link #disconnect()}, not with close. */
    public Wire(ClusterClient client, String address, Duration patience) {
        this.client = client;
        this.option = null;
        this.address = address;
        this.waitMs = patience.toMillis();
    }

    /** Closes the connections that this wire has opened, not the client. */
    public void disconnect() {
        connections.values().forEach(Connection::close);
        connections.clear();
    }

    /** host:port list the cluster was called by. */
    public String address() {
        return address;
    }

    public ClusterClient client() {
        return client;
    }

    /** Topics by name, null for all. */
    public ClusterMetadata metadata(Collection<String> topics) {
        return await(client.metadata(topics));
    }

    public Node coordinator(byte keyType, String key) {
        return await(client.coordinator(keyType, key));
    }

    /** A private mirror call, answered by any broker. */
    public <B extends Body> B mirrors(PrivateApi api, Body request, Class<B> answer) {
        try {
            return read(
                    client.sendToAny(PrivateMessages.request(api, request)),
                    reply -> answer.cast(((PrivateMessage) reply.body()).body()));
        } catch (Refused e) {
            if (e.getCause() instanceof UnsupportedApi) {
                throw new Refused(
                        "The cluster at " + address + " has no mirrors: it does not know " + api
                                + ". Is it Kagami? Point --bootstrap-server at the destination, not at the source.",
                        e);
            }
            throw e;
        }
    }

    /** Sends to one broker on a connection of this wire; version 0 to max. What {@code read} returns must not refer to the reply. */
    public <T> T ask(int nodeId, ApiMessage request, Function<Reply, T> read) {
        return read(connection(nodeId).send(request), read);
    }

    /** The version in which that broker would be asked; empty when it does not know the api. */
    public OptionalInt version(int nodeId, short apiKey) {
        return connection(nodeId).version(apiKey);
    }

    /** The wire's own connection to a broker that {@link #metadata} or {@link #coordinator} has named. */
    public Connection connection(int nodeId) {
        Connection known = connections.get(nodeId);
        if (known != null && known.open()) {
            return known;
        }
        Connection fresh = await(client.connect(nodeId));
        connections.put(nodeId, fresh);
        return fresh;
    }

    public <T> T read(CompletableFuture<Reply> answer, Function<Reply, T> read) {
        try (Reply reply = await(answer)) {
            return read.apply(reply);
        }
    }

    /** Throws when the code is an error; {@code what} begins the sentence, such as "Cannot describe group g". */
    public void check(short errorCode, String errorMessage, String what) {
        if (errorCode != 0) {
            throw new Refused(what + " at " + address + ": " + sentence(errorCode, errorMessage));
        }
    }

    /** The error's name, Kafka's or ours. */
    public static String errorName(short errorCode) {
        return MirrorError.nameOf(errorCode);
    }

    /** The error's text and its name. */
    public static String sentence(short errorCode, String errorMessage) {
        String name = errorName(errorCode);
        String text = errorMessage;
        if (text == null || text.isBlank()) {
            text = ownText(errorCode);
        }
        return text + " (" + name + ")";
    }

    private static String ownText(short errorCode) {
        for (MirrorError error : MirrorError.values()) {
            if (error.code() == errorCode) {
                return error.message();
            }
        }
        return Errors.forCode(errorCode).message();
    }

    public <T> T await(CompletableFuture<T> future) {
        try {
            return future.get(waitMs, TimeUnit.MILLISECONDS);
        } catch (ExecutionException e) {
            Throwable cause = e.getCause();
            String reason = cause.getMessage() == null ? cause.toString() : cause.getMessage();
            String hint = cause instanceof ConnectionClosed && option != null
                    ? ". Is a server running there? " + option + " HOST:PORT names another."
                    : "";
            throw new Refused("No answer from the cluster at " + address + ": " + reason + hint, cause);
        } catch (TimeoutException e) {
            throw new Refused("No answer from the cluster at " + address + " within " + waitMs / 1000 + " s", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Refused("Interrupted while waiting for the cluster at " + address, e);
        }
    }

    @Override
    public void close() {
        disconnect();
        client.close();
    }
}
