package io.kagami.broker.net;

import io.kagami.protocol.Request;
import io.kagami.protocol.codec.FrameDecoder;
import io.kagami.protocol.codec.ServerCodec;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.group.ChannelGroup;
import io.netty.handler.timeout.IdleStateHandler;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BiFunction;
import org.apache.kafka.common.protocol.ApiMessage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The handlers of one connection, in order: count bytes, watch idleness, cut frames (each within its time), decode requests, dispatch.
 * A connection above the limit is closed before it costs anything.
 */
final class ConnectionPipeline extends ChannelInitializer<Channel> {
    private static final Logger LOG = LoggerFactory.getLogger(ConnectionPipeline.class);
    private static final long COMPLAIN_EVERY_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final SocketOptions options;
    private final BiFunction<Request, Session, CompletionStage<ApiMessage>> handlers;
    private final String listener;
    private final RequestObserver observer;
    private final AtomicInteger open;
    private final ChannelGroup connections;
    private final AtomicLong complained = new AtomicLong(System.nanoTime() - COMPLAIN_EVERY_NANOS);

    /**
     * @param open connections of all listeners together
     * @param connections every accepted one is added, so that stopping can close it
     */
    ConnectionPipeline(
            SocketOptions options,
            BiFunction<Request, Session, CompletionStage<ApiMessage>> handlers,
            String listener,
            RequestObserver observer,
            AtomicInteger open,
            ChannelGroup connections) {
        this.options = options;
        this.handlers = handlers;
        this.listener = listener;
        this.observer = observer;
        this.open = open;
        this.connections = connections;
    }

    @Override
    protected void initChannel(Channel channel) {
        if (open.incrementAndGet() > options.connectionsMax()) {
            open.decrementAndGet();
            observer.refusedConnection();
            complain(channel);
            channel.close();
            return;
        }
        connections.add(channel);
        observer.connections(1);
        channel.closeFuture().addListener(closed -> {
            open.decrementAndGet();
            observer.connections(-1);
        });
        FrameDeadline deadline = new FrameDeadline(options.frameMs());
        channel.pipeline()
                .addLast("bytes", new ByteMeter(observer))
                .addLast("idle", new IdleStateHandler(true, 0, 0, options.idleMs(), TimeUnit.MILLISECONDS))
                .addLast("deadline", deadline.before())
                .addLast("frames", new FrameDecoder(options.requestBytesMax()).receiveInPlace(channel))
                .addLast("deadline-frames", deadline.after())
                .addLast("codec", new ServerCodec())
                .addLast("dispatcher", new RequestDispatcher(handlers, listener, observer));
    }

    private void complain(Channel channel) {
        long now = System.nanoTime();
        long last = complained.get();
        if (now - last >= COMPLAIN_EVERY_NANOS && complained.compareAndSet(last, now)) {
            LOG.warn(
                    "refusing a connection of {}: {} connections are open, as many as max.connections allows",
                    channel.remoteAddress(),
                    options.connectionsMax());
        }
    }
}
