package io.kagami.protocol.records;

/** Bytes that are no well-formed batch or records, or that inflate beyond the budget; the message says where and why. */
public class MalformedRecords extends RuntimeException {
    private static final long serialVersionUID = 1L;

    public MalformedRecords(String message) {
        super(message);
    }

    public MalformedRecords(String message, Throwable cause) {
        super(message, cause);
    }
}
