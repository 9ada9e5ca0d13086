package io.kagami.cli.demo;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;
import java.util.random.RandomGenerator;

/**
 * Finds TCP ports of 127.0.0.1 on which nothing listens. They lie below the kernel's ephemeral range, so that no client's own
 * connection takes one before the server that was meant to have it has started; somebody else's server still may, hence callers retry.
 */
final class FreePorts {
    private static final int LOWEST = 16_000;
    /** Linux hands out ephemeral ports from 32768 on. */
    private static final int HIGHEST = 32_700;

    private FreePorts() {}

    /** That many different free ports, the search beginning at a random place. */
    static List<Integer> find(int count, RandomGenerator random) {
        List<Integer> found = new ArrayList<>();
        int span = HIGHEST - LOWEST;
        int start = random.nextInt(span);
        for (int step = 0; step < span && found.size() < count; step++) {
            int port = LOWEST + (start + step) % span;
            if (isFree(port)) {
                found.add(port);
            }
        }
        if (found.size() < count) {
            throw new DemoFailed("Only " + found.size() + " of " + count + " ports are free between " + LOWEST + " and "
                    + HIGHEST + " on 127.0.0.1. Stop what listens there and try again.");
        }
        return found;
    }

    static boolean isFree(int port) {
        try (ServerSocket probe = new ServerSocket()) {
            probe.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
            return true;
        } catch (IOException taken) {
            return false;
        }
    }
}
