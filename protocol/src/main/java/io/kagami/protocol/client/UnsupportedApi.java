package io.kagami.protocol.client;

import java.io.IOException;

/** Peer and client have no version of an api in common; the message names the peer and both ranges. Not cured by a retry. */
public class UnsupportedApi extends IOException {
    private static final long serialVersionUID = 1L;

    public UnsupportedApi(String message) {
        super(message);
    }
}
