package io.kagami.cli.demo;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A real Apache Kafka cluster of one version: its brokers (and, before 3.0, its ZooKeeper) run from the published jars as child
 * JVMs on 127.0.0.1. Nodes are numbered from 1. All methods block and are to be called from one thread; the children end with this JVM.
 */
public final class ForkedKafka implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(ForkedKafka.class);

    private static final long READY_TIMEOUT_MS = 120_000;
    private static final long STOP_TIMEOUT_MS = 60_000;
    private static final long TOOL_TIMEOUT_MS = 300_000;
    private static final long POLL_MS = 100;
    private static final int START_ATTEMPTS = 5;
    private static final int ZOOKEEPER_SESSION_MS = 3_000;

    /**
     * What to start.
     *
     * @param version one of {@link KafkaJars#VERSIONS}
     * @param brokers 1 or more; from 3 on the first three are controllers too, else the first alone
     * @param dir receives data, logs and configuration; existing data of the same layout is used again
     * @param props into every broker's properties; a key {@code node2:x} goes into that node's only
     * @param heap of each broker, such as {@code 512m}
     */
    public record Options(String version, int brokers, Path dir, Map<String, String> props, String heap) {
        public Options {
            if (brokers < 1) {
                throw new IllegalArgumentException("a cluster needs a broker, not " + brokers);
            }
            props = Map.copyOf(props);
        }

        public static Options of(String version, Path dir) {
            return new Options(version, 1, dir, Map.of(), "512m");
        }
    }

    private final Options options;
    private final List<String> classPath;
    private final KafkaFiles files;
    private final ChildJvm[] nodes;
    private final long[] killedAtNanos;
    private List<Integer> ports = List.of();
    private ChildJvm zookeeper;

    private ForkedKafka(Options options, List<String> classPath) {
        this.options = options;
        this.classPath = classPath;
        this.files = new KafkaFiles(options);
        this.nodes = new ChildJvm[options.brokers()];
        this.killedAtNanos = new long[options.brokers()];
    }

    /**
     * Starts the cluster and waits until every broker sees all brokers.
     *
     * @throws DemoFailed when a child dies or is not ready in time; carries the end of its log
     */
    public static ForkedKafka start(Options options) {
        List<String> classPath = KafkaJars.classPath(options.version(), line -> LOG.info("{}", line));
        ForkedKafka kafka = new ForkedKafka(options, classPath);
        Random random = new Random();
        for (int attempt = 1; ; attempt++) {
            try {
                kafka.startOn(FreePorts.find(2 * options.brokers() + 1, random));
                return kafka;
            } catch (PortTaken e) {
                kafka.close();
                if (attempt == START_ATTEMPTS) {
                    throw e;
                }
                LOG.info("a port was taken while Kafka {} started, trying others", options.version());
            } catch (IOException e) {
                kafka.close();
                throw new UncheckedIOException("Cannot prepare Kafka in " + options.dir(), e);
            } catch (RuntimeException e) {
                kafka.close();
                throw e;
            }
        }
    }

    /** host:port of every broker, whether it runs or not. */
    public String bootstrap() {
        return IntStream.rangeClosed(1, brokers())
                .mapToObj(node -> "127.0.0.1:" + port(node))
                .collect(Collectors.joining(","));
    }

    public int brokers() {
        return options.brokers();
    }

    public String version() {
        return options.version();
    }

    public int port(int node) {
        return ports.get(node - 1);
    }

    /** The handle of a node's last process. */
    public ProcessHandle process(int node) {
        return child(node).handle();
    }

    public boolean running(int node) {
        return nodes[node - 1] != null && nodes[node - 1].alive();
    }

    /** What the node printed, over all its starts. */
    public Path logOf(int node) {
        return files.log("node" + node);
    }

    /** Where the node keeps its partitions. */
    public Path dataOf(int node) {
        return files.data(node);
    }

    public List<String> classPath() {
        return classPath;
    }

    /** SIGTERM, and waits until the node has ended. */
    public void stop(int node) {
        child(node).stop(STOP_TIMEOUT_MS);
    }

    /** SIGKILL, and waits until the node has ended. */
    public void kill(int node) {
        child(node).kill();
        killedAtNanos[node - 1] = System.nanoTime();
    }

    /** Starts a stopped or killed node again on its data and port, and waits until it answers. */
    public void resume(int node) {
        if (running(node)) {
            return;
        }
        if (zookeeper != null && killedAtNanos[node - 1] != 0) {
            // the new process dies on the node registration of the old one until ZooKeeper has expired its session
            long sinceMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - killedAtNanos[node - 1]);
            pause(Math.max(0, 2L * ZOOKEEPER_SESSION_MS - sinceMs));
        }
        killedAtNanos[node - 1] = 0;
        spawn(node);
        awaitReady(node, 1);
    }

    /**
     * Runs a command-line tool of this Kafka version.
     *
     * @param stdout receives the tool's output; its errors go beside it, with {@code .err} appended to the name
     * @return the exit code
     */
    public int runTool(String mainClass, List<String> args, Path stdout) {
        List<String> command = ChildJvm.java(files.jvmOptions("512m", "-tool"), classPath, mainClass, args);
        try {
            Path absolute = stdout.toAbsolutePath();
            Files.createDirectories(absolute.getParent());
            Path errors = absolute.resolveSibling(absolute.getFileName() + ".err");
            return ChildJvm.run(mainClass, command, absolute, errors, TOOL_TIMEOUT_MS);
        } catch (IOException e) {
            throw new UncheckedIOException("Cannot run " + mainClass + " with its output in " + stdout, e);
        }
    }

    /** Stops every node cleanly, then ZooKeeper. */
    @Override
    public void close() {
        // all at once: a KRaft node that stops alone waits for the quorum
        for (ChildJvm node : nodes) {
            if (node != null && node.alive()) {
                node.handle().destroy();
            }
        }
        for (ChildJvm node : nodes) {
            if (node != null) {
                node.close();
            }
        }
        if (zookeeper != null) {
            zookeeper.close();
        }
    }

    private void startOn(List<Integer> free) throws IOException {
        int n = brokers();
        ports = List.copyOf(free.subList(0, n));
        List<Integer> controllers = free.subList(n, 2 * n);
        int zookeeperPort = free.get(2 * n);
        files.write(ports, controllers, zookeeperPort);
        if (files.kraft()) {
            format();
        } else {
            startZookeeper(zookeeperPort);
        }
        IntStream.rangeClosed(1, n).forEach(this::spawn);
        for (int node = 1; node <= n; node++) {
            awaitReady(node, n);
        }
        LOG.info("Kafka {} runs at {}, data in {}", options.version(), bootstrap(), options.dir());
    }

    private void format() throws IOException {
        String clusterId = files.clusterId(ForkedKafka::newClusterId);
        List<ChildJvm> formats = new ArrayList<>();
        for (int node = 1; node <= brokers(); node++) {
            if (Files.exists(files.data(node).resolve("meta.properties"))) {
                continue;
            }
            List<String> args = List.of(
                    "format", "-t", clusterId, "-c", files.properties(node).toString());
            formats.add(ChildJvm.start(
                    "format of node " + node,
                    ChildJvm.java(files.jvmOptions("256m", "-tool"), classPath, "kafka.tools.StorageTool", args),
                    files.log("format" + node)));
        }
        for (ChildJvm format : formats) {
            if (format.exitCode(READY_TIMEOUT_MS) != 0) {
                throw new DemoFailed("Kafka " + options.version() + " could not format its data directory:\n"
                        + ChildJvm.tail(format.log(), 12));
            }
        }
    }

    private static String newClusterId() {
        UUID id = UUID.randomUUID();
        ByteBuffer bytes =
                ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
        String text = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes.array());
        // Kafka's command line would take a leading dash for an option
        return text.startsWith("-") ? "A" + text.substring(1) : text;
    }

    private void startZookeeper(int port) {
        zookeeper = ChildJvm.start(
                "ZooKeeper",
                ChildJvm.java(
                        files.jvmOptions("256m", ""),
                        classPath,
                        "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                        List.of(files.zookeeperProperties().toString())),
                files.log("zookeeper"));
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(READY_TIMEOUT_MS);
        while (FreePorts.isFree(port)) {
            requireAlive(zookeeper, "ZooKeeper", deadline);
            pause(POLL_MS);
        }
    }

    private void spawn(int node) {
        nodes[node - 1] = ChildJvm.start(
                "Kafka node " + node,
                ChildJvm.java(
                        files.jvmOptions(options.heap(), ""),
                        classPath,
                        "kafka.Kafka",
                        List.of(files.properties(node).toString())),
                logOf(node));
    }

    private void awaitReady(int node, int brokersWanted) {
        long deadline = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(READY_TIMEOUT_MS);
        while (true) {
            OptionalInt seen = RawProbe.brokers(port(node));
            requireAlive(child(node), "node " + node, deadline);
            if (seen.isPresent() && seen.getAsInt() >= brokersWanted) {
                return;
            }
            pause(POLL_MS);
        }
    }

    private void requireAlive(ChildJvm child, String what, long deadlineNanos) {
        String name = "Kafka " + options.version() + ", " + what;
        if (!child.alive()) {
            String tail = ChildJvm.tail(child.log(), 40);
            if (tail.contains("Address already in use") || tail.contains("BindException")) {
                throw new PortTaken(name + ": a port was taken by somebody else\n" + tail);
            }
            throw new DemoFailed(name + " ended while starting; the end of " + child.log() + ":\n" + tail);
        }
        if (System.nanoTime() - deadlineNanos > 0) {
            throw new DemoFailed(name + " was not ready within " + READY_TIMEOUT_MS / 1000 + " s; the end of "
                    + child.log() + ":\n" + ChildJvm.tail(child.log(), 20));
        }
    }

    private ChildJvm child(int node) {
        ChildJvm child = nodes[node - 1];
        if (child == null) {
            throw new IllegalStateException("node " + node + " was never started");
        }
        return child;
    }

    private static void pause(long ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DemoFailed("Interrupted while waiting for Kafka", e);
        }
    }

    private static final class PortTaken extends DemoFailed {
        private static final long serialVersionUID = 1L;

        PortTaken(String message) {
            super(message);
        }
    }
}
