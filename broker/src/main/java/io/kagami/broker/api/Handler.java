package io.kagami.broker.api;

import io.kagami.broker.net.Session;
import io.kagami.protocol.Request;
import java.util.concurrent.CompletionStage;
import org.apache.kafka.common.protocol.ApiMessage;

/**
 * Translates one request into calls to owners of state and their answer into a response. Called on the connection's I/O thread; must not
 * block. Completing with null means no response (acks=0). An exceptional completion is a bug: logged, answered with UNKNOWN_SERVER_ERROR
 * by closing the connection.
 */
public interface Handler {
    CompletionStage<ApiMessage> handle(Request request, Session session);
}
