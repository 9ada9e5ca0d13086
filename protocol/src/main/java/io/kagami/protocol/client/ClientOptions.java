package io.kagami.protocol.client;

import java.time.Duration;
import java.util.List;

/**
 * How a client connects.
 *
 * @param bootstrapServers host:port, at least one
 * @param clientId as sent in every request header
 * @param requestTimeout from send to answer; then the connection is closed
 * @param connectTimeout from connect to the ApiVersions answer
 * @param receiveBufferBytes socket option; -1 leaves it to the system
 * @param frameBytesMax largest answer accepted; a larger one closes the connection with the sizes
 */
public record ClientOptions(
        List<String> bootstrapServers,
        String clientId,
        Duration requestTimeout,
        Duration connectTimeout,
        int receiveBufferBytes,
        int frameBytesMax) {}
