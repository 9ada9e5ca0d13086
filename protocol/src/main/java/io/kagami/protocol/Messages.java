package io.kagami.protocol;

import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.protocol.ApiMessage;

/** Header versions and empty bodies by api key, Kafka's and the private ones alike. */
public final class Messages {
    private static final short PRIVATE_REQUEST_HEADER = 2;
    private static final short PRIVATE_RESPONSE_HEADER = 1;

    private Messages() {}

    /** @throws org.apache.kafka.common.errors.UnsupportedVersionException for an unknown key */
    public static short requestHeaderVersion(short apiKey, short version) {
        return PrivateApi.find(apiKey) != null
                ? PRIVATE_REQUEST_HEADER
                : ApiMessageType.fromApiKey(apiKey).requestHeaderVersion(version);
    }

    /** ApiVersions is always 0, so that a client that knows no version yet can read it. */
    public static short responseHeaderVersion(short apiKey, short version) {
        return PrivateApi.find(apiKey) != null
                ? PRIVATE_RESPONSE_HEADER
                : ApiMessageType.fromApiKey(apiKey).responseHeaderVersion(version);
    }

    public static ApiMessage newRequest(short apiKey) {
        PrivateApi api = PrivateApi.find(apiKey);
        return api != null
                ? PrivateMessages.emptyRequest(api)
                : ApiMessageType.fromApiKey(apiKey).newRequest();
    }

    public static ApiMessage newResponse(short apiKey) {
        PrivateApi api = PrivateApi.find(apiKey);
        return api != null
                ? PrivateMessages.emptyResponse(api)
                : ApiMessageType.fromApiKey(apiKey).newResponse();
    }

    /** As Kafka spells it, or ours; {@code api key N} when nobody knows it. */
    public static String nameOf(short apiKey) {
        PrivateApi api = PrivateApi.find(apiKey);
        if (api != null) {
            return api.wireName();
        }
        Api row = ApiTable.find(apiKey);
        if (row != null) {
            return row.name();
        }
        try {
            return ApiMessageType.fromApiKey(apiKey).name;
        } catch (org.apache.kafka.common.errors.UnsupportedVersionException e) {
            return "api key " + apiKey;
        }
    }
}
