package io.kagami.broker.net;

import java.net.InetSocketAddress;
import java.util.concurrent.atomic.AtomicReference;

/** What is known of one client connection. */
public final class Session {
    private final InetSocketAddress peer;
    private final String listener;
    private final AtomicReference<String> softwareName = new AtomicReference<>("");

    public Session(InetSocketAddress peer, String listener) {
        this.peer = peer;
        this.listener = listener;
    }

    public InetSocketAddress peer() {
        return peer;
    }

    public String listener() {
        return listener;
    }

    /** ClientSoftwareName of the last ApiVersions request, or empty. */
    public String softwareName() {
        return softwareName.get();
    }

    public void softwareName(String name) {
        softwareName.set(name);
    }
}
