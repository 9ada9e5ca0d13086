package io.kagami.cli.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.StringJoiner;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/** The files of one forked cluster: where they lie, and the properties that its brokers and ZooKeeper read. */
final class KafkaFiles {
    private static final int CONTROLLERS_MAX = 3;

    private final ForkedKafka.Options options;
    private final Path dir;

    KafkaFiles(ForkedKafka.Options options) {
        this.options = options;
        this.dir = options.dir().toAbsolutePath();
    }

    /** Kafka 2.x needs ZooKeeper; the later versions that we start have their own quorum. */
    boolean kraft() {
        return !options.version().startsWith("2.");
    }

    Path data(int node) {
        return dir.resolve("data" + node);
    }

    Path log(String name) {
        return dir.resolve("log").resolve(name + ".out");
    }

    Path properties(int node) {
        return dir.resolve("node" + node + ".properties");
    }

    Path zookeeperProperties() {
        return dir.resolve("zookeeper.properties");
    }

    /** The cluster id of an earlier start in this directory, else a new one. */
    String clusterId(Supplier<String> fresh) throws IOException {
        Path file = dir.resolve("cluster.id");
        if (!Files.exists(file)) {
            Files.writeString(file, fresh.get());
        }
        return Files.readString(file).strip();
    }

    /** @param kind empty for a broker, {@code -tool} for a tool that logs warnings only, to stderr */
    List<String> jvmOptions(String heap, String kind) {
        boolean log4j2 = options.version().startsWith("4.");
        String name = (log4j2 ? "log4j2" : "log4j") + kind + ".properties";
        List<String> flags = new ArrayList<>(List.of("-Xmx" + heap, "-Djava.awt.headless=true"));
        if (heap.endsWith("g")) {
            flags.addAll(List.of("-Xms" + heap, "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"));
        } else {
            // small and short-lived: the first compiler and the simplest collector save half of the start's CPU time
            flags.addAll(List.of("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"));
        }
        if (!log4j2) {
            for (String opened : List.of("java.lang", "java.util", "java.nio", "sun.nio.ch")) {
                flags.add("--add-opens=java.base/" + opened + "=ALL-UNNAMED");
            }
        }
        flags.add(
                log4j2
                        ? "-Dlog4j2.configurationFile=" + dir.resolve(name)
                        : "-Dlog4j.configuration=" + dir.resolve(name).toUri());
        flags.add("-Dkafka.logs.dir=" + dir.resolve("log"));
        return flags;
    }

    /** Writes everything that the children read. */
    void write(List<Integer> ports, List<Integer> controllerPorts, int zookeeperPort) throws IOException {
        Files.createDirectories(dir.resolve("log"));
        for (String name :
                List.of("log4j.properties", "log4j-tool.properties", "log4j2.properties", "log4j2-tool.properties")) {
            Files.write(dir.resolve(name), KafkaJars.resource(name));
        }
        for (int node = 1; node <= options.brokers(); node++) {
            StringJoiner lines = new StringJoiner("\n", "", "\n");
            if (kraft()) {
                kraftLines(lines, node, ports.get(node - 1), controllerPorts);
            } else {
                zookeeperLines(lines, node, ports.get(node - 1), zookeeperPort);
            }
            commonLines(lines, node);
            Files.writeString(properties(node), lines.toString(), StandardCharsets.UTF_8);
        }
        if (!kraft()) {
            Files.createDirectories(dir.resolve("zookeeper"));
            Files.writeString(
                    zookeeperProperties(),
                    "dataDir=" + dir.resolve("zookeeper") + "\nclientPort=" + zookeeperPort
                            + "\nclientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\ntickTime=1000\n");
        }
    }

    private void kraftLines(StringJoiner lines, int node, int port, List<Integer> controllerPorts) {
        int controllers = options.brokers() >= CONTROLLERS_MAX ? CONTROLLERS_MAX : 1;
        StringJoiner voters = new StringJoiner(",");
        for (int id = 1; id <= controllers; id++) {
            voters.add(id + "@127.0.0.1:" + controllerPorts.get(id - 1));
        }
        boolean controller = node <= controllers;
        lines.add("node.id=" + node);
        lines.add("process.roles=broker" + (controller ? ",controller" : ""));
        lines.add("listeners=PLAINTEXT://127.0.0.1:" + port
                + (controller ? ",CONTROLLER://127.0.0.1:" + controllerPorts.get(node - 1) : ""));
        lines.add("advertised.listeners=PLAINTEXT://127.0.0.1:" + port);
        lines.add("controller.quorum.voters=" + voters);
        lines.add("controller.listener.names=CONTROLLER");
        lines.add("listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT");
    }

    private static void zookeeperLines(StringJoiner lines, int node, int port, int zookeeperPort) {
        lines.add("broker.id=" + node);
        lines.add("listeners=PLAINTEXT://127.0.0.1:" + port);
        lines.add("zookeeper.connect=127.0.0.1:" + zookeeperPort);
        lines.add("zookeeper.connection.timeout.ms=30000");
        lines.add("zookeeper.session.timeout.ms=3000");
    }

    private void commonLines(StringJoiner lines, int node) {
        int copies = Math.min(options.brokers(), 3);
        int minIsr = copies < 3 ? 1 : 2;
        lines.add("log.dirs=" + data(node));
        lines.add("num.partitions=1");
        lines.add("group.initial.rebalance.delay.ms=0");
        lines.add("offsets.topic.replication.factor=" + copies);
        lines.add("offsets.topic.num.partitions=8");
        lines.add("transaction.state.log.replication.factor=" + copies);
        lines.add("transaction.state.log.min.isr=" + minIsr);
        lines.add("transaction.state.log.num.partitions=8");
        if (options.version().startsWith("4.")) {
            lines.add("share.coordinator.state.topic.replication.factor=" + copies);
            lines.add("share.coordinator.state.topic.min.isr=" + minIsr);
            lines.add("share.coordinator.state.topic.num.partitions=8");
        }
        lines.add(options.props().entrySet().stream()
                .sorted(Map.Entry.comparingByKey())
                .map(entry -> ofNode(entry, node))
                .filter(line -> !line.isEmpty())
                .collect(Collectors.joining("\n")));
    }

    private static String ofNode(Map.Entry<String, String> entry, int node) {
        String key = entry.getKey();
        if (key.startsWith("node") && key.contains(":")) {
            String own = "node" + node + ":";
            return key.startsWith(own) ? key.substring(own.length()) + "=" + entry.getValue() : "";
        }
        return key + "=" + entry.getValue();
    }
}
