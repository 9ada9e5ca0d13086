package io.kagami.protocol.client;

import io.kagami.protocol.ApiTable;
import io.kagami.protocol.ApiVersionsAnswer;
import io.kagami.protocol.Request;
import io.kagami.protocol.Response;
import io.kagami.protocol.codec.Answering;
import io.kagami.protocol.codec.FrameDecoder;
import io.kagami.protocol.codec.ServerCodec;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.ByteBuf;
import io.netty.channel.Channel;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInboundHandlerAdapter;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import java.net.InetSocketAddress;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.protocol.ApiMessage;

/** A broker in this JVM whose answers a test sets by api key; also one that answers raw frames. */
final class FakeBroker implements AutoCloseable {
    private final Map<Short, Function<Request, ApiMessage>> answers = new ConcurrentHashMap<>();
    private final Channel listener;

    private FakeBroker(Channel listener) {
        this.listener = listener;
    }

    static FakeBroker start(EventLoopGroup group, Map<Short, Function<Request, ApiMessage>> answers) {
        return start(group, 0, answers);
    }

    static FakeBroker start(EventLoopGroup group, int port, Map<Short, Function<Request, ApiMessage>> answers) {
        Map<Short, Function<Request, ApiMessage>> all = new ConcurrentHashMap<>(answers);
        all.putIfAbsent(
                ApiTable.API_VERSIONS,
                request -> ApiVersionsAnswer.build(request.version(), (ApiVersionsRequestData) request.body(), "c", 1));
        Channel listener = bind(group, port, channel -> channel.pipeline()
                .addLast(new FrameDecoder(1 << 20), new ServerCodec(), new Answering(request -> {
                    Function<Request, ApiMessage> answer = all.get(request.api().key());
                    ApiMessage body = answer == null ? null : answer.apply(request);
                    return body == null ? null : new Response(request, body);
                })));
        FakeBroker broker = new FakeBroker(listener);
        broker.answers.putAll(all);
        return broker;
    }

    /** Each frame that arrives goes to the function, which writes what it likes, as it likes. */
    static FakeBroker raw(EventLoopGroup group, java.util.function.BiConsumer<ChannelHandlerContext, ByteBuf> onFrame) {
        return new FakeBroker(bind(group, 0, channel -> channel.pipeline()
                .addLast(new FrameDecoder(1 << 20), new ChannelInboundHandlerAdapter() {
                    @Override
                    public void channelRead(ChannelHandlerContext ctx, Object message) {
                        ByteBuf frame = (ByteBuf) message;
                        try {
                            onFrame.accept(ctx, frame);
                        } finally {
                            frame.release();
                        }
                    }
                })));
    }

    private static Channel bind(EventLoopGroup group, int port, java.util.function.Consumer<Channel> pipeline) {
        return new ServerBootstrap()
                .group(group)
                .channel(io.kagami.protocol.Transports.serverChannel())
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        pipeline.accept(channel);
                    }
                })
                .bind("127.0.0.1", port)
                .syncUninterruptibly()
                .channel();
    }

    int port() {
        return ((InetSocketAddress) listener.localAddress()).getPort();
    }

    Node node(int id) {
        return new Node(id, "127.0.0.1", port());
    }

    String address() {
        return "127.0.0.1:" + port();
    }

    @Override
    public void close() {
        listener.close().syncUninterruptibly();
    }
}
