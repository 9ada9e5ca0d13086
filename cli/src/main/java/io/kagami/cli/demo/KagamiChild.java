package io.kagami.cli.demo;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalInt;
import java.util.Random;

/** A Kagami server of this distribution as a child process on free ports of 127.0.0.1. */
final class KagamiChild implements AutoCloseable {
    private static final int START_ATTEMPTS = 5;
    private static final int READY_ROUNDS_MAX = 300;
    private static final long STOP_TIMEOUT_MS = 20_000;

    private final ChildJvm process;
    private final int port;
    private final int metricsPort;

    private KagamiChild(ChildJvm process, int port, int metricsPort) {
        this.process = process;
        this.port = port;
        this.metricsPort = metricsPort;
    }

    /** Starts the server and waits until it answers. */
    static KagamiChild start(Path home, Path dir) {
        Random random = new Random();
        for (int attempt = 1; ; attempt++) {
            List<Integer> ports = FreePorts.find(2, random);
            KagamiChild child = spawn(home, dir, ports.get(0), ports.get(1));
            try {
                child.awaitReady();
                return child;
            } catch (DemoFailed e) {
                child.close();
                boolean taken = ChildJvm.tail(child.log(), 40).contains("Address already in use");
                if (!taken || attempt == START_ATTEMPTS) {
                    throw e;
                }
            }
        }
    }

    private static KagamiChild spawn(Path home, Path dir, int port, int metricsPort) {
        Path config = dir.resolve("kagami.properties");
        try {
            Files.createDirectories(dir);
            Files.writeString(
                    config,
                    String.join(
                            "\n",
                            "# the server of the demo",
                            "node.id=1",
                            "listeners=PLAINTEXT://127.0.0.1:" + port,
                            "metrics.listener=http://127.0.0.1:" + metricsPort,
                            "log.dirs=" + dir.resolve("data"),
                            "auto.create.topics.enable=false",
                            "mirror.metadata.refresh.interval.ms=5000",
                            ""));
        } catch (IOException e) {
            throw new DemoFailed("Cannot write " + config + ": " + e.getMessage(), e);
        }
        List<String> command =
                List.of(home.resolve("bin").resolve("kagami").toString(), "server", "--config", config.toString());
        return new KagamiChild(ChildJvm.start("Kagami", command, dir.resolve("kagami.log")), port, metricsPort);
    }

    private void awaitReady() {
        for (int round = 0; round < READY_ROUNDS_MAX; round++) {
            OptionalInt brokers = RawProbe.brokers(port);
            if (!process.alive()) {
                throw new DemoFailed(
                        "Kagami ended while starting; the end of " + log() + ":\n" + ChildJvm.tail(log(), 20));
            }
            if (brokers.isPresent() && brokers.getAsInt() > 0) {
                return;
            }
            SourceWriter.pause();
        }
        throw new DemoFailed("Kagami was not ready in time; the end of " + log() + ":\n" + ChildJvm.tail(log(), 20));
    }

    String bootstrap() {
        return "127.0.0.1:" + port;
    }

    String metrics() {
        return "http://127.0.0.1:" + metricsPort + "/metrics";
    }

    boolean alive() {
        return process.alive();
    }

    Path log() {
        return process.log();
    }

    @Override
    public void close() {
        if (process.alive()) {
            process.stop(STOP_TIMEOUT_MS);
        } else {
            process.close();
        }
    }
}
