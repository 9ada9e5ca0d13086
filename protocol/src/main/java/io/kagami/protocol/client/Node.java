package io.kagami.protocol.client;

/** A broker's id and advertised address; a bootstrap server, whose id is not known yet, has a negative one. */
public record Node(int id, String host, int port) {
    @Override
    public String toString() {
        return (id < 0 ? "" : id + "@") + host + ":" + port;
    }
}
