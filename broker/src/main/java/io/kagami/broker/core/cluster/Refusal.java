package io.kagami.broker.core.cluster;

import io.kagami.protocol.MirrorError;
import org.apache.kafka.common.protocol.Errors;

/** Why a change is not made: a Kafka or mirror error code and a sentence. */
public record Refusal(short errorCode, String message) {
    static Refusal of(Errors error, String message) {
        return new Refusal(error.code(), message);
    }

    static Refusal of(MirrorError error, String message) {
        return new Refusal(error.code(), message);
    }
}
