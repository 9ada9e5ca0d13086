package io.kagami.protocol.client;

import io.kagami.protocol.Messages;
import io.kagami.protocol.codec.ByteBufReadable;
import io.kagami.protocol.codec.FrameCheck;
import io.kagami.protocol.codec.MalformedFrame;
import io.kagami.protocol.codec.Parts;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelPromise;
import io.netty.util.concurrent.ScheduledFuture;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/**
 * The client end of a channel: requests in flight in the order they were sent, matched with answers by position and checked by
 * correlation id. All fields but the two futures belong to the event loop.
 */
final class ClientHandler extends ChannelInboundHandlerAdapter {
    private static final long TICK_MS_MIN = 10;
    private static final long TICK_MS_MAX = 1_000;

    private final Node node;
    private final Duration requestTimeout;
    private final ArrayDeque<InFlight> inFlight = new ArrayDeque<>();
    private final CompletableFuture<ConnectionClosed> closed = new CompletableFuture<>();
    private Channel channel;
    private ScheduledFuture<?> tick;
    private String reason;
    private Throwable cause;

    ClientHandler(Node node, Duration requestTimeout) {
        this.node = node;
        this.requestTimeout = requestTimeout;
    }

    CompletableFuture<ConnectionClosed> closed() {
        return closed;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        channel = ctx.channel();
    }

    @Override
    public void channelActive(ChannelHandlerContext ctx) {
        long periodMs = Math.max(TICK_MS_MIN, Math.min(TICK_MS_MAX, requestTimeout.toMillis() / 10));
        tick = ctx.executor().scheduleAtFixedRate(this::checkTimeouts, periodMs, periodMs, TimeUnit.MILLISECONDS);
        ctx.fireChannelActive();
    }

    /** From any thread; takes over the parts. */
    CompletableFuture<Reply> send(Parts parts, short apiKey, short version, int correlationId) {
        CompletableFuture<Reply> future = new CompletableFuture<>();
        InFlight entry =
                new InFlight(correlationId, apiKey, version, System.nanoTime() + requestTimeout.toNanos(), future);
        if (channel.eventLoop().inEventLoop()) {
            write(entry, parts);
            return future;
        }
        try {
            channel.eventLoop().execute(() -> write(entry, parts));
        } catch (RejectedExecutionException e) {
            parts.release();
            future.completeExceptionally(new ConnectionClosed(text("this client has been shut down"), e));
        }
        return future;
    }

    private void write(InFlight entry, Parts parts) {
        if (reason != null || !channel.isActive()) {
            parts.release();
            entry.future().completeExceptionally(failure());
            return;
        }
        if (inFlight.size() >= NettyConnection.IN_FLIGHT_MAX) {
            parts.release();
            entry.future()
                    .completeExceptionally(new IOException(
                            NettyConnection.IN_FLIGHT_MAX + " requests to " + node + " wait for an answer already"));
            return;
        }
        inFlight.add(entry);
        ChannelPromise promise = channel.newPromise();
        promise.addListener(sent -> {
            if (!sent.isSuccess()) {
                close("sending failed: " + sent.cause().getMessage(), sent.cause());
            }
        });
        parts.writeTo(channel, promise);
        channel.flush();
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf frame = (ByteBuf) message;
        if (reason != null) {
            frame.release();
            return;
        }
        InFlight entry = inFlight.peek();
        FrameReply reply;
        try {
            reply = decode(entry, frame);
        } catch (RuntimeException e) {
            frame.release();
            String what = entry == null ? "" : Messages.nameOf(entry.apiKey()) + " version " + entry.version() + ": ";
            close("malformed answer, " + what + e.getMessage(), e);
            return;
        }
        inFlight.remove();
        if (!entry.future().complete(reply)) {
            // the caller gave up
            reply.close();
        }
    }

    private static FrameReply decode(InFlight entry, ByteBuf frame) {
        if (entry == null) {
            throw new MalformedFrame("an answer of " + frame.readableBytes() + " bytes to no request");
        }
        int size = frame.readableBytes() + Integer.BYTES;
        ByteBufReadable in = new ByteBufReadable(frame);
        short key = entry.apiKey();
        ResponseHeaderData header = new ResponseHeaderData(in, Messages.responseHeaderVersion(key, entry.version()));
        if (header.correlationId() != entry.correlationId()) {
            throw new MalformedFrame(
                    "correlation id " + header.correlationId() + " where " + entry.correlationId() + " is due");
        }
        short version = entry.version();
        if (NettyConnection.isApiVersions(key) && refused(frame)) {
            // whatever version was asked for, a refusal comes in version 0
            version = 0;
        }
        FrameCheck.response(frame, key, version);
        ApiMessage body = Messages.newResponse(key);
        body.read(in, version);
        if (in.remaining() > 0) {
            throw new MalformedFrame(in.remaining() + " bytes are left over");
        }
        return new FrameReply(body, version, frame, size);
    }

    private static boolean refused(ByteBuf frame) {
        return frame.readableBytes() >= Short.BYTES
                && frame.getShort(frame.readerIndex()) == Errors.UNSUPPORTED_VERSION.code();
    }

    private void checkTimeouts() {
        InFlight first = inFlight.peek();
        if (first != null && System.nanoTime() - first.deadlineNanos() >= 0) {
            close(
                    "no answer to " + Messages.nameOf(first.apiKey()) + " within " + requestTimeout.toMillis() + " ms",
                    null);
        }
    }

    /** From any thread; the first reason wins. */
    void close(String why, Throwable by) {
        if (channel.eventLoop().inEventLoop()) {
            if (reason == null) {
                reason = why;
                cause = by;
                channel.close();
            }
            return;
        }
        try {
            channel.eventLoop().execute(() -> close(why, by));
        } catch (RejectedExecutionException e) {
            // the event loop has ended and took the channel with it
            closed.complete(new ConnectionClosed(text("this client has been shut down"), e));
        }
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable error) {
        close(error.getMessage() == null ? error.toString() : error.getMessage(), error);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        if (tick != null) {
            tick.cancel(false);
        }
        if (reason == null) {
            reason = "closed by the peer";
        }
        ConnectionClosed failure = failure();
        InFlight entry;
        while ((entry = inFlight.poll()) != null) {
            entry.future().completeExceptionally(failure);
        }
        closed.complete(failure);
        ctx.fireChannelInactive();
    }

    private ConnectionClosed failure() {
        return new ConnectionClosed(text(reason == null ? "closed" : reason), cause);
    }

    private String text(String why) {
        return "connection to " + node + " ended: " + why;
    }
}
