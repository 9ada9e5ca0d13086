package io.kagami.broker;

import io.kagami.protocol.Messages;
import io.kagami.protocol.codec.ByteBufReadable;
import io.kagami.protocol.codec.PartWritable;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import java.io.DataInputStream;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;

/** A blocking connection that sends what a test wants, in the version it wants, as often as it wants before it reads. */
final class RawClient implements AutoCloseable {
    private final Socket socket = new Socket();
    private final DataInputStream in;
    private int correlationId;

    RawClient(InetSocketAddress address) throws IOException {
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(20_000);
        socket.connect(address);
        in = new DataInputStream(socket.getInputStream());
    }

    int send(ApiKeys api, int version, ApiMessage body) throws IOException {
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(api.id)
                .setRequestApiVersion((short) version)
                .setCorrelationId(++correlationId)
                .setClientId("raw");
        ByteBuf frame = PartWritable.encode(
                        ByteBufAllocator.DEFAULT,
                        header,
                        Messages.requestHeaderVersion(api.id, (short) version),
                        body,
                        (short) version)
                .gather(ByteBufAllocator.DEFAULT);
        byte[] bytes = new byte[frame.readableBytes()];
        frame.readBytes(bytes).release();
        write(bytes);
        return correlationId;
    }

    void write(byte[] bytes) throws IOException {
        socket.getOutputStream().write(bytes);
    }

    /** The next answer, which must be the one to {@code expectedId}. */
    ApiMessage receive(ApiKeys api, int version, int expectedId) throws IOException {
        byte[] bytes = new byte[in.readInt()];
        in.readFully(bytes);
        ByteBufReadable readable = new ByteBufReadable(Unpooled.wrappedBuffer(bytes));
        ResponseHeaderData header =
                new ResponseHeaderData(readable, Messages.responseHeaderVersion(api.id, (short) version));
        if (header.correlationId() != expectedId) {
            throw new AssertionError("answer to " + header.correlationId() + ", expected " + expectedId);
        }
        ApiMessage body = Messages.newResponse(api.id);
        body.read(readable, (short) version);
        if (readable.remaining() > 0) {
            throw new AssertionError(readable.remaining() + " bytes are left over");
        }
        return body;
    }

    ApiMessage call(ApiKeys api, int version, ApiMessage body) throws IOException {
        return receive(api, version, send(api, version, body));
    }

    /** True when the broker has closed the connection without another byte. */
    boolean closedByPeer() throws IOException {
        try {
            return in.read() < 0;
        } catch (java.net.SocketException reset) {
            return true;
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
