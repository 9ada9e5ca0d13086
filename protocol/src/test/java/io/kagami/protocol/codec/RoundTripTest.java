package io.kagami.protocol.codec;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.protocol.Api;
import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Messages;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.Request;
import io.kagami.protocol.Response;
import io.kagami.protocol.SampleMessages;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.message.ResponseHeaderData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageSizeAccumulator;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class RoundTripTest {
    private static final long SEED = Long.getLong("seed", System.nanoTime());
    private static final int CORRELATION = 4711;

    record Row(Api api, short version) {
        @Override
        public String toString() {
            return api.name() + " " + version + ", -Dseed=" + SEED;
        }
    }

    static Stream<Row> everyApiAndVersion() {
        List<Row> rows = new ArrayList<>();
        for (Api api : ApiTable.SUPPORTED) {
            for (short version = api.min(); version <= api.max(); version++) {
                if (PrivateApi.find(api.key()) == null) {
                    rows.add(new Row(api, version));
                }
            }
        }
        return rows.stream();
    }

    @Test
    void theTableEndsAtTheLatestStableVersionsOfTheLibrary() {
        for (Api api : ApiTable.SUPPORTED) {
            if (PrivateApi.find(api.key()) == null) {
                ApiMessageType type = ApiMessageType.fromApiKey(api.key());
                assertThat(api.name()).isEqualTo(type.name);
                assertThat(api.min()).as(api.name()).isEqualTo(type.lowestSupportedVersion());
                assertThat(api.max()).as(api.name()).isEqualTo(type.highestSupportedVersion(false));
            }
        }
    }

    @ParameterizedTest
    @MethodSource("everyApiAndVersion")
    void aRequestWithEveryFieldArrivesAsItWasSent(Row row) {
        short key = row.api.key();
        ApiMessage body = new SampleMessages(SEED, 3).request(key, row.version);
        RequestHeaderData header = new RequestHeaderData()
                .setRequestApiKey(key)
                .setRequestApiVersion(row.version)
                .setCorrelationId(CORRELATION)
                .setClientId("client");
        ByteBuf frame = theirs(header, Messages.requestHeaderVersion(key, row.version), body, row.version);
        ByteBuf ours = gather(PartWritable.encode(
                frame.alloc(), header, Messages.requestHeaderVersion(key, row.version), body, row.version));
        assertThat(ours).isEqualTo(frame);
        ours.release();

        EmbeddedChannel server = new EmbeddedChannel(new FrameDecoder(1 << 20), new ServerCodec());
        server.writeInbound(frame);
        Request request = server.readInbound();
        assertThat(request).isNotNull();
        assertThat(request.api()).isEqualTo(row.api);
        assertThat(request.version()).isEqualTo(row.version);
        assertThat(request.header().clientId()).isEqualTo("client");
        assertThat(request.header().correlationId()).isEqualTo(CORRELATION);
        assertThat(request.body()).isEqualTo(body);
        request.release();
        assertThat(request.frame().refCnt()).isZero();
        assertThat(server.finish()).isFalse();
    }

    @ParameterizedTest
    @MethodSource("everyApiAndVersion")
    void aResponseWithEveryFieldLeavesAsKafkaWritesIt(Row row) {
        short key = row.api.key();
        ApiMessage body = new SampleMessages(SEED, 3).response(key, row.version);
        short headerVersion = Messages.responseHeaderVersion(key, row.version);
        ByteBuf expected =
                theirs(new ResponseHeaderData().setCorrelationId(CORRELATION), headerVersion, body, row.version);

        EmbeddedChannel server = new EmbeddedChannel(new ServerCodec());
        RequestHeaderData header =
                new RequestHeaderData().setRequestApiVersion(row.version).setCorrelationId(CORRELATION);
        server.writeOutbound(new Response(new Request(row.api, header, null, null, 0), body));
        ByteBuf sent = collect(server);
        assertThat(sent).isEqualTo(expected);

        sent.skipBytes(Integer.BYTES);
        ByteBufReadable in = new ByteBufReadable(sent);
        assertThat(new ResponseHeaderData(in, headerVersion).correlationId()).isEqualTo(CORRELATION);
        FrameCheck.response(sent, key, row.version);
        ApiMessage read = Messages.newResponse(key);
        read.read(in, row.version);
        assertThat(read).isEqualTo(body);
        assertThat(in.remaining()).isZero();
        sent.release();
        expected.release();
    }

    static ByteBuf collect(EmbeddedChannel channel) {
        ByteBuf all = Unpooled.buffer();
        Object part;
        while ((part = channel.readOutbound()) != null) {
            all.writeBytes((ByteBuf) part);
            ((ByteBuf) part).release();
        }
        return all;
    }

    private static ByteBuf gather(Parts parts) {
        try {
            return parts.gather(Unpooled.buffer().alloc());
        } catch (java.io.IOException e) {
            throw new AssertionError(e);
        }
    }

    /** The frame as kafka-clients writes it. */
    static ByteBuf theirs(ApiMessage header, short headerVersion, ApiMessage body, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        MessageSizeAccumulator size = new MessageSizeAccumulator();
        header.addSize(size, cache, headerVersion);
        body.addSize(size, cache, version);
        ByteBuffer bytes = ByteBuffer.allocate(Integer.BYTES + size.totalSize());
        bytes.putInt(size.totalSize());
        ByteBufferAccessor out = new ByteBufferAccessor(bytes);
        header.write(out, cache, headerVersion);
        body.write(out, cache, version);
        bytes.flip();
        return Unpooled.wrappedBuffer(bytes);
    }
}
