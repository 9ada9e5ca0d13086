package io.kagami.broker.net;

import io.kagami.protocol.Request;
import io.kagami.protocol.Response;
import io.kagami.protocol.codec.MalformedFrame;
import io.kagami.protocol.codec.SliceRecords;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.handler.codec.DecoderException;
import io.netty.handler.timeout.IdleStateEvent;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Queue;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.BiFunction;
import org.apache.kafka.common.protocol.ApiMessage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Last handler of a connection. Requests are handed to their handlers in the order they came (stage one); what a handler waits for may
 * end in any order (stage two); answers leave in the order of the requests. A request that has no answer (acks=0) gives its place up
 * without a byte.
 *
 * <p>Bounds: at most {@link #OUTSTANDING_MAX} requests and {@link #OUTSTANDING_BYTES_MAX} bytes of frames (or one larger frame) are with
 * handlers, and none is started while the socket's output is above its high water mark. Beyond, nothing is read from the socket;
 * what one read had already decoded waits here. All fields belong to the event loop.
 */
public final class RequestDispatcher extends ChannelInboundHandlerAdapter {
    static final int OUTSTANDING_MAX = 64;
    static final int OUTSTANDING_BYTES_MAX = 16 << 20;
    /** A long burst of small requests must not pile its answers up before the first is sent. */
    private static final int UNFLUSHED_MAX = 64;

    private static final Logger LOG = LoggerFactory.getLogger(RequestDispatcher.class);

    /** One request's place in the answer queue. */
    private static final class Slot {
        private final Request request;
        private final int bytes;
        private ApiMessage answer;
        private boolean done;

        Slot(Request request) {
            this.request = request;
            this.bytes = request.frame().capacity();
        }
    }

    private final BiFunction<Request, Session, CompletionStage<ApiMessage>> handlers;
    private final String listener;
    private final RequestObserver observer;
    private final Queue<Request> waiting = new ArrayDeque<>();
    private final Queue<Slot> outstanding = new ArrayDeque<>();
    private long outstandingBytes;
    private boolean closed;
    private boolean dispatching;
    private int unflushed;
    private Session session;

    /** @param handlers called on the event loop, in order; the stage may end anywhere; null in it means no answer */
    public RequestDispatcher(
            BiFunction<Request, Session, CompletionStage<ApiMessage>> handlers,
            String listener,
            RequestObserver observer) {
        this.handlers = handlers;
        this.listener = listener;
        this.observer = observer;
    }

    @Override
    public void handlerAdded(ChannelHandlerContext ctx) {
        session = new Session(
                ctx.channel().remoteAddress() instanceof java.net.InetSocketAddress peer
                        ? peer
                        : new java.net.InetSocketAddress(0),
                listener,
                ctx.executor());
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        Request request = (Request) message;
        if (closed) {
            request.release();
            return;
        }
        waiting.add(request);
        dispatch(ctx);
    }

    @Override
    public void channelReadComplete(ChannelHandlerContext ctx) {
        flush(ctx);
        ctx.fireChannelReadComplete();
    }

    @Override
    public void channelWritabilityChanged(ChannelHandlerContext ctx) {
        dispatch(ctx);
        flush(ctx);
        ctx.fireChannelWritabilityChanged();
    }

    /** Starts what may be started and opens or shuts the tap. */
    private void dispatch(ChannelHandlerContext ctx) {
        if (dispatching) {
            return;
        }
        dispatching = true;
        try {
            while (!closed && !waiting.isEmpty() && room(ctx)) {
                start(ctx, waiting.remove());
            }
        } finally {
            dispatching = false;
        }
        ctx.channel().config().setAutoRead(!closed && waiting.isEmpty() && room(ctx));
    }

    private boolean room(ChannelHandlerContext ctx) {
        return outstanding.size() < OUTSTANDING_MAX
                && outstandingBytes < OUTSTANDING_BYTES_MAX
                && ctx.channel().isWritable();
    }

    private void start(ChannelHandlerContext ctx, Request request) {
        Slot slot = new Slot(request);
        outstanding.add(slot);
        outstandingBytes += slot.bytes;
        CompletionStage<ApiMessage> stage;
        try {
            stage = handlers.apply(request, session);
        } catch (RuntimeException | Error e) {
            finished(ctx, slot, null, e);
            return;
        }
        stage.whenComplete((answer, failure) -> {
            if (ctx.executor().inEventLoop()) {
                finished(ctx, slot, answer, failure);
            } else {
                try {
                    ctx.executor().execute(() -> finished(ctx, slot, answer, failure));
                } catch (java.util.concurrent.RejectedExecutionException e) {
                    // the event loops have stopped: nobody is left to answer
                    request.release();
                    SliceRecords.releaseAll(answer);
                }
            }
        });
    }

    private void finished(ChannelHandlerContext ctx, Slot slot, ApiMessage answer, Throwable failure) {
        slot.request.release();
        if (closed) {
            SliceRecords.releaseAll(answer);
            return;
        }
        if (failure != null) {
            SliceRecords.releaseAll(answer);
            observer.failed(slot.request.api());
            report(
                    slot.request,
                    failure instanceof CompletionException && failure.getCause() != null
                            ? failure.getCause()
                            : failure);
            close(ctx);
            return;
        }
        slot.answer = answer;
        slot.done = true;
        drain(ctx);
        if (!dispatching) {
            dispatch(ctx);
            flush(ctx);
        }
    }

    private void drain(ChannelHandlerContext ctx) {
        while (!closed && !outstanding.isEmpty() && outstanding.peek().done) {
            Slot slot = outstanding.remove();
            outstandingBytes -= slot.bytes;
            observer.answered(slot.request.api(), System.nanoTime() - slot.request.arrivalNanos());
            // a response that cannot be encoded is reported, and the connection closed, by the codec
            ctx.write(new Response(slot.request, slot.answer));
            if (++unflushed >= UNFLUSHED_MAX) {
                flush(ctx);
            }
        }
    }

    private void flush(ChannelHandlerContext ctx) {
        if (unflushed > 0) {
            unflushed = 0;
            ctx.flush();
        }
    }

    private void report(Request request, Throwable failure) {
        if (failure instanceof CloseConnection) {
            LOG.info("closing {}: {} {}: {}", session, request.api().name(), request.version(), failure.getMessage());
        } else {
            LOG.error(
                    "closing {}: {} version {} of client {} failed unexpectedly",
                    session,
                    request.api().name(),
                    request.version(),
                    printable(request.header().clientId()),
                    failure);
        }
    }

    /** A client id as it may appear in a log: short and without control characters. */
    static String printable(String text) {
        if (text == null) {
            return "(none)";
        }
        String cut = text.length() > 100 ? text.substring(0, 100) + "..." : text;
        return cut.replaceAll("\\p{Cntrl}", "?");
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        Throwable root = cause instanceof DecoderException && cause.getCause() != null ? cause.getCause() : cause;
        if (!closed) {
            if (root instanceof MalformedFrame) {
                LOG.warn("closing {}: {}", session, root.getMessage());
            } else if (root instanceof IOException) {
                LOG.debug("connection of {} ended: {}", session, root.toString());
            } else {
                LOG.error("closing {}: unexpected failure", session, root);
            }
        }
        close(ctx);
    }

    @Override
    public void userEventTriggered(ChannelHandlerContext ctx, Object event) {
        if (event instanceof IdleStateEvent) {
            LOG.debug("closing {}: no traffic for the idle time", session);
            close(ctx);
            return;
        }
        ctx.fireUserEventTriggered(event);
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        discard();
        ctx.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        discard();
    }

    private void close(ChannelHandlerContext ctx) {
        discard();
        ctx.close();
    }

    /** Frames of requests with handlers are released when those end: a loop may still read them. */
    private void discard() {
        closed = true;
        session.close();
        waiting.forEach(Request::release);
        waiting.clear();
        for (Slot slot : outstanding) {
            if (slot.done) {
                SliceRecords.releaseAll(slot.answer);
            }
        }
        outstanding.clear();
        outstandingBytes = 0;
    }
}
