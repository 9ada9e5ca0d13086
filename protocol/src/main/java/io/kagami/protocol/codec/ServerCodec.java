package io.kagami.protocol.codec;

import io.kagami.protocol.Api;
import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Messages;
import io.kagami.protocol.Request;
import io.kagami.protocol.Response;
import io.kagami.protocol.Transports;
import io.netty.buffer.ByteBuf;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.io.IOException;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Frames in, {@link Request}s on; {@link Response}s in, bytes and file regions out. Stands behind a {@link FrameDecoder}.
 *
 * <p>The frame of a request that was passed on belongs to whoever received it, who calls {@link Request#release()} once. What
 * cannot be decoded never gets that far: one log line names the peer and the reason, and the connection closes.
 */
public final class ServerCodec extends ChannelDuplexHandler {
    private static final Logger LOG = LoggerFactory.getLogger(ServerCodec.class);
    private static final int KEY_VERSION_CORRELATION = 8;

    private boolean closing;

    @Override
    public void channelRead(ChannelHandlerContext ctx, Object message) {
        ByteBuf frame = (ByteBuf) message;
        Request request;
        try {
            if (closing) {
                frame.release();
                return;
            }
            request = decode(frame, System.nanoTime());
        } catch (MalformedFrame e) {
            frame.release();
            close(ctx, e.getMessage());
            return;
        }
        ctx.fireChannelRead(request);
    }

    /**
     * Decodes one frame; the request keeps the frame, whose reader index has moved to its end.
     *
     * @throws MalformedFrame when the frame is not a request that this broker speaks
     */
    public static Request decode(ByteBuf frame, long arrivalNanos) {
        if (frame.readableBytes() < KEY_VERSION_CORRELATION) {
            throw new MalformedFrame("a request of " + frame.readableBytes() + " bytes, too short for a header");
        }
        int at = frame.readerIndex();
        short key = frame.getShort(at);
        short version = frame.getShort(at + Short.BYTES);
        Api api = ApiTable.find(key);
        if (api == null) {
            throw new MalformedFrame("api key " + key + " version " + version + " is not served");
        }
        if (version < api.min() || version > api.max()) {
            if (key == ApiTable.API_VERSIONS) {
                return unknownApiVersions(frame, api, arrivalNanos);
            }
            throw new MalformedFrame(api.name() + " (api key " + key + ") version " + version + " is not served, only "
                    + api.min() + " to " + api.max());
        }
        try {
            short headerVersion = Messages.requestHeaderVersion(key, version);
            Shapes.checkRequest(frame, key, version, headerVersion);
            ByteBufReadable in = new ByteBufReadable(frame);
            RequestHeaderData header = new RequestHeaderData(in, headerVersion);
            ApiMessage body = Messages.newRequest(key);
            body.read(in, version);
            if (in.remaining() > 0) {
                throw new MalformedFrame(in.remaining() + " bytes are left over");
            }
            return new Request(api, header, body, frame, arrivalNanos);
        } catch (RuntimeException e) {
            throw new MalformedFrame(
                    "a malformed " + api.name() + " request (api key " + key + ") version " + version + ": "
                            + e.getMessage(),
                    e);
        }
    }

    /** Nothing but the correlation id is known of a future version; the handler sees the version and answers error 35. */
    private static Request unknownApiVersions(ByteBuf frame, Api api, long arrivalNanos) {
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(frame.readShort())
                .setRequestApiVersion(frame.readShort())
                .setCorrelationId(frame.readInt());
        frame.skipBytes(frame.readableBytes());
        return new Request(api, header, new ApiVersionsRequestData(), frame, arrivalNanos);
    }

    @Override
    public void write(ChannelHandlerContext ctx, Object message, ChannelPromise promise) {
        if (!(message instanceof Response response)) {
            ctx.write(message, promise);
            return;
        }
        if (response.body() == null) {
            promise.setSuccess();
            return;
        }
        Parts parts;
        try {
            parts = encode(ctx, response);
        } catch (RuntimeException e) {
            Request request = response.request();
            LOG.atError()
                    .addKeyValue("peer", ctx.channel().remoteAddress())
                    .addKeyValue("api", request.api().name())
                    .addKeyValue("version", request.version())
                    .setCause(e)
                    .log("A response cannot be encoded; closing the connection");
            promise.setFailure(e);
            closing = true;
            ctx.close();
            return;
        }
        if (parts.parts().size() > 1) { // has records, and something before them
            Transports.cork(ctx.channel(), true);
            promise.addListener(written -> Transports.cork(ctx.channel(), false));
        }
        parts.writeTo(ctx, promise);
    }

    private static Parts encode(ChannelHandlerContext ctx, Response response) {
        Request request = response.request();
        Api api = request.api();
        short version = request.version();
        boolean known = version >= api.min() && version <= api.max();
        short wireVersion = known ? version : 0;
        return PartWritable.encode(
                ctx.alloc(),
                new ResponseHeaderData().setCorrelationId(request.header().correlationId()),
                Messages.responseHeaderVersion(api.key(), wireVersion),
                response.body(),
                wireVersion);
    }

    @Override
    public void exceptionCaught(ChannelHandlerContext ctx, Throwable cause) {
        if (cause instanceof MalformedFrame) {
            close(ctx, cause.getMessage());
        } else if (cause instanceof IOException) {
            LOG.atDebug()
                    .addKeyValue("peer", ctx.channel().remoteAddress())
                    .addKeyValue("reason", cause.getMessage())
                    .log("Connection lost");
            ctx.close();
        } else {
            ctx.fireExceptionCaught(cause);
        }
    }

    private void close(ChannelHandlerContext ctx, String reason) {
        if (closing) {
            return;
        }
        closing = true;
        LOG.atWarn()
                .addKeyValue("peer", ctx.channel().remoteAddress())
                .addKeyValue("reason", reason)
                .log("Closing a connection that sent what cannot be served");
        ctx.close();
    }
}
