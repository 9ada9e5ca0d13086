package io.kagami.raft;

import io.kagami.raft.core.Message;

/** Port: carries messages to other voters. Never blocks, never throws; may lose, delay and reorder. Called on the raft loop. */
public interface Transport {
    void send(Message message);

    /** For a group of one, which has nobody to talk to. */
    static Transport none() {
        return message -> {
            throw new IllegalStateException("a sole voter has nobody to send " + message + " to");
        };
    }
}
