package io.kagami.protocol.codec;

/** The peer sent bytes that are not what the protocol allows; the message says which and why. The connection is closed. */
public class MalformedFrame extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public MalformedFrame(String message) {
        super(message);
    }

    public MalformedFrame(String message, Throwable cause) {
        super(message, cause);
    }
}
