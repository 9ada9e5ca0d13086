package io.kagami.it;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.ThreadLocalRandom;

/** Free ports of 127.0.0.1, below the ephemeral range so that no client's own connection takes one between two starts. */
public final class Ports {
    private static final int LOWEST = 25_000;
    private static final int COUNT = 1_000;
    private static int next = ThreadLocalRandom.current().nextInt(COUNT);

    private Ports() {}

    public static synchronized int free() {
        for (int tries = 0; tries < COUNT; tries++) {
            int port = LOWEST + next++ % COUNT;
            if (nothingListensOn(port)) {
                return port;
            }
        }
        throw new IllegalStateException("no port of " + LOWEST + " to " + (LOWEST + COUNT - 1) + " is free");
    }

    private static boolean nothingListensOn(int port) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}
