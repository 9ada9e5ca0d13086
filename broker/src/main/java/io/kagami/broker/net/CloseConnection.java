package io.kagami.broker.net;

/**
 * A handler's answer is that the connection must be closed, as the protocol wants it (for example an error of a produce that asked for
 * no answer). The message is logged in one line; it is no bug.
 */
public class CloseConnection extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public CloseConnection(String message) {
        super(message, null, false, false);
    }
}
