package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.Admin;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Whatever comes in at the port: one clear log line, a closed connection, and the server serves on, in 256 MiB of heap. */
class GarbageIT {
    private static final int HALF_OPEN = 1_000;
    private static final int CLOSE_TIMEOUT_MS = 15_000;

    private static KagamiProcess kagami;

    @BeforeAll
    static void start() {
        kagami = KagamiProcess.start("garbage");
        try (Admin admin = Fill.admin(kagami.bootstrap())) {
            Fill.get(admin.describeCluster().nodes().toCompletionStage().toCompletableFuture());
        }
    }

    @AfterAll
    static void stop() {
        if (kagami != null) {
            kagami.close();
        }
    }

    @AfterEach
    void theServerServesOn() {
        assertThat(kagami.httpStatus("/health/live")).isEqualTo(200);
        try (RawKafka raw = new RawKafka(kagami.bootstrap())) {
            assertThat(raw.metadata("nobody-has-this").brokers()).hasSize(1);
        }
        assertThat(kagami.alarms()).isEmpty();
    }

    /** What is sent, and words of which one must be in the one log line about it. */
    static final class Input {
        private final String name;
        private final byte[] bytes;
        private final List<String> words;

        Input(String name, byte[] bytes, String... words) {
            this.name = name;
            this.bytes = bytes;
            this.words = List.of(words);
        }

        @Override
        public String toString() {
            return name;
        }
    }

    static Stream<Input> inputs() {
        return Stream.of(
                new Input("random bytes", random(4_096), "length", "frame", "size"),
                new Input("tls client hello", tlsClientHello(), "length", "frame", "tls", "size"),
                new Input(
                        "http request",
                        ascii("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
                        "length",
                        "frame",
                        "http",
                        "size"),
                new Input("length of two gibibytes", ints(0x7fffffff), "2147483647"),
                new Input("negative length", ints(-5), "-5"),
                new Input("zero length", ints(0), "0"),
                new Input("one mebibyte of zeros", new byte[1 << 20], "length", "frame", "header", "size"),
                new Input("api key 999", request(999, 0, new byte[0]), "999"),
                new Input("metadata of version 99", request(3, 99, new byte[0]), "99"),
                // v9 is compact: 5 bytes of varint for 2^32-1, that is 2^32-2 topics
                new Input(
                        "metadata with too many topics compact",
                        request(3, 9, new byte[] {0, -1, -1, -1, -1, 15}),
                        "metadata"),
                new Input("metadata with too many topics", request(3, 4, ints(0x7fffffff)), "metadata"),
                new Input("produce with minus two partitions", produceWithPartitions(-2), "produce"),
                new Input("produce with too many partitions", produceWithPartitions(0x7fffffff), "produce"),
                new Input("fetch with too many topics", fetchWithTopics(0x7fffffff), "fetch"),
                new Input(
                        "string longer than the frame",
                        request(3, 4, new byte[] {0, 0, 0, 1, 0x7f, -1, 'x'}),
                        "metadata"),
                new Input(
                        "client id longer than the frame",
                        frame(new byte[] {0, 3, 0, 4, 0, 0, 0, 1, 0x7f, -1, 'x'}),
                        "header",
                        "metadata"));
    }

    @ParameterizedTest
    @MethodSource("inputs")
    void badInputClosesTheConnectionWithOneClearLogLine(Input input) throws IOException {
        List<String> before = complaints();
        String peer;
        try (Socket socket = connect()) {
            peer = "" + socket.getLocalPort();
            send(socket, input.bytes);
            assertThat(closedByPeer(socket)).as("the connection is closed").isTrue();
        }
        Eventually.succeeds(
                Duration.ofSeconds(10), () -> assertThat(newComplaints(before)).isNotEmpty());
        assertThat(newComplaints(before))
                .singleElement()
                .satisfies(line -> assertThat(line).contains(peer))
                .satisfies(line -> assertThat(input.words)
                        .as("words of %s", line)
                        .anyMatch(line.toLowerCase(Locale.ROOT)::contains));
    }

    @Test
    void anUnknownVersionOfApiVersionsIsAnsweredInTheOldestFormat() throws IOException {
        try (Socket socket = connect()) {
            send(socket, request(18, 99, new byte[] {0}));
            DataInputStream in = new DataInputStream(socket.getInputStream());
            byte[] answer = new byte[in.readInt()];
            in.readFully(answer);
            ByteBuffer body = ByteBuffer.wrap(answer);
            assertThat(body.getInt()).as("correlation id").isEqualTo(1);
            assertThat(body.getShort()).as("UNSUPPORTED_VERSION").isEqualTo((short) 35);
            assertThat(body.getInt()).as("entries").isEqualTo(1);
            assertThat(body.getShort()).as("the key of ApiVersions").isEqualTo((short) 18);
        }
    }

    @Test
    void aTruncatedFrameThenTheEndIsForgotten() throws IOException {
        for (int i = 0; i < 50; i++) {
            try (Socket socket = connect()) {
                byte[] whole = request(3, 4, ints(-1));
                send(socket, Arrays.copyOf(whole, 1 + i % (whole.length - 1)));
            }
        }
    }

    @Test
    void aThousandHalfOpenConnectionsWithPromisedMebibytesCostNothing() throws IOException {
        List<Socket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < HALF_OPEN; i++) {
                Socket socket = connect();
                sockets.add(socket);
                // the length of the largest frame allowed, and then hardly anything
                send(socket, concat(ints(100 << 20), new byte[] {0, 3}));
            }
            theServerServesOn();
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }

    @Test
    void answersThatNobodyReadsDoNotPileUp() throws IOException {
        Thread writer;
        try (Socket socket = connect()) {
            byte[] one = request(3, 4, ints(-1));
            ByteArrayOutputStream many = new ByteArrayOutputStream();
            for (int i = 0; i < 20_000; i++) {
                many.write(one);
            }
            writer = new Thread(() -> writeUntilClosed(socket, many.toByteArray()), "never-reads");
            writer.start();
            theServerServesOn();
        }
        joined(writer);
    }

    private static void writeUntilClosed(Socket socket, byte[] bytes) {
        try {
            socket.getOutputStream().write(bytes);
        } catch (IOException expected) {
            // the test closes the socket while this still writes: that is its end
            assertThat(socket.isClosed()).isTrue();
        }
    }

    private static void joined(Thread thread) {
        try {
            thread.join(10_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        assertThat(thread.isAlive()).isFalse();
    }

    private static List<String> complaints() {
        return kagami.logText()
                .lines()
                .filter(l -> l.contains("WARN") || l.contains("ERROR"))
                .toList();
    }

    private static List<String> newComplaints(List<String> before) {
        List<String> now = complaints();
        return now.subList(before.size(), now.size());
    }

    private static Socket connect() throws IOException {
        Socket socket = new Socket();
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), kagami.port()), CLOSE_TIMEOUT_MS);
        socket.setSoTimeout(CLOSE_TIMEOUT_MS);
        return socket;
    }

    private static void send(Socket socket, byte[] bytes) throws IOException {
        try {
            socket.getOutputStream().write(bytes);
            socket.getOutputStream().flush();
        } catch (IOException closedMeanwhile) {
            // a server that refuses the first bytes may close before the last ones are sent
            assertThat(bytes.length).isGreaterThan(1_000);
        }
    }

    /** True when the peer ends the connection, in whichever way; false when it says nothing until the time-out. */
    private static boolean closedByPeer(Socket socket) {
        try {
            int read = socket.getInputStream().read();
            assertThat(read).as("nothing is answered").isEqualTo(-1);
            return true;
        } catch (SocketTimeoutException e) {
            return false;
        } catch (IOException reset) {
            return true;
        }
    }

    private static byte[] random(int size) {
        byte[] bytes = new byte[size];
        new Random(42).nextBytes(bytes);
        // 1.6 GiB when read as a length, so that it is refused at once
        bytes[0] = 0x66;
        return bytes;
    }

    private static byte[] ascii(String text) {
        return Fill.bytes(text);
    }

    private static byte[] ints(int... values) {
        ByteBuffer bytes = ByteBuffer.wrap(new byte[4 * values.length]);
        for (int value : values) {
            bytes.putInt(value);
        }
        return bytes.array();
    }

    private static byte[] concat(byte[] a, byte[] b) {
        byte[] both = Arrays.copyOf(a, a.length + b.length);
        System.arraycopy(b, 0, both, a.length, b.length);
        return both;
    }

    private static byte[] frame(byte[] content) {
        return concat(ints(content.length), content);
    }

    /** A request with header v1 and client id null. */
    private static byte[] request(int key, int version, byte[] body) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (DataOutputStream out = new DataOutputStream(bytes)) {
            out.writeShort(key);
            out.writeShort(version);
            out.writeInt(1);
            out.writeShort(-1);
            // flexible headers have tagged fields
            if ((key == 3 && version >= 9) || (key == 18 && version >= 3)) {
                out.writeByte(0);
            }
            out.write(body);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return frame(bytes.toByteArray());
    }

    private static byte[] produceWithPartitions(int count) {
        // v3: transactional id null, acks 1, timeout, one topic "t"
        byte[] head = concat(new byte[] {-1, -1, 0, 1}, ints(1_000, 1));
        return request(0, 3, concat(concat(head, new byte[] {0, 1, 't'}), ints(count)));
    }

    private static byte[] fetchWithTopics(int count) {
        // v4: replica id, max wait, min bytes, max bytes, isolation, topics
        return request(1, 4, concat(concat(ints(-1, 100, 1, 1_000), new byte[] {0}), ints(count)));
    }

    private static byte[] tlsClientHello() {
        byte[] hello = random(517);
        byte[] start = {0x16, 3, 1, 2, 0, 1, 0, 1, -4, 3, 3};
        System.arraycopy(start, 0, hello, 0, start.length);
        return hello;
    }
}
