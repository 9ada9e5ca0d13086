package io.kagami.protocol.codec;

import io.kagami.protocol.Request;
import io.kagami.protocol.Response;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import java.util.function.Function;

/** The smallest broker: a function from request to response; null answers nothing at all. */
public final class Answering extends ChannelInboundHandlerAdapter {
    private final Function<Request, Response> answer;

    public Answering(Function<Request, Response> answer) {
        this.answer = answer;
    }

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        Request request = (Request) message;
        try {
            Response response = answer.apply(request);
            if (response != null) {
                ctx.writeAndFlush(response);
            }
        } finally {
            request.release();
        }
    }
}
