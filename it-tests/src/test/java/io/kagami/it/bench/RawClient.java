package io.kagami.it.bench;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Speaks to one broker of 127.0.0.1 over one blocking socket, with requests written by hand and batches never decoded: what it costs
 * is what the broker costs. ApiVersions v0, Metadata v4, ListOffsets v1, Fetch v4. One thread at a time.
 */
final class RawClient implements AutoCloseable {
    private static final short FETCH = 1;
    private static final short LIST_OFFSETS = 2;
    private static final short METADATA = 3;
    private static final short API_VERSIONS = 18;
    private static final short UNKNOWN_TOPIC = 3;
    private static final short NOT_LEADER = 6;
    private static final short LEADER_NOT_AVAILABLE = 5;
    private static final int HEADER_BYTES = 61;
    private static final int LENGTH_AT = 8;
    static final int CRC_AT = 17;
    static final int LAST_DELTA_AT = 23;
    private static final int COUNT_AT = 57;
    private static final int PREFIX_BYTES = 12;
    /** Thousands of these clients are alive at a time. */
    private static final int SMALL = 4 << 10;

    private static final int HEAD_BYTES = 64;
    private static final byte[] NAME = "bench".getBytes(StandardCharsets.UTF_8);

    private final SocketChannel channel;
    private ByteBuffer request = ByteBuffer.allocate(SMALL);
    private ByteBuffer answer = ByteBuffer.allocateDirect(SMALL);
    private int correlation;
    private int first;

    /** Is told of every whole batch, in order; the buffer must not be kept. */
    interface BatchSink {
        void batch(int partition, ByteBuffer buffer, int at, int length);
    }

    /** @param partitionBytes most bytes of one partition in an answer */
    record FetchLimits(int maxWaitMs, int answerBytes, int partitionBytes) {}

    /** What a fetch brought. */
    record Fetched(long bytes, long records) {}

    RawClient(int port) throws IOException {
        channel = SocketChannel.open();
        try {
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
            channel.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    /** True when a broker there answers Metadata and knows a broker: it is serving. */
    static boolean serves(int port) {
        try (RawClient client = new RawClient(port)) {
            client.begin(METADATA, (short) 4);
            client.request.putInt(0).put((byte) 0);
            ByteBuffer in = client.call();
            in.getInt();
            return in.getInt() > 0;
        } catch (IOException notYet) {
            return false;
        }
    }

    /** Sends one ApiVersions and does not wait for its answer. */
    void ask() throws IOException {
        begin(API_VERSIONS, (short) 0);
        send();
    }

    /** The answer to one {@link #ask}. */
    void listen() throws IOException {
        receive();
    }

    /** End of each partition, -1 while the topic or its leader is not there. */
    long[] ends(String topic, int partitions) throws IOException {
        return ends(List.of(topic), partitions);
    }

    /** Of topics of the same number of partitions, one after the other, in one request. */
    private long[] ends(List<String> topics, int partitions) throws IOException {
        int topicBytes = topics.stream().mapToInt(String::length).sum() + topics.size() * (Short.BYTES + Integer.BYTES);
        int room = HEAD_BYTES + topicBytes + topics.size() * partitions * (Integer.BYTES + Long.BYTES);
        if (request.capacity() < room) {
            request = ByteBuffer.allocate(room);
        }
        begin(LIST_OFFSETS, (short) 1);
        request.putInt(-1).putInt(topics.size());
        Map<String, Integer> places = new HashMap<>();
        for (String topic : topics) {
            places.put(topic, places.size() * partitions);
            string(topic);
            request.putInt(partitions);
            for (int p = 0; p < partitions; p++) {
                request.putInt(p).putLong(-1);
            }
        }
        ByteBuffer in = call();
        long[] ends = new long[topics.size() * partitions];
        Arrays.fill(ends, -1);
        int answered = in.getInt();
        for (int t = 0; t < answered; t++) {
            String topic = string(in);
            int place = places.get(topic);
            int count = in.getInt();
            for (int i = 0; i < count; i++) {
                int partition = in.getInt();
                short error = in.getShort();
                in.getLong();
                long offset = in.getLong();
                if (error == 0) {
                    ends[place + partition] = offset;
                } else if (error != UNKNOWN_TOPIC && error != NOT_LEADER && error != LEADER_NOT_AVAILABLE) {
                    throw new IOException("ListOffsets of " + topic + "-" + partition + ": error " + error);
                }
            }
        }
        return ends;
    }

    /** True when every partition of the topic has a leader that answers. */
    boolean serves(String topic, int partitions) {
        return serves(List.of(topic), partitions);
    }

    boolean serves(List<String> topics, int partitions) {
        try {
            return Arrays.stream(ends(topics, partitions)).allMatch(end -> end >= 0);
        } catch (IOException e) {
            throw new IllegalStateException("the broker cannot be asked for " + topics.get(0), e);
        }
    }

    /** Records in all partitions, as far as they are there. */
    long count(String topic, int partitions) throws IOException {
        return count(List.of(topic), partitions);
    }

    long count(List<String> topics, int partitions) throws IOException {
        return Arrays.stream(ends(topics, partitions)).filter(end -> end > 0).sum();
    }

    /** One Fetch of all partitions of a topic; moves {@code offsets} behind what came. */
    Fetched fetch(String topic, long[] offsets, FetchLimits limits, BatchSink sink) throws IOException {
        begin(FETCH, (short) 4);
        request.putInt(-1).putInt(limits.maxWaitMs()).putInt(1).putInt(limits.answerBytes());
        request.put((byte) 0).putInt(1);
        string(topic);
        request.putInt(offsets.length);
        // whoever comes first in a request is served first: take turns
        for (int i = 0; i < offsets.length; i++) {
            int p = (first + i) % offsets.length;
            request.putInt(p).putLong(offsets[p]).putInt(limits.partitionBytes());
        }
        first++;
        ByteBuffer in = call();
        in.getInt();
        long bytes = 0;
        long records = 0;
        int topics = in.getInt();
        for (int t = 0; t < topics; t++) {
            string(in);
            int count = in.getInt();
            for (int i = 0; i < count; i++) {
                int partition = in.getInt();
                short error = in.getShort();
                if (error != 0) {
                    throw new IOException("Fetch of " + topic + "-" + partition + ": error " + error);
                }
                in.position(in.position() + Long.BYTES + Long.BYTES);
                int aborted = in.getInt();
                in.position(in.position() + Math.max(0, aborted) * (Long.BYTES + Long.BYTES));
                int length = Math.max(0, in.getInt());
                bytes += length;
                records += walk(in, length, partition, offsets, sink);
            }
        }
        return new Fetched(bytes, records);
    }

    private static long walk(ByteBuffer in, int length, int partition, long[] offsets, BatchSink sink) {
        int at = in.position();
        int end = at + length;
        long records = 0;
        while (at + HEADER_BYTES <= end) {
            int size = in.getInt(at + LENGTH_AT) + PREFIX_BYTES;
            if (at + size > end) {
                break; // the beginning of one more
            }
            offsets[partition] = in.getLong(at) + in.getInt(at + LAST_DELTA_AT) + 1;
            records += in.getInt(at + COUNT_AT);
            sink.batch(partition, in, at, size);
            at += size;
        }
        in.position(end);
        return records;
    }

    private void begin(short api, short version) {
        request.clear();
        request.putInt(0).putShort(api).putShort(version).putInt(++correlation);
        request.putShort((short) NAME.length).put(NAME);
    }

    private ByteBuffer call() throws IOException {
        send();
        return receive();
    }

    private void send() throws IOException {
        request.putInt(0, request.position() - Integer.BYTES);
        request.flip();
        while (request.hasRemaining()) {
            channel.write(request);
        }
    }

    private ByteBuffer receive() throws IOException {
        fill(Integer.BYTES);
        int size = answer.getInt();
        fill(size);
        answer.getInt(); // correlation id: one request is under way at a time
        return answer;
    }

    private void fill(int bytes) throws IOException {
        if (answer.capacity() < bytes) {
            answer = ByteBuffer.allocateDirect(Math.max(bytes, Math.min(answer.capacity() * 2, 64 << 20)));
        }
        answer.clear().limit(bytes);
        while (answer.hasRemaining()) {
            if (channel.read(answer) < 0) {
                throw new EOFException("the broker closed the connection");
            }
        }
        answer.flip();
    }

    private void string(String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        request.putShort((short) bytes.length).put(bytes);
    }

    private static String string(ByteBuffer in) {
        byte[] bytes = new byte[in.getShort()];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    @Override
    public void close() throws IOException {
        channel.close();
    }
}
