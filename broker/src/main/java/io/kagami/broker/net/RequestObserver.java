package io.kagami.broker.net;

import io.kagami.protocol.Api;

/** Port for counting; called on I/O threads, must not block. */
public interface RequestObserver {
    RequestObserver NONE = new RequestObserver() {};

    /** @param nanos from the complete frame to the answer handed to the socket */
    default void answered(Api api, long nanos) {}

    default void failed(Api api) {}

    default void received(long bytes) {}

    default void sent(long bytes) {}

    /** @param change +1 or -1 */
    default void connections(int change) {}

    default void refusedConnection() {}
}
