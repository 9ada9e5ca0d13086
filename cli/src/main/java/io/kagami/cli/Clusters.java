package io.kagami.cli;

import io.kagami.protocol.Transports;
import io.kagami.protocol.client.ClientOptions;
import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.NettyClusterClient;

/** Makes clients of clusters; tests put clusters of their own here. */
@FunctionalInterface
interface Clusters {
    ClusterClient client(ClientOptions options);

    /** One event loop for the whole short life of the shell; its thread is a daemon and ends with the process. */
    static Clusters overNetty() {
        return options -> new NettyClusterClient(options, Transports.newGroup(1, "shell"));
    }
}
