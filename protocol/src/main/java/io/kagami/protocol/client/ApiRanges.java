package io.kagami.protocol.client;

import io.kagami.protocol.Messages;
import io.kagami.protocol.PrivateApi;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalInt;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.message.ApiMessageType;
import org.apache.kafka.common.message.ApiVersionsResponseData;

/** What one peer speaks, from its ApiVersions answer, against what kafka-clients' messages can express. Immutable. */
final class ApiRanges {
    private record Range(short min, short max) {
        @Override
        public String toString() {
            return min + " to " + max;
        }
    }

    private final Map<Short, Range> theirs;

    private ApiRanges(Map<Short, Range> theirs) {
        this.theirs = theirs;
    }

    static ApiRanges of(ApiVersionsResponseData answer) {
        Map<Short, Range> ranges = new HashMap<>();
        for (ApiVersionsResponseData.ApiVersion api : answer.apiKeys()) {
            ranges.put(api.apiKey(), new Range(api.minVersion(), api.maxVersion()));
        }
        return new ApiRanges(Map.copyOf(ranges));
    }

    /** Highest common version, not above {@code cap}. */
    OptionalInt common(short key, int cap) {
        Range ours = ours(key);
        Range range = theirs.get(key);
        if (ours == null || range == null) {
            return OptionalInt.empty();
        }
        int version = Math.min(cap, Math.min(ours.max, range.max));
        return version >= ours.min && version >= range.min ? OptionalInt.of(version) : OptionalInt.empty();
    }

    /** Why {@link #common} is empty. */
    String mismatch(short key, int cap) {
        Range range = theirs.get(key);
        String name = Messages.nameOf(key);
        return range == null
                ? "does not serve " + name
                : "serves " + name + " " + range + ", this client needs " + ours(key)
                        + (cap == Short.MAX_VALUE ? "" : ", at most " + cap);
    }

    private static Range ours(short key) {
        if (PrivateApi.find(key) != null) {
            return new Range((short) 0, (short) 0);
        }
        try {
            ApiMessageType type = ApiMessageType.fromApiKey(key);
            return new Range(type.lowestSupportedVersion(), type.highestSupportedVersion(false));
        } catch (UnsupportedVersionException e) {
            return null;
        }
    }
}
