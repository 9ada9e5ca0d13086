package io.kagami.protocol.client;

import io.netty.channel.EventLoopGroup;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.kafka.common.message.FindCoordinatorRequestData;
import org.apache.kafka.common.message.FindCoordinatorResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/** A {@link ClusterClient} over {@link NettyConnection}s. It does not own the event loops. */
public final class NettyClusterClient implements ClusterClient {
    private static final short FIND_COORDINATOR = 10;
    private static final short COORDINATOR_BATCHED_FROM = 4;

    private final ClientOptions options;
    private final EventLoopGroup group;
    private final List<BrokerLine> bootstrap = new ArrayList<>();
    private final Map<Integer, BrokerLine> brokers = new HashMap<>(); // guarded by this
    private final Set<NettyConnection> handedOut = ConcurrentHashMap.newKeySet();
    private volatile ClusterMetadata lastMetadata;
    private volatile boolean closed;

    /** @throws IllegalArgumentException when a bootstrap server is not host:port, or there is none */
    public NettyClusterClient(ClientOptions options, EventLoopGroup group) {
        this.options = options;
        this.group = group;
        int id = 0;
        for (String server : options.bootstrapServers()) {
            id--;
            bootstrap.add(new BrokerLine(HostPort.parse(server, id), options, group));
        }
        if (bootstrap.isEmpty()) {
            throw new IllegalArgumentException("no bootstrap server");
        }
    }

    @Override
    public CompletableFuture<ClusterMetadata> metadata(Collection<String> topics) {
        List<String> names = topics == null ? null : List.copyOf(topics);
        return onAny(connection -> metadata(connection, names), true);
    }

    private CompletableFuture<ClusterMetadata> metadata(NettyConnection connection, List<String> topics) {
        int version = connection.version(MetadataExchange.KEY).orElse(0);
        return connection.send(MetadataExchange.request(topics, version)).thenApply(reply -> {
            try (reply) {
                ClusterMetadata metadata = MetadataExchange.read((MetadataResponseData) reply.body(), topics);
                learn(metadata.nodes().values());
                forgetOthers(metadata.nodes().keySet());
                lastMetadata = metadata;
                return metadata;
            }
        });
    }

    @Override
    public ClusterMetadata lastMetadata() {
        return lastMetadata;
    }

    @Override
    public CompletableFuture<Reply> send(int nodeId, ApiMessage request) {
        BrokerLine line = line(nodeId);
        return line == null ? unknown(nodeId) : line.shared().thenCompose(connection -> connection.send(request));
    }

    @Override
    public CompletableFuture<Reply> sendToAny(ApiMessage request) {
        return onAny(connection -> connection.send(request), false);
    }

    @Override
    public CompletableFuture<Connection> connect(int nodeId) {
        BrokerLine line = line(nodeId);
        if (line == null) {
            return unknown(nodeId);
        }
        return line.open().thenApply(connection -> {
            handedOut.add(connection);
            connection.closed().thenAccept(reason -> handedOut.remove(connection));
            if (closed) {
                connection.close();
            }
            return connection;
        });
    }

    @Override
    public CompletableFuture<Node> coordinator(byte keyType, String key) {
        return onAny(
                connection -> {
                    int version = connection.version(FIND_COORDINATOR).orElse(0);
                    FindCoordinatorRequestData request = new FindCoordinatorRequestData().setKeyType(keyType);
                    if (version >= COORDINATOR_BATCHED_FROM) {
                        request.setCoordinatorKeys(List.of(key));
                    } else {
                        request.setKey(key);
                    }
                    return connection.send(request).thenApply(reply -> {
                        try (reply) {
                            Node node = coordinator((FindCoordinatorResponseData) reply.body(), version);
                            learn(List.of(node));
                            return node;
                        }
                    });
                },
                true);
    }

    private static Node coordinator(FindCoordinatorResponseData answer, int version) {
        if (version < COORDINATOR_BATCHED_FROM) {
            check(answer.errorCode(), answer.errorMessage());
            return located(answer.nodeId(), answer.host(), answer.port());
        }
        if (answer.coordinators().size() != 1) {
            throw new IllegalStateException("FindCoordinator for one key was answered with "
                    + answer.coordinators().size());
        }
        FindCoordinatorResponseData.Coordinator found = answer.coordinators().get(0);
        check(found.errorCode(), found.errorMessage());
        return located(found.nodeId(), found.host(), found.port());
    }

    private static Node located(int id, String host, int port) {
        if (!HostPort.usable(host, port)) {
            throw new IllegalStateException("FindCoordinator names broker " + id + " without a usable address");
        }
        return new Node(id, host, port);
    }

    private static void check(short errorCode, String message) {
        Errors error = Errors.forCode(errorCode);
        if (error != Errors.NONE) {
            throw message == null || message.isEmpty() ? error.exception() : error.exception(message);
        }
    }

    /**
     * @param again whether another broker is tried when the connection ends with the request in flight; connecting is always tried
     *     everywhere
     */
    private <T> CompletableFuture<T> onAny(Function<NettyConnection, CompletableFuture<T>> call, boolean again) {
        CompletableFuture<T> result = new CompletableFuture<>();
        tryNext(candidates(), 0, new StringBuilder(), call, again, result);
        return result;
    }

    private <T> void tryNext(
            List<BrokerLine> lines,
            int at,
            StringBuilder failures,
            Function<NettyConnection, CompletableFuture<T>> call,
            boolean again,
            CompletableFuture<T> result) {
        if (at == lines.size() || closed) {
            String why = closed ? "this client has been closed" : "no broker answers: " + failures;
            result.completeExceptionally(new ConnectionClosed(why, null));
            return;
        }
        lines.get(at).shared().whenComplete((connection, refused) -> {
            if (refused != null) {
                note(failures, refused);
                tryNext(lines, at + 1, failures, call, again, result);
                return;
            }
            call.apply(connection).whenComplete((value, error) -> {
                if (error == null) {
                    if (!result.complete(value) && value instanceof Reply unwanted) {
                        unwanted.close();
                    }
                } else if (again && unwrap(error) instanceof ConnectionClosed) {
                    note(failures, error);
                    tryNext(lines, at + 1, failures, call, again, result);
                } else {
                    result.completeExceptionally(unwrap(error));
                }
            });
        });
    }

    private static void note(StringBuilder failures, Throwable error) {
        failures.append(failures.isEmpty() ? "" : "; ").append(unwrap(error).getMessage());
    }

    private static Throwable unwrap(Throwable error) {
        return error instanceof CompletionException && error.getCause() != null ? error.getCause() : error;
    }

    /** Open connections first, then those that may be tried at once, in random order within each; each address once. */
    private synchronized List<BrokerLine> candidates() {
        List<BrokerLine> lines = new ArrayList<>(brokers.values());
        Set<String> addresses = new HashSet<>();
        lines.forEach(
                line -> addresses.add(line.node().host() + ":" + line.node().port()));
        for (BrokerLine line : bootstrap) {
            if (addresses.add(line.node().host() + ":" + line.node().port())) {
                lines.add(line);
            }
        }
        Collections.shuffle(lines);
        Map<BrokerLine, Long> cost = new HashMap<>();
        lines.forEach(line -> cost.put(line, line.isOpen() ? -1 : line.waitNanos()));
        lines.sort(Comparator.comparing(cost::get));
        return lines;
    }

    private synchronized BrokerLine line(int nodeId) {
        return brokers.get(nodeId);
    }

    private static <T> CompletableFuture<T> unknown(int nodeId) {
        return CompletableFuture.failedFuture(
                new ConnectionClosed("broker " + nodeId + " is not known; metadata has not listed it", null));
    }

    private synchronized void learn(Collection<Node> nodes) {
        for (Node node : nodes) {
            BrokerLine line = brokers.get(node.id());
            if (line == null || !line.node().equals(node)) {
                if (line != null) {
                    line.close();
                }
                brokers.put(node.id(), new BrokerLine(node, options, group));
            }
        }
        if (closed) {
            brokers.values().forEach(BrokerLine::close);
        }
    }

    /** Brokers that left the cluster; an empty list is no news, a broker that is starting up sends it. */
    private synchronized void forgetOthers(Set<Integer> present) {
        if (present.isEmpty()) {
            return;
        }
        brokers.entrySet().removeIf(entry -> {
            if (present.contains(entry.getKey())) {
                return false;
            }
            entry.getValue().close();
            return true;
        });
    }

    @Override
    public synchronized void close() {
        closed = true;
        bootstrap.forEach(BrokerLine::close);
        brokers.values().forEach(BrokerLine::close);
        handedOut.forEach(NettyConnection::close);
    }
}
