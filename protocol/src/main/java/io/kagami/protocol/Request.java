package io.kagami.protocol;

import io.netty.buffer.ByteBuf;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;

/**
 * One decoded request. Record fields of the body (Produce) are slices of {@code frame}, so the body is valid until {@link #release()};
 * the connection releases it when the response has been completed.
 *
 * @param api row of the API table
 * @param header header as sent, api key and version included
 * @param body decoded body
 * @param frame the frame the body's record slices point into
 * @param arrivalNanos {@link System#nanoTime()} when the frame was complete
 */
public record Request(Api api, RequestHeaderData header, ApiMessage body, ByteBuf frame, long arrivalNanos) {
    public short version() {
        return header.requestApiVersion();
    }

    public void release() {
        frame.release();
    }
}
