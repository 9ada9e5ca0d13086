package io.kagami.raft;

/** The store cannot be read or written. Names the file, the position where that helps, and what to do. */
public class StoreFault extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public StoreFault(String message) {
        super(message);
    }

    public StoreFault(String message, Throwable cause) {
        super(message, cause);
    }
}
