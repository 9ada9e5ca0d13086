package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;

/** Proves that a frame is backed by its bytes before it is decoded; allocates nothing, moves no index. */
public final class FrameCheck {
    private FrameCheck() {}

    /**
     * The body of a response, from the reader index on.
     *
     * @throws MalformedFrame naming the field, when a count or length is not backed by bytes, a tagged field is out of order, bytes
     *     are left over, or decoding would take more memory than such an answer deserves
     */
    public static void response(ByteBuf frame, short apiKey, short version) {
        Shapes.checkResponse(frame, apiKey, version);
    }
}
