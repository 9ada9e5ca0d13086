package io.kagami.broker.net;

import java.net.InetSocketAddress;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicReference;

/** What is known of one client connection. */
public final class Session {
    private final InetSocketAddress peer;
    private final String listener;
    private final Executor executor;
    private final AtomicReference<String> softwareName = new AtomicReference<>("");
    private volatile boolean closed;

    public Session(InetSocketAddress peer, String listener) {
        this(peer, listener, Runnable::run);
    }

    /** @param executor the connection's I/O thread */
    public Session(InetSocketAddress peer, String listener, Executor executor) {
        this.peer = peer;
        this.listener = listener;
        this.executor = executor;
    }

    public InetSocketAddress peer() {
        return peer;
    }

    public String listener() {
        return listener;
    }

    /** Where a handler goes on after it waited for something; the connection's I/O thread. */
    public Executor executor() {
        return executor;
    }

    /** True once the connection is gone: what still waits for it may give up. */
    public boolean closed() {
        return closed;
    }

    /** Called by the dispatcher when the connection has ended. */
    public void close() {
        closed = true;
    }

    /** ClientSoftwareName of the last ApiVersions request, or empty. */
    public String softwareName() {
        return softwareName.get();
    }

    public void softwareName(String name) {
        softwareName.set(name);
    }

    @Override
    public String toString() {
        return peer + " on " + listener;
    }
}
