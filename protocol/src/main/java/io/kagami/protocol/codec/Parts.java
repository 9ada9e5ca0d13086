package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelOutboundInvoker;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;
import io.netty.util.ReferenceCountUtil;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.WritableByteChannel;
import java.util.List;

/**
 * One frame ready to leave: buffers and file regions in wire order. Owned by the holder until {@link #writeTo}, {@link #gather} or
 * {@link #release} is called, each at most once.
 *
 * @param parts {@link ByteBuf} or {@link FileRegion}, never empty
 * @param sizeInBytes of the whole frame, length prefix included
 */
public record Parts(List<Object> parts, int sizeInBytes) {
    /**
     * Hands all parts to the channel without flushing; the channel releases them, sent or not. On the event loop.
     *
     * @param promise completed with the last part
     */
    public void writeTo(ChannelOutboundInvoker channel, ChannelPromise promise) {
        int last = parts.size() - 1;
        for (int i = 0; i < last; i++) {
            channel.write(parts.get(i));
        }
        channel.write(parts.get(last), promise);
    }

    /** Copies the frame into one buffer and releases the parts: for channels that cannot send files. */
    public ByteBuf gather(io.netty.buffer.ByteBufAllocator allocator) throws IOException {
        ByteBuf out = allocator.buffer(sizeInBytes);
        try (WritableByteChannel channel = Channels.newChannel(new io.netty.buffer.ByteBufOutputStream(out))) {
            for (Object part : parts) {
                if (part instanceof ByteBuf bytes) {
                    out.writeBytes(bytes, bytes.readerIndex(), bytes.readableBytes());
                } else {
                    copy((FileRegion) part, channel);
                }
            }
            return out;
        } catch (IOException | RuntimeException e) {
            out.release();
            throw e;
        } finally {
            release();
        }
    }

    private static void copy(FileRegion region, WritableByteChannel channel) throws IOException {
        long at = 0;
        while (at < region.count()) {
            long moved = region.transferTo(channel, at);
            if (moved <= 0) {
                throw new IOException("the file ends " + (region.count() - at) + " bytes before its range does");
            }
            at += moved;
        }
    }

    /** Gives every part back unsent. */
    public void release() {
        parts.forEach(ReferenceCountUtil::release);
    }
}
