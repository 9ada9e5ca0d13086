package io.kagami.protocol;

import io.kagami.protocol.MirrorMessages.Body;
import java.util.List;
import java.util.Objects;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageSizeAccumulator;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/**
 * Private RPC bodies on the wire, version 0, in Kafka's flexible encoding: compact strings and arrays, and a section of tagged
 * fields at the end of every structure. Unknown tags are skipped.
 */
public final class PrivateMessages {
    private PrivateMessages() {}

    /** @throws IllegalArgumentException when the body is not the request of that api */
    public static PrivateMessage request(PrivateApi api, Body body) {
        return new WireMessage(api, true, body);
    }

    /** @throws IllegalArgumentException when the body is not the response of that api */
    public static PrivateMessage response(PrivateApi api, Body body) {
        return new WireMessage(api, false, body);
    }

    static ApiMessage emptyRequest(PrivateApi api) {
        return new WireMessage(api, true, null);
    }

    static ApiMessage emptyResponse(PrivateApi api) {
        return new WireMessage(api, false, null);
    }

    private static final class WireMessage implements PrivateMessage {
        private final PrivateApi api;
        private final boolean request;
        private Body body;
        private byte[] bytes;

        WireMessage(PrivateApi api, boolean request, Body body) {
            this.api = api;
            this.request = request;
            if (body != null) {
                Class<? extends Body> wanted = PrivateBodies.type(api, request);
                if (!wanted.isInstance(body)) {
                    throw new IllegalArgumentException(api.wireName() + (request ? " request" : " response") + " is a "
                            + wanted.getSimpleName() + ", not a "
                            + body.getClass().getSimpleName());
                }
                this.body = body;
            }
        }

        @Override
        public PrivateApi api() {
            return api;
        }

        @Override
        public Body body() {
            return body;
        }

        @Override
        public short apiKey() {
            return api.key();
        }

        @Override
        public short lowestSupportedVersion() {
            return 0;
        }

        @Override
        public short highestSupportedVersion() {
            return 0;
        }

        @Override
        public void addSize(MessageSizeAccumulator size, ObjectSerializationCache cache, short version) {
            bytes = PrivateBodies.encode(body);
            size.addBytes(bytes.length);
        }

        @Override
        public void write(Writable out, ObjectSerializationCache cache, short version) {
            // encoded by addSize, which comes first
            out.writeByteArray(bytes);
        }

        @Override
        public void read(Readable in, short version) {
            body = PrivateBodies.decode(api, request, in);
        }

        @Override
        public List<RawTaggedField> unknownTaggedFields() {
            return List.of();
        }

        @Override
        public PrivateMessage duplicate() {
            return new WireMessage(api, request, body);
        }

        @Override
        public boolean equals(Object other) {
            return other instanceof WireMessage that
                    && api == that.api
                    && request == that.request
                    && Objects.equals(body, that.body);
        }

        @Override
        public int hashCode() {
            return Objects.hash(api, request, body);
        }

        @Override
        public String toString() {
            return api.wireName() + (request ? "Request(" : "Response(") + body + ")";
        }
    }
}
