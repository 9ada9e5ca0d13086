package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.nio.charset.StandardCharsets;
import java.util.Set;

/**
 * Cuts the byte stream into frames: a length of four bytes, then that many bytes, passed on without the length as one contiguous
 * buffer that the next handler owns. A length that is not positive or above the limit ends the stream before anything is allocated
 * for it; memory for a frame grows with the bytes that have arrived, never with what was declared. Faults go up the pipeline as
 * {@link MalformedFrame}; whatever follows is dropped unread.
 */
public final class FrameDecoder extends ChannelInboundHandlerAdapter {
    /** {@code socket.request.max.bytes} of Apache Kafka. */
    public static final int DEFAULT_FRAME_BYTES_MAX = 100 << 20;

    /** What is taken at once for a frame of a client, at most: a pause in the middle of a frame must stay cheap. */
    private static final int CLIENT_STEP_MAX = 1 << 20;
    /** A rest shorter than this is received together with what follows it. */
    private static final int IN_PLACE_MIN = 16 << 10;

    private static final Set<String> HTTP =
            Set.of("GET ", "POST", "HEAD", "PUT ", "OPTI", "DELE", "CONN", "PATC", "PRI ", "HTTP");

    private int frameBytesMax;
    private int lengthBytes;
    private int length;
    private ByteBuf frame;
    private ByteBuf inPlace;
    private final FrameMemory memory;
    private boolean broken;

    /** Frames of clients. */
    public FrameDecoder(int frameBytesMax) {
        this(frameBytesMax, new FrameMemory(CLIENT_STEP_MAX, 0));
    }

    private FrameDecoder(int frameBytesMax, FrameMemory memory) {
        this.memory = memory;
        limit(frameBytesMax);
    }

    /**
     * Frames of a server that answers with much data.
     *
     * @param reusedMax how many large buffers the connection keeps
     */
    public static FrameDecoder reusing(int frameBytesMax, int reusedMax) {
        return new FrameDecoder(frameBytesMax, new FrameMemory(frameBytesMax, reusedMax));
    }

    /** Lets the socket write large frames in place; only where this decoder sees the very buffers that the socket filled. */
    public FrameDecoder receiveInPlace(Channel channel) {
        channel.config().setRecvByteBufAllocator(new FrameReceive(this));
        return this;
    }

    /** Where the socket may write the rest of the frame that is being put together; null when it should use a buffer of its own. */
    ByteBuf restOfFrame() {
        inPlace = null;
        if (frame != null && length - frame.writerIndex() >= IN_PLACE_MIN) {
            if (frame.writerIndex() == capacity()) {
                memory.grow(frame, length, IN_PLACE_MIN);
            }
            inPlace = frame.retainedSlice(frame.writerIndex(), capacity() - frame.writerIndex())
                    .setIndex(0, 0);
        }
        return inPlace;
    }

    /** A reused buffer may be longer than the frame. */
    private int capacity() {
        return Math.min(length, frame.capacity());
    }

    /** Changes the limit for the frames that start from now on. On the event loop. */
    public void limit(int bytes) {
        if (bytes <= 0) {
            throw new IllegalArgumentException("frame limit " + bytes);
        }
        frameBytesMax = bytes;
    }

    @Override
    @SuppressWarnings("ReferenceEquality") // the very buffer that was lent out
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf in = (ByteBuf) message;
        if (in == inPlace) {
            arrivedInPlace(ctx, in);
            return;
        }
        try {
            while (!broken && in.isReadable()) {
                step(ctx, in);
            }
        } catch (MalformedFrame e) {
            fail();
            ctx.fireExceptionCaught(e);
        } finally {
            in.release();
        }
    }

    private void arrivedInPlace(ChannelHandlerContext ctx, ByteBuf in) {
        int bytes = in.readableBytes();
        inPlace = null;
        in.release();
        if (!broken) {
            frame.writerIndex(frame.writerIndex() + bytes);
            emitIfWhole(ctx);
        }
    }

    private void step(ChannelHandlerContext ctx, ByteBuf in) {
        if (lengthBytes < Integer.BYTES) {
            length = length << 8 | in.readUnsignedByte();
            lengthBytes++;
            if (lengthBytes == Integer.BYTES) {
                check();
            }
            return;
        }
        if (frame == null && in.readableBytes() >= length) {
            // the usual small frame: it arrived whole, no copy
            emit(ctx, in.readRetainedSlice(length));
            return;
        }
        collect(ctx, in);
        emitIfWhole(ctx);
    }

    private void emitIfWhole(ChannelHandlerContext ctx) {
        if (frame.readableBytes() == length) {
            ByteBuf whole = frame;
            frame = null;
            emit(ctx, whole);
        }
    }

    private void emit(ChannelHandlerContext ctx, ByteBuf whole) {
        memory.whole(length);
        lengthBytes = 0;
        length = 0;
        ctx.fireChannelRead(whole);
    }

    private void collect(ChannelHandlerContext ctx, ByteBuf in) {
        int take = Math.min(in.readableBytes(), length - (frame == null ? 0 : frame.readableBytes()));
        if (frame == null) {
            frame = memory.first(ctx.alloc(), length, take);
        } else if (frame.writableBytes() < take) {
            memory.grow(frame, length, take);
        }
        frame.writeBytes(in, take);
    }

    private void check() {
        if (length > 0 && length <= frameBytesMax) {
            return;
        }
        String words = foreign(length);
        if (words != null) {
            throw new MalformedFrame(words + " on a port that speaks the Kafka protocol in plain text");
        }
        throw new MalformedFrame(
                length <= 0
                        ? "a frame length of " + length
                        : "a frame of " + length + " bytes, at most " + frameBytesMax + " are accepted");
    }

    /** What the first four bytes look like when they are no length; null when nothing comes to mind. */
    static String foreign(int length) {
        int type = length >>> 24;
        if ((type == 0x16 || type == 0x15) && (length >> 16 & 0xff) == 3) {
            return type == 0x16 ? "a TLS handshake" : "a TLS alert";
        }
        byte[] bytes = {(byte) (length >> 24), (byte) (length >> 16), (byte) (length >> 8), (byte) length};
        return HTTP.contains(new String(bytes, StandardCharsets.US_ASCII)) ? "an HTTP message" : null;
    }

    private void fail() {
        broken = true;
        if (frame != null) {
            frame.release();
            frame = null;
        }
        memory.release();
    }

    @Override
    public void channelInactive(ChannelHandlerContext ctx) {
        fail();
        ctx.fireChannelInactive();
    }

    @Override
    public void handlerRemoved(ChannelHandlerContext ctx) {
        fail();
    }
}
