package io.kagami.protocol.client;

import io.netty.buffer.ByteBuf;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.protocol.ApiMessage;

/** A reply that holds its receive buffer. */
final class FrameReply implements Reply {
    private final ApiMessage body;
    private final short version;
    private final ByteBuf frame;
    private final int sizeInBytes;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Takes over the caller's reference to the frame. */
    FrameReply(ApiMessage body, short version, ByteBuf frame, int sizeInBytes) {
        this.body = body;
        this.version = version;
        this.frame = frame;
        this.sizeInBytes = sizeInBytes;
    }

    @Override
    public ApiMessage body() {
        return body;
    }

    @Override
    public short version() {
        return version;
    }

    @Override
    public int sizeInBytes() {
        return sizeInBytes;
    }

    @Override
    public void close() {
        if (closed.compareAndSet(false, true)) {
            frame.release();
        }
    }
}
