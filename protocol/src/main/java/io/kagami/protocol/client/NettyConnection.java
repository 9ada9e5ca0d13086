package io.kagami.protocol.client;

import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Messages;
import io.kagami.protocol.codec.PartWritable;
import io.kagami.protocol.codec.Parts;
import io.netty.channel.Channel;
import io.netty.channel.EventLoopGroup;
import java.util.OptionalInt;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;

/**
 * A {@link Connection} over Netty. The event loop of its channel owns all state ({@link ClientHandler}); {@link #send} encodes on the
 * caller's thread, so the request may be changed afterwards, except for memory records, which are sent as they are and must stay
 * unchanged until the answer arrives.
 */
public final class NettyConnection implements Connection {
    /** Requests sent and not yet answered; more are refused rather than queued. */
    public static final int IN_FLIGHT_MAX = 1_000;

    private final Node node;
    private final ClientOptions options;
    private final Channel channel;
    private final ClientHandler handler;
    private final ApiRanges ranges;
    private final AtomicInteger nextCorrelation = new AtomicInteger(1);

    NettyConnection(Node node, ClientOptions options, Channel channel, ClientHandler handler, ApiRanges ranges) {
        this.node = node;
        this.options = options;
        this.channel = channel;
        this.handler = handler;
        this.ranges = ranges;
    }

    /**
     * Resolves the name anew, connects to the first of its addresses that answers, and agrees on versions. Fails with a {@link
     * ConnectionClosed} that names the peer and the reason.
     */
    public static CompletableFuture<NettyConnection> connect(ClientOptions options, Node node, EventLoopGroup group) {
        return new Connecting(options, node, group).start();
    }

    @Override
    public Node node() {
        return node;
    }

    @Override
    public OptionalInt version(short apiKey) {
        return ranges.common(apiKey, Short.MAX_VALUE);
    }

    @Override
    public CompletableFuture<Reply> send(ApiMessage request, int versionMax) {
        short key = request.apiKey();
        OptionalInt common = ranges.common(key, versionMax);
        if (common.isEmpty()) {
            return CompletableFuture.failedFuture(new UnsupportedApi(node + " " + ranges.mismatch(key, versionMax)));
        }
        return send(request, (short) common.getAsInt(), nextCorrelation.getAndIncrement());
    }

    private CompletableFuture<Reply> send(ApiMessage request, short version, int correlationId) {
        Parts parts;
        try {
            parts = encode(channel, options.clientId(), request, version, correlationId);
        } catch (RuntimeException e) {
            return CompletableFuture.failedFuture(e);
        }
        return handler.send(parts, request.apiKey(), version, correlationId);
    }

    static Parts encode(Channel channel, String clientId, ApiMessage request, short version, int correlationId) {
        short key = request.apiKey();
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(key)
                .setRequestApiVersion(version)
                .setCorrelationId(correlationId)
                .setClientId(clientId);
        return PartWritable.encode(
                channel.alloc(), header, Messages.requestHeaderVersion(key, version), request, version);
    }

    static boolean isApiVersions(short key) {
        return key == ApiTable.API_VERSIONS;
    }

    @Override
    public boolean open() {
        return channel.isActive() && !handler.closed().isDone();
    }

    @Override
    public CompletableFuture<ConnectionClosed> closed() {
        // a copy, so that nobody completes ours
        return handler.closed().copy();
    }

    @Override
    public void close() {
        handler.close("closed by this side", null);
    }

    @Override
    public String toString() {
        return "connection to " + node;
    }
}
