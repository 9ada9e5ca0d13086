package io.kagami.cli.wire;

/** A command could not be done: the message says what, where and what to do, and is all that the operator gets (exit code 1). */
public class Refused extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public Refused(String message) {
        super(message);
    }

    public Refused(String message, Throwable cause) {
        super(message, cause);
    }
}
