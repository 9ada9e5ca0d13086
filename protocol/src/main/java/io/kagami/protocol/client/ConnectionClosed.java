package io.kagami.protocol.client;

import java.io.IOException;

/** Why a connection ended: names the peer and the reason (refused, timed out after N ms, frame too large, closed by peer, ...). */
public class ConnectionClosed extends IOException {
    private static final long serialVersionUID = 1L;

    public ConnectionClosed(String message, Throwable cause) {
        super(message, cause);
    }
}
