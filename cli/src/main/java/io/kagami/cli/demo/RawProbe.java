package io.kagami.cli.demo;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.util.OptionalInt;

/**
 * Asks a broker of 127.0.0.1 how many brokers it knows, with a Metadata v4 request written by hand: the one version that every
 * Kafka from 2.1 to today speaks, and nothing of the code under test is needed to ask it.
 */
final class RawProbe {
    private static final int TIMEOUT_MS = 2_000;
    private static final int ANSWER_BYTES_MAX = 1 << 20;

    private RawProbe() {}

    /** Brokers in the cluster as this broker sees it; empty when it does not answer, or knows no controller yet. */
    static OptionalInt brokers(int port) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), TIMEOUT_MS);
            socket.setSoTimeout(TIMEOUT_MS);
            DataOutputStream out = new DataOutputStream(socket.getOutputStream());
            byte[] request = request();
            out.writeInt(request.length);
            out.write(request);
            out.flush();
            return answer(new DataInputStream(socket.getInputStream()));
        } catch (IOException notYet) {
            return OptionalInt.empty();
        }
    }

    private static byte[] request() throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeShort(3); // Metadata
        out.writeShort(4);
        out.writeInt(1); // correlation id
        out.writeShort(-1); // no client id
        out.writeInt(0); // no topics, brokers only
        out.writeBoolean(false); // create nothing
        return bytes.toByteArray();
    }

    private static OptionalInt answer(DataInputStream in) throws IOException {
        int size = in.readInt();
        if (size < 0 || size > ANSWER_BYTES_MAX || in.readInt() != 1) {
            return OptionalInt.empty();
        }
        in.readInt(); // throttle time
        int count = in.readInt();
        for (int i = 0; i < count; i++) {
            in.readInt(); // id
            skipString(in); // host
            in.readInt(); // port
            skipString(in); // rack
        }
        skipString(in); // cluster id
        int controller = in.readInt();
        return controller < 0 ? OptionalInt.empty() : OptionalInt.of(count);
    }

    private static void skipString(DataInputStream in) throws IOException {
        int length = in.readShort();
        if (length > 0) {
            in.readFully(new byte[length]);
        }
    }
}
