package io.kagami.cli.demo;

import io.kagami.cli.demo.LogComparer.Compared;
import io.kagami.cli.view.Bar;
import io.kagami.cli.view.Numbers;
import io.kagami.cli.view.Screen;
import io.kagami.cli.view.Table;
import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.Transports;
import io.kagami.protocol.client.ClientOptions;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.NettyClusterClient;
import io.netty.channel.EventLoopGroup;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * The demo from start to end: a source, Kagami, a mirror between them, and the proof that both hold the same. Blocks; for one thread, but
 * {@link #close()} may be called by another when the process is told to end.
 */
public final class Demo implements AutoCloseable {
    /** The version of Apache Kafka that plays the source. */
    static final String SOURCE_VERSION = "4.4.0";

    /** A cleaner that runs at once and small; nothing is removed for its age, for the records' times are fixed. */
    static final Map<String, String> SOURCE_PROPS = Map.of(
            "log.cleaner.backoff.ms", "300",
            "log.cleaner.dedupe.buffer.size", "8388608",
            "log.initial.task.delay.ms", "1000",
            "log.retention.ms", "-1",
            "auto.create.topics.enable", "false");

    private static final String MIRROR = "demo";
    private static final int FRAME_BYTES_MAX = 256 * 1024 * 1024;

    /**
     * @param source host:port of the user's own cluster, or null to start one
     * @param dir where data and logs go; exists
     * @param home the distribution that the server is started from
     * @param command how the user called this program, for the commands to try next
     * @param stays whether both stay up after the check, so that there is something to try
     */
    public record Plan(String source, Path dir, Path home, String command, boolean stays) {}

    private final Plan plan;
    private final Screen screen;
    private final Steps steps;
    private final EventLoopGroup group = Transports.newGroup(2, "demo");
    private volatile ForkedKafka kafka;
    private volatile KagamiChild kagami;

    public Demo(Plan plan, Screen screen) {
        this.plan = plan;
        this.screen = screen;
        this.steps = new Steps(screen);
    }

    /** Runs everything up to the table. True when all partitions are identical. */
    public boolean run() {
        steps.print("");
        steps.print(screen.bold("Kagami") + " mirrors a Kafka cluster: same topics, same offsets, same bytes.");
        steps.print("");
        try {
            String source = plan.source();
            if (source == null) {
                source = startSource();
                fillSource(source);
            }
            List<String> topics = topics(source);
            if (topics.isEmpty()) {
                steps.print(
                        "  The source " + source + " has no topics to mirror yet; new ones are found while this runs.");
            }
            startKagami();
            mirror(source, topics);
            boolean identical = prove(source, topics);
            steps.print("");
            steps.print(
                    identical
                            ? "Every batch is identical on both sides. " + steps.elapsed() + " in all."
                            : screen.red("The sides differ.") + " " + steps.elapsed() + " in all.");
            if (plan.stays()) {
                whatNext(source);
            }
            return identical;
        } finally {
            steps.close();
        }
    }

    private String startSource() {
        steps.begin("finding the jars of Apache Kafka " + SOURCE_VERSION);
        List<String> said = new ArrayList<>();
        KafkaJars.classPath(SOURCE_VERSION, line -> {
            said.add(line);
            steps.show(List.of(line));
        });
        if (!said.isEmpty()) {
            steps.done("the jars of Apache Kafka " + SOURCE_VERSION + " are here");
        }
        steps.begin("starting Apache Kafka " + SOURCE_VERSION + " as the source");
        kafka = ForkedKafka.start(
                new ForkedKafka.Options(SOURCE_VERSION, 1, plan.dir().resolve("source"), SOURCE_PROPS, "512m"));
        steps.done("Apache Kafka " + SOURCE_VERSION + " runs at " + kafka.bootstrap());
        return kafka.bootstrap();
    }

    private void fillSource(String source) {
        steps.begin("filling it: a shop with " + SampleData.topics().size() + " topics");
        Map<String, Double> done = new LinkedHashMap<>();
        SampleData.topics().forEach(topic -> done.put(topic, 0.0));
        try (Wire wire = connect(source)) {
            new SampleData(new SourceWriter(wire), (topic, fraction) -> {
                        done.put(topic, fraction);
                        steps.show(bars(done));
                    })
                    .write();
        }
        steps.done(
                "filled it: all codecs, headers, tombstones, transactions, a compacted topic with gaps, group commits");
    }

    private List<String> bars(Map<String, Double> done) {
        List<String> lines = new ArrayList<>();
        done.forEach((topic, fraction) ->
                lines.add(String.format("%-10s ", topic) + Bar.of(fraction, 30, screen.unicode())));
        return lines;
    }

    private void startKagami() {
        steps.begin("starting Kagami");
        kagami = KagamiChild.start(plan.home(), plan.dir().resolve("kagami"));
        steps.done("Kagami runs at " + kagami.bootstrap());
    }

    /** What a mirror of everything takes: not the internal topics, nor those that begin with two underscores. */
    private List<String> topics(String source) {
        try (Wire wire = connect(source)) {
            ClusterMetadata metadata = wire.metadata(null);
            return metadata.topics().values().stream()
                    .filter(topic -> !topic.internal() && !topic.name().startsWith("__"))
                    .map(ClusterMetadata.Topic::name)
                    .sorted()
                    .toList();
        }
    }

    private void mirror(String source, List<String> topics) {
        steps.begin("mirroring " + Numbers.of(topics.size(), "topic"));
        try (Wire wire = connect(kagami.bootstrap())) {
            MirrorRun run = new MirrorRun(wire, MIRROR, screen, steps);
            run.start(source);
            int partitions = partitions(source, topics);
            try {
                run.untilCaughtUp(topics.size(), partitions);
            } catch (Refused | DemoFailed e) {
                throw new DemoFailed(
                        e.getMessage() + "\nThe end of Kagami's log " + kagami.log() + ":\n"
                                + ChildJvm.tail(kagami.log(), 15),
                        e);
            }
            steps.done("mirrored " + Numbers.of(topics.size(), "topic") + ", " + Numbers.of(partitions, "partition")
                    + ", " + Numbers.bytes(run.bytes()) + ": lag 0 everywhere");
        }
    }

    private int partitions(String source, List<String> topics) {
        try (Wire wire = connect(source)) {
            return topics.isEmpty()
                    ? 0
                    : wire.metadata(topics).topics().values().stream()
                            .mapToInt(topic -> topic.partitions().size())
                            .sum();
        }
    }

    private boolean prove(String source, List<String> topics) {
        steps.begin("fetching every batch from both sides and comparing the bytes");
        List<Compared> results;
        try (Wire a = connect(source);
                Wire b = connect(kagami.bootstrap())) {
            long[] bytes = {0};
            boolean moving = plan.source() != null;
            results = LogComparer.compare(a.client(), b.client(), topics, moving, compared -> {
                bytes[0] += compared.bytes();
                steps.show(List.of(
                        compared.topic() + "-" + compared.partition() + ", " + Numbers.bytes(bytes[0]) + " compared"));
            });
        }
        steps.done("compared every batch on both sides, byte for byte");
        steps.print("");
        report(results);
        return results.stream().allMatch(Compared::identical);
    }

    private void report(List<Compared> results) {
        Map<String, List<Compared>> byTopic = new TreeMap<>();
        results.forEach(result -> byTopic.computeIfAbsent(result.topic(), name -> new ArrayList<>())
                .add(result));
        Table table = new Table("TOPIC", "PARTITIONS", "BATCHES", "RECORDS", "BYTES", "IDENTICAL");
        byTopic.forEach((topic, of) -> table.row(
                topic,
                of.size(),
                Numbers.count(of.stream().mapToLong(Compared::batches).sum()),
                Numbers.count(of.stream().mapToLong(Compared::records).sum()),
                Numbers.count(of.stream().mapToLong(Compared::bytes).sum()),
                of.stream().allMatch(Compared::identical) ? "yes" : "NO"));
        boolean heading = true;
        for (String line : table.lines()) {
            String coloured = line.endsWith("yes")
                    ? line.substring(0, line.length() - 3) + screen.green("yes")
                    : line.endsWith("NO") ? screen.red(line) : line;
            steps.print("  " + (heading ? screen.bold(line) : coloured));
            heading = false;
        }
        results.stream()
                .filter(result -> !result.identical())
                .limit(20)
                .forEach(result -> steps.print(
                        "  " + screen.red(result.topic() + "-" + result.partition() + ": " + result.difference())));
    }

    private void whatNext(String source) {
        String at = " --bootstrap-server " + kagami.bootstrap();
        steps.print("");
        steps.print("Try next, in another terminal:");
        steps.print("  " + plan.command() + " mirrors --describe --watch" + at);
        steps.print("  " + plan.command() + " topics --describe" + at);
        steps.print("  " + plan.command() + " groups --describe --bootstrap-server " + source);
        if (plan.source() == null) {
            steps.print("  kcat -C -b " + kagami.bootstrap() + " -t orders -o beginning -c 3 -f '%o %k %s\\n'");
            steps.print("  " + plan.command() + " mirrors --stop --mirror " + MIRROR + " --topics orders" + at);
        }
        steps.print("  curl " + kagami.metrics());
        steps.print(
                screen.dim("Source " + source + ", Kagami " + kagami.bootstrap() + ", data and logs in " + plan.dir()));
        steps.print("");
    }

    /**
     * Connects to nothing yet.
     *
     * @throws IllegalArgumentException when it is no list of host:port
     */
    public static void checkAddress(String bootstrap) {
        EventLoopGroup group = Transports.newGroup(1, "demo-check");
        try {
            new NettyClusterClient(options(bootstrap), group).close();
        } finally {
            group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
        }
    }

    private static ClientOptions options(String bootstrap) {
        return new ClientOptions(
                List.of(bootstrap.split(",")),
                "kagami-demo",
                Duration.ofSeconds(30),
                Duration.ofSeconds(10),
                -1,
                FRAME_BYTES_MAX);
    }

    private Wire connect(String bootstrap) {
        ClientOptions options = options(bootstrap);
        try {
            return new Wire(
                    new NettyClusterClient(options, group),
                    options,
                    bootstrap.equals(plan.source()) ? "--source" : null);
        } catch (IllegalArgumentException e) {
            throw new DemoFailed("--source: " + e.getMessage(), e);
        }
    }

    /** False when a child has ended by itself. */
    public boolean healthy() {
        return kagami.alive() && (kafka == null || kafka.running(1));
    }

    /** Ends both children cleanly: first the mirror, then its source. */
    @Override
    public synchronized void close() {
        if (kagami != null) {
            kagami.close();
        }
        if (kafka != null) {
            kafka.close();
        }
        group.shutdownGracefully(0, 1, TimeUnit.SECONDS);
    }

    /** Removes what the demo has put into the directory, and the directory when nothing else is in it. */
    public static void clean(Path dir) throws IOException {
        for (String part : List.of("source", "kagami")) {
            Path top = dir.resolve(part);
            if (Files.exists(top)) {
                List<Path> all;
                try (Stream<Path> walk = Files.walk(top)) {
                    all = walk.sorted(Comparator.reverseOrder()).toList();
                }
                for (Path path : all) {
                    Files.deleteIfExists(path);
                }
            }
        }
        try (Stream<Path> left = Files.list(dir)) {
            if (left.findAny().isPresent()) {
                return;
            }
        }
        Files.delete(dir);
    }
}
