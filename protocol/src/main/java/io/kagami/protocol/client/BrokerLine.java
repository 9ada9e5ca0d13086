package io.kagami.protocol.client;

import io.netty.channel.EventLoopGroup;
import java.util.SplittableRandom;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;

/** The way to one broker: its shared connection, opened when needed, and the pause between attempts. Thread-safe. */
final class BrokerLine {
    /** A connection that lived shorter counts as a failed attempt, or a broker that hangs up at once would be called in a hot loop. */
    private static final long STABLE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final Node node;
    private final ClientOptions options;
    private final EventLoopGroup group;
    private final Backoff backoff = new Backoff(new SplittableRandom());
    private CompletableFuture<NettyConnection> shared;
    private boolean closed;

    BrokerLine(Node node, ClientOptions options, EventLoopGroup group) {
        this.node = node;
        this.options = options;
        this.group = group;
    }

    Node node() {
        return node;
    }

    /** The shared connection; connects when there is none, after the pause that is due. */
    synchronized CompletableFuture<NettyConnection> shared() {
        if (closed) {
            return CompletableFuture.failedFuture(shutDown());
        }
        if (shared == null || (shared.isDone() && !isOpen())) {
            shared = open();
        }
        return shared;
    }

    /** Whether {@link #shared} answers without connecting first. */
    synchronized boolean isOpen() {
        return shared != null
                && shared.isDone()
                && !shared.isCompletedExceptionally()
                && shared.join().open();
    }

    long waitNanos() {
        return backoff.waitNanos(System.nanoTime());
    }

    /** A connection of the caller's own. */
    CompletableFuture<NettyConnection> open() {
        long wait = waitNanos();
        CompletableFuture<Void> pause = new CompletableFuture<>();
        if (wait == 0) {
            pause.complete(null);
        } else {
            try {
                group.schedule(() -> pause.complete(null), wait, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException e) {
                return CompletableFuture.failedFuture(shutDown());
            }
        }
        return pause.thenCompose(ready -> NettyConnection.connect(options, node, group))
                .whenComplete((connection, error) -> {
                    if (error != null) {
                        backoff.failed(System.nanoTime());
                    } else {
                        opened(connection);
                    }
                });
    }

    private void opened(NettyConnection connection) {
        long since = System.nanoTime();
        connection.closed().thenAccept(reason -> {
            if (System.nanoTime() - since < STABLE_NANOS) {
                backoff.failed(System.nanoTime());
            } else {
                backoff.succeeded();
            }
        });
    }

    private ConnectionClosed shutDown() {
        return new ConnectionClosed("no connection to " + node + ": this client has been closed", null);
    }

    synchronized void close() {
        closed = true;
        if (shared != null) {
            shared.thenAccept(NettyConnection::close);
        }
    }
}
