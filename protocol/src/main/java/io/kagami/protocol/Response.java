package io.kagami.protocol;

import org.apache.kafka.common.protocol.ApiMessage;

/**
 * The answer to one request, written to the channel in the order of the requests.
 *
 * @param request what is answered; only its header is used, so its frame may be released before the answer is written
 * @param body null means that no bytes are sent (Produce with acks=0)
 */
public record Response(Request request, ApiMessage body) {}
