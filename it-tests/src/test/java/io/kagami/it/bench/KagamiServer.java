package io.kagami.it.bench;

import io.kagami.cli.wire.Wire;
import io.kagami.it.Checkout;
import io.kagami.it.Ports;
import io.kagami.protocol.MirrorMessages.CreateClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.MirrorResponse;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.Transports;
import io.kagami.protocol.client.ClientOptions;
import io.kagami.protocol.client.NettyClusterClient;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Kagami as a user runs it: its distribution's launcher, in a process of its own, with the launcher's heap. */
final class KagamiServer implements AutoCloseable {
    private static final Duration START = Duration.ofMinutes(1);
    private static final Duration LOOK = Duration.ofMillis(2);
    private static final int FRAME_MAX = 100 << 20;

    private final Path dir;
    private final Options options;
    private final String label;
    private final String heap;
    private final int port = Ports.free();
    private Child child;

    private KagamiServer(Path dir, Options options, String label, String heap) {
        this.dir = dir;
        this.options = options;
        this.label = label;
        this.heap = heap;
    }

    /**
     * Starts an empty one and waits until it serves.
     *
     * @param label names its flight recording
     */
    static KagamiServer start(Path dir, Options options, String label) throws IOException {
        return start(dir, options, label, options.heap());
    }

    /** @param heap null = the launcher's default */
    static KagamiServer start(Path dir, Options options, String label, String heap) throws IOException {
        KagamiServer server = new KagamiServer(Directories.fresh(dir), options, label, heap);
        server.writeConfig();
        server.spawn();
        server.awaitServing();
        return server;
    }

    private void writeConfig() throws IOException {
        Map<String, String> config = new LinkedHashMap<>();
        config.put("node.id", "1");
        config.put("listeners", "PLAINTEXT://127.0.0.1:" + port);
        config.put("log.dirs", dir.resolve("data").toString());
        config.put("metrics.listener", "");
        config.put("auto.create.topics.enable", "false");
        Files.write(
                dir.resolve("kagami.properties"),
                config.entrySet().stream()
                        .map(e -> e.getKey() + "=" + e.getValue())
                        .toList());
    }

    void spawn() throws IOException {
        Path program = Checkout.distribution().resolve("bin/kagami");
        Map<String, String> environment = new LinkedHashMap<>();
        if (heap != null) {
            environment.put("KAGAMI_HEAP_OPTS", "-Xms" + heap + " -Xmx" + heap);
        }
        if (options.profile()) {
            Path profiles = Files.createDirectories(options.dir().resolve("profiles"));
            environment.put(
                    "KAGAMI_JVM_OPTS",
                    "-XX:StartFlightRecording=settings=profile,dumponexit=true,filename="
                            + profiles.resolve(label + ".jfr"));
        }
        child = Child.start(
                "Kagami",
                List.of(
                        program.toString(),
                        "server",
                        "--config",
                        dir.resolve("kagami.properties").toString()),
                environment,
                dir.resolve("kagami.log"));
    }

    void awaitServing() {
        Wait.until("Kagami serves", START, LOOK, () -> {
            child.requireAlive();
            return RawClient.serves(port);
        });
    }

    int port() {
        return port;
    }

    String bootstrap() {
        return "127.0.0.1:" + port;
    }

    long pid() {
        return child.pid();
    }

    /** Creates a mirror that takes every topic of that pattern; returns when Kagami has agreed. */
    void mirror(String sourceBootstrap, String topics) {
        ClientOptions client = new ClientOptions(
                List.of(bootstrap()), "bench", Duration.ofMinutes(1), Duration.ofSeconds(10), -1, FRAME_MAX);
        try (Wire wire = new Wire(new NettyClusterClient(client, Transports.newGroup(1, "bench")), client, null)) {
            MirrorResponse response = wire.mirrors(
                    PrivateApi.CREATE_CLUSTER_MIRROR,
                    new CreateClusterMirrorRequest(
                            "bench", Map.of("bootstrap.servers", sourceBootstrap, "topics.include", topics)),
                    MirrorResponse.class);
            if (response.errorCode() != 0) {
                throw new IllegalStateException("Kagami refused the mirror: " + response.errorMessage());
            }
        }
    }

    /** SIGKILL and, at once, a new process on the same data. */
    void killAndSpawn() throws IOException {
        child.kill();
        spawn();
    }

    /** Stops it and removes its data. */
    @Override
    public void close() throws IOException {
        child.close();
        Directories.remove(dir.resolve("data"));
    }
}
