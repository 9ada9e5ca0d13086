package io.kagami.it.bench;

import io.kagami.cli.demo.KafkaJars;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** MirrorMaker 2 in its dedicated mode, in a process of its own; topics keep their names. */
final class MirrorMaker implements AutoCloseable {
    private static final String JARS = "connect-mirror-4.3.1";
    private static final String HEAP = "-Xmx2g";

    /** Large fetches and batches: what its users find when they look for more throughput. */
    private static final Map<String, String> TUNED = Map.of(
            "tasks.max", "6",
            "src.consumer.fetch.max.bytes", "104857600",
            "src.consumer.max.partition.fetch.bytes", "10485760",
            "src.consumer.max.poll.records", "5000",
            "src.consumer.receive.buffer.bytes", "1048576",
            "dst.producer.batch.size", "1000000",
            "dst.producer.linger.ms", "50",
            "dst.producer.buffer.memory", "134217728",
            "dst.producer.max.request.size", "4194304",
            "dst.producer.send.buffer.bytes", "1048576");

    private final Child child;

    private MirrorMaker(Child child) {
        this.child = child;
    }

    /**
     * Starts it.
     *
     * @param topics pattern
     * @param codec of its producer; without it, it would write uncompressed batches
     * @param tuned false = the settings it comes with
     */
    static MirrorMaker start(Path dir, String source, String destination, String topics, String codec, boolean tuned)
            throws IOException {
        Directories.fresh(dir);
        Map<String, String> config = new LinkedHashMap<>();
        config.put("clusters", "src, dst");
        config.put("src.bootstrap.servers", source);
        config.put("dst.bootstrap.servers", destination);
        config.put("src->dst.enabled", "true");
        config.put("dst->src.enabled", "false");
        config.put("src->dst.emit.heartbeats.enabled", "false");
        config.put("dst->src.emit.heartbeats.enabled", "false");
        config.put("src->dst.topics", topics);
        config.put("replication.policy.class", "org.apache.kafka.connect.mirror.IdentityReplicationPolicy");
        for (String topic : List.of("", "checkpoints.topic.", "heartbeats.topic.", "offset-syncs.topic.")) {
            config.put(topic + "replication.factor", "1");
        }
        for (String store : List.of("offset", "status", "config")) {
            config.put(store + ".storage.replication.factor", "1");
        }
        config.put("dst.producer.compression.type", codec);
        if (tuned) {
            config.putAll(TUNED);
        }
        Path properties = dir.resolve("mm2.properties");
        Files.write(
                properties,
                config.entrySet().stream()
                        .map(e -> e.getKey() + " = " + e.getValue())
                        .toList());
        Path logging = dir.resolve("log4j2.properties");
        try (InputStream in = KafkaJars.class.getResourceAsStream("/kafka/log4j2.properties")) {
            Files.write(logging, in.readAllBytes());
        }
        List<String> jars = KafkaJars.classPath(JARS, line -> Progress.say("MirrorMaker 2: " + line));
        List<String> command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xms256m",
                HEAP,
                "-XX:+UseG1GC",
                "-XX:MaxGCPauseMillis=20",
                "-XX:InitiatingHeapOccupancyPercent=35",
                "-Dlog4j2.configurationFile=" + logging,
                "-cp",
                String.join(File.pathSeparator, jars),
                "org.apache.kafka.connect.mirror.MirrorMaker",
                properties.toString());
        return new MirrorMaker(Child.start("MirrorMaker 2", command, Map.of(), dir.resolve("mm2.log")));
    }

    long pid() {
        return child.pid();
    }

    void requireAlive() {
        child.requireAlive();
    }

    /** It keeps nothing that another run would need: killed, not asked. */
    @Override
    public void close() {
        child.kill();
    }
}
