package io.kagami.broker.net;

import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import io.netty.channel.FileRegion;

/** Counts the bytes of a connection, file regions included. */
final class ByteMeter extends ChannelDuplexHandler {
    private final RequestObserver observer;

    ByteMeter(RequestObserver observer) {
        this.observer = observer;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        if (message instanceof ByteBuf bytes) {
            observer.received(bytes.readableBytes());
        }
        ctx.fireChannelRead(message);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (message instanceof ByteBuf bytes) {
            observer.sent(bytes.readableBytes());
        } else if (message instanceof FileRegion region) {
            observer.sent(region.count());
        }
        ctx.write(message, promise);
    }
}
