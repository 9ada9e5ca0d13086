package io.kagami.protocol.client;

import io.kagami.protocol.ApiTable;
import io.kagami.protocol.ApiVersionsAnswer;
import io.kagami.protocol.Transports;
import io.kagami.protocol.codec.FrameDecoder;
import io.netty.bootstrap.Bootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.protocol.Errors;

/** One attempt to get a {@link NettyConnection}: resolve, connect, agree on versions, all within the connect timeout. */
final class Connecting {
    /**
     * Served by every broker since 2.4 in one round trip; it carries the software name. Later versions add only what is of no use
     * here. An older broker refuses it, and is asked again in a version it lists.
     */
    private static final short FIRST_VERSION = 3;

    private static final String SOFTWARE_VERSION = softwareVersion();

    private final ClientOptions options;
    private final Node node;
    private final EventLoopGroup group;
    private final CompletableFuture<NettyConnection> result = new CompletableFuture<>();

    /** Set on the event loop of the attempt under way; read when the attempt times out. */
    private volatile ClientHandler current;

    /** One being received, one being appended, one waiting for that. */
    private static final int FRAMES_REUSED = 3;

    private volatile String step = "resolving the name";

    Connecting(ClientOptions options, Node node, EventLoopGroup group) {
        this.options = options;
        this.node = node;
        this.group = group;
    }

    CompletableFuture<NettyConnection> start() {
        long timeoutMs = options.connectTimeout().toMillis();
        try {
            var timer = group.schedule(() -> timedOut(timeoutMs), timeoutMs, TimeUnit.MILLISECONDS);
            result.whenComplete((connection, error) -> timer.cancel(false));
        } catch (RejectedExecutionException e) {
            fail("this client has been shut down", e);
            return result;
        }
        // resolving may block for seconds, so it does not happen on an event loop
        CompletableFuture.supplyAsync(this::resolve)
                .whenComplete((addresses, error) -> {
                    if (error != null) {
                        fail("cannot resolve " + node.host(), error);
                    } else {
                        tryAddress(addresses, 0);
                    }
                })
                .exceptionally(bug -> {
                    fail("connecting failed", bug);
                    return null;
                });
        return result;
    }

    private InetAddress[] resolve() {
        try {
            return InetAddress.getAllByName(node.host());
        } catch (UnknownHostException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }

    private void tryAddress(InetAddress[] addresses, int at) {
        if (result.isDone()) {
            return;
        }
        step = "connecting to " + addresses[at].getHostAddress() + " port " + node.port();
        ClientHandler handler = new ClientHandler(node, options.requestTimeout());
        Bootstrap bootstrap = new Bootstrap()
                .group(group)
                .channel(Transports.clientChannel())
                .option(ChannelOption.TCP_NODELAY, true)
                .option(ChannelOption.SO_KEEPALIVE, true)
                .option(ChannelOption.CONNECT_TIMEOUT_MILLIS, (int)
                        Math.min(Integer.MAX_VALUE, options.connectTimeout().toMillis()))
                .handler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        FrameDecoder frames = FrameDecoder.reusing(options.frameBytesMax(), FRAMES_REUSED);
                        channel.pipeline().addLast(frames.receiveInPlace(channel), handler);
                    }
                });
        if (options.receiveBufferBytes() > 0) {
            bootstrap.option(ChannelOption.SO_RCVBUF, options.receiveBufferBytes());
        }
        bootstrap.connect(new InetSocketAddress(addresses[at], node.port())).addListener(done -> {
            if (done.isSuccess()) {
                connected(handler, ((io.netty.channel.ChannelFuture) done).channel());
            } else if (at + 1 < addresses.length) {
                tryAddress(addresses, at + 1);
            } else {
                fail("cannot connect", done.cause());
            }
        });
    }

    private void connected(ClientHandler handler, Channel channel) {
        current = handler;
        if (result.isDone()) {
            handler.close("connected too late", null);
            return;
        }
        step = "waiting for the ApiVersions answer";
        askVersions(handler, channel, FIRST_VERSION);
    }

    private void askVersions(ClientHandler handler, Channel channel, short version) {
        ApiVersionsRequestData request = new ApiVersionsRequestData();
        if (version >= FIRST_VERSION) {
            request.setClientSoftwareName(ApiVersionsAnswer.KAGAMI).setClientSoftwareVersion(SOFTWARE_VERSION);
        }
        handler.send(
                        NettyConnection.encode(channel, options.clientId(), request, version, 0),
                        ApiTable.API_VERSIONS,
                        version,
                        0)
                .whenComplete((reply, error) -> {
                    if (error != null) {
                        result.completeExceptionally(error);
                        return;
                    }
                    try (reply) {
                        answered(handler, channel, version, (ApiVersionsResponseData) reply.body());
                    }
                });
    }

    private void answered(ClientHandler handler, Channel channel, short version, ApiVersionsResponseData answer) {
        Errors error = Errors.forCode(answer.errorCode());
        if (error == Errors.UNSUPPORTED_VERSION && version > 0) {
            ApiVersionsResponseData.ApiVersion range = answer.apiKeys().find(ApiTable.API_VERSIONS);
            int lower = range == null ? 0 : Math.min(range.maxVersion(), version - 1);
            askVersions(handler, channel, (short) Math.max(0, lower));
        } else if (error != Errors.NONE) {
            handler.close("ApiVersions was answered with " + error + ": " + error.message(), null);
            handler.closed().thenAccept(result::completeExceptionally);
        } else {
            NettyConnection connection = new NettyConnection(node, options, channel, handler, ApiRanges.of(answer));
            if (!result.complete(connection)) {
                connection.close();
            }
        }
    }

    private void timedOut(long timeoutMs) {
        ClientHandler handler = current;
        String why = "no connection within " + timeoutMs + " ms (" + step + ")";
        if (result.completeExceptionally(closed(why, null)) && handler != null) {
            handler.close(why, null);
        }
    }

    private void fail(String what, Throwable error) {
        Throwable root = error;
        while (root.getCause() != null) {
            root = root.getCause();
        }
        String message = reason(root);
        result.completeExceptionally(closed(what + ": " + message, root));
    }

    private static String reason(Throwable root) {
        if (root instanceof UnknownHostException) {
            return "the name is not known";
        }
        if (root instanceof ConnectException
                && String.valueOf(root.getMessage()).contains("refused")) {
            return "connection refused";
        }
        return root.getMessage() == null ? root.toString() : root.getMessage();
    }

    private ConnectionClosed closed(String why, Throwable cause) {
        return new ConnectionClosed("no connection to " + node + ": " + why, cause);
    }

    private static String softwareVersion() {
        String version = Connecting.class.getPackage().getImplementationVersion();
        return version == null ? "dev" : version;
    }
}
