package io.kagami.cli.demo;

/** Something that the demo needs did not work; the message says what, where and what to do, and is all an operator needs. */
public class DemoFailed extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public DemoFailed(String message) {
        super(message);
    }

    public DemoFailed(String message, Throwable cause) {
        super(message, cause);
    }
}
