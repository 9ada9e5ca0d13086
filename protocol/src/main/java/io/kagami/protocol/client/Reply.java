package io.kagami.protocol.client;

import org.apache.kafka.common.protocol.ApiMessage;

/** One answer. Record fields of the body are slices of the receive buffer: valid until {@link #close()}, which must be called once. */
public interface Reply extends AutoCloseable {
    ApiMessage body();

    short version();

    /** Bytes of the whole frame. */
    int sizeInBytes();

    @Override
    void close();
}
