package io.kagami.protocol.client;

/** Parses {@code host:port} and {@code [v6 address]:port}. */
final class HostPort {
    private static final int PORT_MAX = 65_535;

    private HostPort() {}

    /** An empty name would resolve to this very machine. */
    static boolean usable(String host, int port) {
        return host != null && !host.isBlank() && port > 0 && port <= PORT_MAX;
    }

    static Node parse(String server, int id) {
        String text = server.strip();
        int colon = text.lastIndexOf(':');
        if (colon <= 0 || colon == text.length() - 1) {
            throw bad(server);
        }
        String host = text.substring(0, colon);
        if (host.startsWith("[") && host.endsWith("]")) {
            host = host.substring(1, host.length() - 1);
        } else if (host.indexOf(':') >= 0) {
            throw bad(server);
        }
        try {
            int port = Integer.parseInt(text.substring(colon + 1));
            if (usable(host, port)) {
                return new Node(id, host, port);
            }
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(bad(server).getMessage(), e);
        }
        throw bad(server);
    }

    private static IllegalArgumentException bad(String server) {
        return new IllegalArgumentException("bootstrap server '" + server + "' is not host:port");
    }
}
