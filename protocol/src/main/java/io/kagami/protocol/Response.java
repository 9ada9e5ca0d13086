package io.kagami.protocol;

import io.kagami.protocol.codec.SliceRecords;
import org.apache.kafka.common.protocol.ApiMessage;

/**
 * The answer to one request, written to the channel in the order of the requests. File ranges in the body belong to the channel once
 * it is written, but a channel that has closed never sees it: whoever writes calls {@link #discard} when the write fails.
 *
 * @param request what is answered; only its header is used, so its frame may be released before the answer is written
 * @param body null means that no bytes are sent (Produce with acks=0)
 */
public record Response(Request request, ApiMessage body) {
    /** Returns the leases of file ranges that were not sent; harmless for those that were, and when called again. */
    public void discard() {
        if (body != null) {
            SliceRecords.releaseAll(body);
        }
    }
}
