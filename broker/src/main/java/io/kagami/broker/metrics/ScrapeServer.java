package io.kagami.broker.metrics;

import io.kagami.broker.net.BindFailure;
import io.kagami.protocol.Transports;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.buffer.Unpooled;
import io.netty.channel.Channel;
import io.netty.channel.ChannelFuture;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.EventLoopGroup;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpServerCodec;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import io.netty.handler.codec.http.QueryStringDecoder;
import io.netty.handler.timeout.ReadTimeoutException;
import io.netty.handler.timeout.ReadTimeoutHandler;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** {@code /metrics} for Prometheus, {@code /health/live} and {@code /health/ready}; plain HTTP, reading only. */
public final class ScrapeServer implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ScrapeServer.class);
    private static final int REQUEST_BYTES_MAX = 16 << 10;
    private static final int CONNECTIONS_MAX = 100;
    private static final int IDLE_SECONDS = 60;

    private final Supplier<String> metrics;
    private final Supplier<List<String>> missing;
    private final AtomicInteger open = new AtomicInteger();
    private Channel listener;

    /**
     * @param metrics in Prometheus' text format
     * @param missing what is still missing for being ready; empty = ready
     */
    public ScrapeServer(Supplier<String> metrics, Supplier<List<String>> missing) {
        this.metrics = metrics;
        this.missing = missing;
    }

    /** @return the address that is really bound */
    public InetSocketAddress start(EventLoopGroup io, String host, int port) throws IOException {
        ChannelFuture bound = new ServerBootstrap()
                .group(io)
                .channel(Transports.serverChannel())
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        if (open.incrementAndGet() > CONNECTIONS_MAX) {
                            open.decrementAndGet();
                            channel.close();
                            return;
                        }
                        channel.closeFuture().addListener(closed -> open.decrementAndGet());
                        channel.pipeline()
                                .addLast(new ReadTimeoutHandler(IDLE_SECONDS))
                                .addLast(new HttpServerCodec())
                                .addLast(new HttpObjectAggregator(REQUEST_BYTES_MAX))
                                .addLast(new Answering());
                    }
                })
                .bind(new InetSocketAddress(host, port))
                .awaitUninterruptibly();
        if (!bound.isSuccess()) {
            throw new IOException(
                    "metrics.listener cannot listen on " + host + ":" + port + ": " + BindFailure.text(bound.cause()),
                    bound.cause());
        }
        listener = bound.channel();
        return (InetSocketAddress) listener.localAddress();
    }

    @Override
    public void close() {
        if (listener != null) {
            listener.close().awaitUninterruptibly();
        }
    }

    private final class Answering extends SimpleChannelInboundHandler<FullHttpRequest> {
        @Override
        protected void channelRead0(ChannelHandlerContext ctx, FullHttpRequest request) {
            FullHttpResponse response = answer(request);
            boolean keep =
                    HttpUtil.isKeepAlive(request) && request.decoderResult().isSuccess();
            HttpUtil.setKeepAlive(response, keep);
            HttpUtil.setContentLength(response, response.content().readableBytes());
            ChannelFuture written = ctx.writeAndFlush(response);
            if (!keep) {
                written.addListener(ChannelFutureListener.CLOSE);
            }
        }

        private FullHttpResponse answer(FullHttpRequest request) {
            if (!request.decoderResult().isSuccess()) {
                return text(HttpResponseStatus.BAD_REQUEST, "not an HTTP request\n");
            }
            if (!request.method().equals(HttpMethod.GET) && !request.method().equals(HttpMethod.HEAD)) {
                return text(HttpResponseStatus.METHOD_NOT_ALLOWED, "only GET\n");
            }
            FullHttpResponse response = page(new QueryStringDecoder(request.uri()).path());
            return request.method().equals(HttpMethod.HEAD) ? response.replace(Unpooled.EMPTY_BUFFER) : response;
        }

        private FullHttpResponse page(String path) {
            return switch (path) {
                case "/metrics" -> scraped();
                case "/health/live" -> text(HttpResponseStatus.OK, "live\n");
                case "/health/ready" -> readiness(missing.get());
                default -> text(HttpResponseStatus.NOT_FOUND, "/metrics, /health/live, /health/ready\n");
            };
        }

        private FullHttpResponse scraped() {
            FullHttpResponse response = text(HttpResponseStatus.OK, metrics.get());
            response.headers().set(HttpHeaderNames.CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8");
            return response;
        }

        private FullHttpResponse readiness(List<String> wanting) {
            return wanting.isEmpty()
                    ? text(HttpResponseStatus.OK, "ready\n")
                    : text(HttpResponseStatus.SERVICE_UNAVAILABLE, "not ready: " + String.join("; ", wanting) + "\n");
        }

        private FullHttpResponse text(HttpResponseStatus status, String body) {
            FullHttpResponse response = new DefaultFullHttpResponse(
                    HttpVersion.HTTP_1_1, status, Unpooled.copiedBuffer(body, StandardCharsets.UTF_8));
            response.headers().set(HttpHeaderNames.CONTENT_TYPE, "text/plain; charset=utf-8");
            return response;
        }

        @Override
        public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
            if (cause instanceof IOException || cause instanceof ReadTimeoutException) {
                LOG.debug("metrics connection of {} ended: {}", ctx.channel().remoteAddress(), cause.toString());
            } else {
                LOG.warn("metrics connection of {} failed", ctx.channel().remoteAddress(), cause);
            }
            ctx.close();
        }
    }
}
