package io.kagami.protocol;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.protocol.codec.FrameDecoder;
import io.kagami.protocol.codec.ServerCodec;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.embedded.EmbeddedChannel;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ApiVersionsAnswerTest {
    private static ApiVersionsRequestData request(String name) {
        return new ApiVersionsRequestData().setClientSoftwareName(name).setClientSoftwareVersion("1.0-x");
    }

    @Test
    void everyPublicRowIsListedAndProduceFromZero() {
        ApiVersionsResponseData answer = ApiVersionsAnswer.build((short) 4, request("librdkafka"), "c", 1);
        assertThat(answer.errorCode()).isZero();
        assertThat(answer.apiKeys()).hasSize(24);
        assertThat(answer.apiKeys().find((short) 0).minVersion()).isZero();
        assertThat(answer.apiKeys().find((short) 0).maxVersion()).isEqualTo((short) 13);
        assertThat(answer.supportedFeatures()).isEmpty();
        assertThat(answer.finalizedFeatures()).isEmpty();
        assertThat(answer.finalizedFeaturesEpoch()).isEqualTo(-1);
    }

    @Test
    void privateKeysAreShownToOurOwnClientsAlone() {
        assertThat(ApiVersionsAnswer.build((short) 3, request("kagami"), "c", 1)
                        .apiKeys()
                        .find((short) 10_000))
                .isNotNull();
        assertThat(ApiVersionsAnswer.build((short) 3, request("Kagami"), "c", 1)
                        .apiKeys()
                        .find((short) 10_000))
                .isNull();
        assertThat(ApiVersionsAnswer.build((short) 0, new ApiVersionsRequestData(), "c", 1)
                        .apiKeys())
                .hasSize(24);
    }

    @ParameterizedTest
    @CsvSource(
            nullValues = "-",
            value = {
                "5, -,   -1, 0",
                "5, c,    1, 0",
                "5, x,    1, 129",
                "5, c,    2, 129",
                "5, c,   -1, 42",
                "5, -,    1, 42",
                "4, x,    2, 0"
            })
    void aClientThatMeansAnotherClusterIsSentAway(short version, String cluster, int node, short error) {
        ApiVersionsRequestData request = request("a").setClusterId(cluster).setNodeId(node);
        ApiVersionsResponseData answer = ApiVersionsAnswer.build(version, request, "c", 1);
        assertThat(answer.errorCode()).isEqualTo(error);
        assertThat(answer.apiKeys().isEmpty()).isEqualTo(error != 0);
    }

    @ParameterizedTest
    @CsvSource({"'', 1", "a, ''", "'a b', 1", "-a, 1", "a, 1-", "'ü', 1"})
    void badSoftwareNamesAreInvalid(String name, String version) {
        ApiVersionsRequestData request =
                new ApiVersionsRequestData().setClientSoftwareName(name).setClientSoftwareVersion(version);
        assertThat(ApiVersionsAnswer.build((short) 3, request, "c", 1).errorCode())
                .isEqualTo((short) 42);
        assertThat(ApiVersionsAnswer.build((short) 2, request, "c", 1).errorCode())
                .isZero();
    }

    @Test
    void aFutureVersionIsAnsweredInVersionZeroWithTheRangeAndTheConnectionLives() {
        EmbeddedChannel server = new EmbeddedChannel(new FrameDecoder(1000), new ServerCodec());
        for (int round = 0; round < 2; round++) {
            ByteBuf frame = Unpooled.buffer()
                    .writeInt(13)
                    .writeShort(18)
                    .writeShort(99)
                    .writeInt(7)
                    .writeZero(5);
            server.writeInbound(frame);
            Request request = server.readInbound();
            assertThat(request.version()).isEqualTo((short) 99);
            ApiVersionsResponseData answer =
                    ApiVersionsAnswer.build(request.version(), (ApiVersionsRequestData) request.body(), "c", 1);
            request.release();
            server.writeOutbound(new Response(request, answer));
            ByteBuf bytes = server.readOutbound();
            // correlation id 7, error 35, one entry: key 18, 0 to 5
            assertThat(ByteBufUtil.hexDump(bytes))
                    .isEqualTo("00000010" + "00000007" + "0023" + "00000001" + "001200000005");
            bytes.release();
        }
        assertThat(server.isOpen()).isTrue();
    }

    @Test
    void anAnswerWithoutBodySendsNothing() {
        EmbeddedChannel server = new EmbeddedChannel(new ServerCodec());
        assertThat(server.writeOutbound(new Response(null, null))).isFalse();
    }
}
