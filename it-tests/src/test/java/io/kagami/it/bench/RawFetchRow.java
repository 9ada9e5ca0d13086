package io.kagami.it.bench;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** How fast a client that discards gets a topic, and how fast the kernel would send a file of the same size. */
record RawFetchRow(String codec) implements Row {
    private static final RawClient.FetchLimits LIMITS = new RawClient.FetchLimits(500, 16 << 20, 4 << 20);
    private static final int CHUNK = 1 << 20;

    @Override
    public String name() {
        return "rawfetch-" + codec;
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.KAFKA, Systems.SENDFILE);
    }

    @Override
    public boolean ofTargets() {
        return codec.equals("none");
    }

    @Override
    public List<String> traits() {
        return List.of(codec, Integer.toString(Pair.PARTITIONS));
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        Pair pair = lab.pair();
        if (pair.cold(name())) {
            for (String each : systems()) {
                read(each, lab, pair);
            }
        }
        return read(system, lab, pair);
    }

    private Map<String, Double> read(String system, Lab lab, Pair pair) throws Exception {
        if (system.equals(Systems.SENDFILE)) {
            return sendfile(lab);
        }
        String topic = pair.filled(system, codec);
        Machine.settle();
        try (RawClient client = new RawClient(pair.port(system))) {
            long[] ends = client.ends(topic, Pair.PARTITIONS);
            long[] next = new long[Pair.PARTITIONS];
            double cpu = ProcessUse.cpuSeconds(pair.pid(system));
            long began = System.nanoTime();
            long bytes = 0;
            long records = 0;
            while (behind(next, ends)) {
                RawClient.Fetched fetched = client.fetch(topic, next, LIMITS, (partition, buffer, at, length) -> {});
                bytes += fetched.bytes();
                records += fetched.records();
            }
            double seconds = Wait.secondsSince(began);
            return ProduceRow.figures(bytes, records, seconds, ProcessUse.cpuSeconds(pair.pid(system)) - cpu);
        }
    }

    private static boolean behind(long[] next, long[] ends) {
        for (int p = 0; p < next.length; p++) {
            if (next[p] < ends[p]) {
                return true;
            }
        }
        return false;
    }

    private static Map<String, Double> sendfile(Lab lab) throws Exception {
        Path file = lab.dir("sendfile.data");
        long size = (long) lab.options().brokerMiB() << 20;
        if (!Files.exists(file) || Files.size(file) != size) {
            write(file, size);
        }
        Machine.settle();
        try (ServerSocketChannel server = ServerSocketChannel.open()) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            CompletableFuture<Void> sent = CompletableFuture.runAsync(() -> send(server, file, size));
            try (SocketChannel in = SocketChannel.open(server.getLocalAddress())) {
                ByteBuffer buffer = ByteBuffer.allocateDirect(CHUNK);
                long began = System.nanoTime();
                long got = 0;
                for (int n = in.read(buffer); n >= 0; n = in.read(buffer)) {
                    got += n;
                    buffer.clear();
                }
                double seconds = Wait.secondsSince(began);
                sent.get();
                if (got != size) {
                    throw new IllegalStateException(got + " of " + size + " bytes came");
                }
                return Map.of("MB/s", size / 1e6 / seconds, "measured s", seconds);
            }
        }
    }

    private static void write(Path file, long size) throws IOException {
        try (FileChannel out = FileChannel.open(
                file, StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING, StandardOpenOption.WRITE)) {
            ByteBuffer chunk = ByteBuffer.allocateDirect(CHUNK);
            for (long written = 0; written < size; ) {
                chunk.clear();
                written += out.write(chunk);
            }
            out.force(true);
        }
    }

    private static void send(ServerSocketChannel server, Path file, long size) {
        try (SocketChannel out = server.accept();
                FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
            for (long at = 0; at < size; ) {
                at += in.transferTo(at, Math.min(CHUNK, size - at), out);
            }
        } catch (IOException e) {
            throw new IllegalStateException("cannot send " + file, e);
        }
    }
}
