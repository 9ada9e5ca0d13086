package io.kagami.broker.net;

import io.kagami.protocol.codec.MalformedFrame;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.concurrent.TimeUnit;

/**
 * A frame that has begun must be complete within a time, or a peer could hold memory and a connection by sending a byte a minute. Two
 * handlers share this: {@link #before} the frame decoder counts bytes, {@link #after} it counts whole frames; bytes in excess are a
 * frame under way. Belongs to the event loop.
 */
final class FrameDeadline {
    private final long limitMs;
    private long bytesIn;
    private long bytesOfFrames;
    private long frames;
    private boolean armed;

    FrameDeadline(long limitMs) {
        this.limitMs = limitMs;
    }

    ChannelInboundHandlerAdapter before() {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object message) {
                int size = ((ByteBuf) message).readableBytes();
                bytesIn += size;
                ctx.fireChannelRead(message);
                check(ctx);
            }
        };
    }

    ChannelInboundHandlerAdapter after() {
        return new ChannelInboundHandlerAdapter() {
            @Override
            public void channelRead(ChannelHandlerContext ctx, Object message) {
                bytesOfFrames += Integer.BYTES + ((ByteBuf) message).readableBytes();
                frames++;
                ctx.fireChannelRead(message);
            }
        };
    }

    /** One timer per connection at most: it looks again when frames went by meanwhile. */
    private void check(ChannelHandlerContext ctx) {
        if (armed || bytesIn == bytesOfFrames) {
            return;
        }
        armed = true;
        long framesNow = frames;
        ctx.executor()
                .schedule(
                        () -> {
                            armed = false;
                            if (!ctx.channel().isActive() || bytesIn == bytesOfFrames) {
                                return;
                            }
                            if (frames == framesNow) {
                                ctx.fireExceptionCaught(new MalformedFrame("a frame is incomplete after " + limitMs
                                        + " ms, with " + (bytesIn - bytesOfFrames) + " bytes received"));
                            } else {
                                check(ctx);
                            }
                        },
                        limitMs,
                        TimeUnit.MILLISECONDS);
    }
}
