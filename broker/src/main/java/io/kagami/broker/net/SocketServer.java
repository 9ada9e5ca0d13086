package io.kagami.broker.net;

import io.kagami.protocol.Request;
import io.kagami.protocol.Transports;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelOption;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.WriteBufferWaterMark;
import io.netty.channel.group.ChannelGroup;
import io.netty.channel.group.DefaultChannelGroup;
import io.netty.util.concurrent.GlobalEventExecutor;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BiFunction;
import org.apache.kafka.common.protocol.ApiMessage;

/** Listening sockets and the event loops behind them: {@code netty-accept} and {@code netty-io-N}. */
public final class SocketServer implements AutoCloseable {
    private static final int BACKLOG = 1024;
    private static final long QUIET_MS = 0;
    private static final long STOP_MS = 3_000;

    private final SocketOptions options;
    private final BiFunction<Request, Session, CompletionStage<ApiMessage>> handlers;
    private final RequestObserver observer;
    private final EventLoopGroup accept;
    private final EventLoopGroup io;
    private final AtomicInteger open = new AtomicInteger();
    private final Map<String, Channel> listeners = new LinkedHashMap<>();
    private final ChannelGroup connections = new DefaultChannelGroup(GlobalEventExecutor.INSTANCE, true);

    public SocketServer(
            SocketOptions options,
            int threads,
            BiFunction<Request, Session, CompletionStage<ApiMessage>> handlers,
            RequestObserver observer) {
        this.options = options;
        this.handlers = handlers;
        this.observer = observer;
        this.accept = Transports.newGroup(1, "netty-accept");
        this.io = Transports.newGroup(threads, "netty-io");
    }

    /** The I/O threads, for others that need few. */
    public EventLoopGroup io() {
        return io;
    }

    /**
     * Reserves the address; clients that connect now wait in the backlog until {@link #start}.
     *
     * @param host empty = all addresses
     * @return the address that is really bound
     */
    public InetSocketAddress bind(String listener, String host, int port) throws IOException {
        ConnectionPipeline pipeline = new ConnectionPipeline(options, handlers, listener, observer, open, connections);
        ServerBootstrap bootstrap = new ServerBootstrap()
                .group(accept, io)
                .channel(Transports.serverChannel())
                .option(ChannelOption.SO_BACKLOG, BACKLOG)
                .option(ChannelOption.SO_REUSEADDR, true)
                .option(ChannelOption.AUTO_READ, false)
                .childOption(ChannelOption.TCP_NODELAY, true)
                .childOption(ChannelOption.SO_KEEPALIVE, true)
                .childOption(
                        ChannelOption.WRITE_BUFFER_WATER_MARK,
                        new WriteBufferWaterMark(options.outputBytesMax() / 2, options.outputBytesMax()))
                .childHandler(pipeline);
        if (options.sendBufferBytes() > 0) {
            bootstrap.childOption(ChannelOption.SO_SNDBUF, options.sendBufferBytes());
        }
        if (options.receiveBufferBytes() > 0) {
            // on the listener, whose sockets inherit it: the window is agreed upon before a connection is accepted
            bootstrap.option(ChannelOption.SO_RCVBUF, options.receiveBufferBytes());
        }
        ChannelFuture bound =
                bootstrap.bind(host.isEmpty() ? new InetSocketAddress(port) : new InetSocketAddress(host, port));
        bound.awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw new IOException(
                    "listener " + listener + " cannot listen on " + (host.isEmpty() ? "*" : host) + ":" + port + ": "
                            + BindFailure.text(bound.cause()),
                    bound.cause());
        }
        listeners.put(listener, bound.channel());
        return (InetSocketAddress) bound.channel().localAddress();
    }

    /** Begins to accept on all listeners. */
    public void start() {
        listeners.values().forEach(each -> each.config().setAutoRead(true));
    }

    /** No new connections from now on; those that are open go on. */
    public void stopAccepting() {
        listeners.values().forEach(each -> each.close().awaitUninterruptibly());
    }

    /** Ends all connections; answers that handlers have completed by now are written first. */
    public void closeConnections() {
        connections.close().awaitUninterruptibly(STOP_MS);
    }

    /** Closes everything; returns when the threads have ended or after a few seconds. */
    @Override
    public void close() {
        stopAccepting();
        closeConnections();
        accept.shutdownGracefully(QUIET_MS, STOP_MS, TimeUnit.MILLISECONDS);
        io.shutdownGracefully(QUIET_MS, STOP_MS, TimeUnit.MILLISECONDS).awaitUninterruptibly(STOP_MS);
    }
}
