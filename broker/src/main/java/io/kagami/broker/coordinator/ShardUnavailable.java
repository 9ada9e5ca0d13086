package io.kagami.broker.coordinator;

import org.apache.kafka.common.protocol.Errors;

/** The shard cannot answer now; the error tells a client when to come back or where to go. */
public final class ShardUnavailable extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final Errors error;

    public ShardUnavailable(Errors error, String message) {
        super(message, null, false, false);
        this.error = error;
    }

    public Errors error() {
        return error;
    }
}
