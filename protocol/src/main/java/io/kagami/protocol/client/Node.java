package io.kagami.protocol.client;

/** A broker's id and advertised address. */
public record Node(int id, String host, int port) {
    @Override
    public String toString() {
        return id + "@" + host + ":" + port;
    }
}
