package io.kagami.protocol;

import org.apache.kafka.common.protocol.ApiMessage;

/** One private RPC body as a Kafka message; knows the api key and direction, so that codecs treat it like any other. */
public interface PrivateMessage extends ApiMessage {
    PrivateApi api();

    MirrorMessages.Body body();
}
