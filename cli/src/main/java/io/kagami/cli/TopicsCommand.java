package io.kagami.cli;

import io.kagami.cli.view.Json;
import io.kagami.cli.view.Numbers;
import io.kagami.cli.view.Screen;
import io.kagami.cli.view.Table;
import io.kagami.cli.wire.Offsets;
import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import io.kagami.protocol.client.ClusterMetadata.Topic;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kagami topics}: what topics a cluster has, where their partitions begin and end, and which mirror writes them. */
@Command(
        name = "topics",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "List topics, or describe their partitions. Works with any Kafka cluster.")
final class TopicsCommand implements Callable<Integer> {
    @ArgGroup(heading = "What to do:%n")
    private Action action = new Action();

    private static final class Action {
        @Option(names = "--list", description = "One line for each topic (the default).")
        boolean list;

        @Option(names = "--describe", description = "One line for each partition.")
        boolean describe;
    }

    @Option(names = "--topic", paramLabel = "NAME", split = ",", description = "Only these topics.")
    private List<String> names = List.of();

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Mixin
    private ConnectionOptions connection;

    private final Screen screen;
    private final Clusters clusters;

    TopicsCommand(Screen screen, Clusters clusters) {
        this.screen = screen;
        this.clusters = clusters;
    }

    /** Everything the command knows of one partition; -1 and -1L are unknown. */
    private record Row(
            Topic topic, PartitionInfo partition, long start, long end, long bytes, String mirror, String state) {}

    @Override
    public Integer call() {
        try (Wire wire = connection.connect(clusters)) {
            ClusterMetadata metadata = wire.metadata(names.isEmpty() ? null : names);
            for (Topic topic : metadata.topics().values()) {
                wire.check(topic.errorCode(), null, "Topic " + topic.name());
            }
            for (String name : names) {
                if (!metadata.topics().containsKey(name)) {
                    throw new Refused("There is no topic " + name + " at " + wire.address());
                }
            }
            print(rows(wire, metadata));
        }
        return Shell.DONE;
    }

    private List<Row> rows(Wire wire, ClusterMetadata metadata) {
        Offsets offsets = new Offsets(wire);
        Map<TopicPartition, Long> starts = offsets.starts(metadata);
        Map<TopicPartition, Long> ends = offsets.ends(metadata);
        Map<TopicPartition, Long> bytes = offsets.bytes(metadata);
        Map<TopicPartition, String[]> mirrors = mirrors(wire, metadata);
        List<Row> rows = new ArrayList<>();
        for (Topic topic : new TreeMap<>(metadata.topics()).values()) {
            topic.partitions().stream()
                    .sorted(Comparator.comparingInt(PartitionInfo::partition))
                    .forEach(partition -> {
                        TopicPartition tp = new TopicPartition(topic.name(), partition.partition());
                        String[] mirror = mirrors.getOrDefault(tp, new String[] {null, null});
                        rows.add(new Row(
                                topic,
                                partition,
                                starts.getOrDefault(tp, -1L),
                                ends.getOrDefault(tp, -1L),
                                bytes.getOrDefault(tp, -1L),
                                mirror[0],
                                mirror[1]));
                    });
        }
        return rows;
    }

    /** Mirror and state of each mirrored partition; nothing when the cluster is an ordinary Kafka. */
    private static Map<TopicPartition, String[]> mirrors(Wire wire, ClusterMetadata metadata) {
        Map<TopicPartition, String[]> mirrors = new HashMap<>();
        boolean known = metadata.nodes().keySet().stream()
                .findFirst()
                .filter(node -> wire.version(node, PrivateApi.DESCRIBE_CLUSTER_MIRRORS.key())
                        .isPresent())
                .isPresent();
        if (known) {
            for (MirrorDescription mirror : MirrorsCommand.described(wire, List.of())) {
                mirror.topics().forEach(topic -> topic.partitions()
                        .forEach(p -> mirrors.put(
                                new TopicPartition(topic.topic(), p.partition()),
                                new String[] {mirror.mirror(), p.state()})));
            }
        }
        return mirrors;
    }

    private void print(List<Row> rows) {
        if (json) {
            screen.out().println(Json.write(describing() ? partitionsJson(rows) : topicsJson(rows)));
        } else if (rows.isEmpty()) {
            screen.err().println("No topics.");
        } else {
            (describing() ? partitions(rows) : topics(rows)).lines().forEach(screen.out()::println);
        }
    }

    private boolean describing() {
        return action.describe && !action.list;
    }

    private static Table partitions(List<Row> rows) {
        Table table =
                new Table("TOPIC", "PARTITION", "LEADER", "START-OFFSET", "END-OFFSET", "BYTES", "MIRROR", "STATE");
        for (Row row : rows) {
            table.row(
                    row.topic.name(),
                    row.partition.partition(),
                    row.partition.leader() < 0 ? "none" : row.partition.leader(),
                    Numbers.plain(row.start),
                    Numbers.plain(row.end),
                    Numbers.plain(row.bytes),
                    orDash(row.mirror),
                    orDash(row.state));
        }
        return table;
    }

    private static Table topics(List<Row> rows) {
        Table table = new Table("TOPIC", "PARTITIONS", "RECORDS", "BYTES", "MIRROR");
        byTopic(rows)
                .forEach((name, of) -> table.row(
                        name, of.size(), Numbers.plain(spans(of)), Numbers.plain(bytes(of)), orDash(of.get(0).mirror)));
        return table;
    }

    private static List<Map<String, Object>> topicsJson(List<Row> rows) {
        List<Map<String, Object>> list = new ArrayList<>();
        byTopic(rows).forEach((name, of) -> {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("topic", name);
            map.put("topicId", id(of.get(0).topic));
            map.put("partitions", of.size());
            map.put("records", Json.known(spans(of)));
            map.put("bytes", Json.known(bytes(of)));
            map.put("mirror", of.get(0).mirror);
            list.add(map);
        });
        return list;
    }

    private static List<Map<String, Object>> partitionsJson(List<Row> rows) {
        List<Map<String, Object>> list = new ArrayList<>();
        for (Row row : rows) {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("topic", row.topic.name());
            map.put("topicId", id(row.topic));
            map.put("partition", row.partition.partition());
            map.put("leader", row.partition.leader() < 0 ? null : row.partition.leader());
            map.put("leaderEpoch", Json.known(row.partition.leaderEpoch()));
            map.put("startOffset", Json.known(row.start));
            map.put("endOffset", Json.known(row.end));
            map.put("bytes", Json.known(row.bytes));
            map.put("mirror", row.mirror);
            map.put("state", row.state);
            list.add(map);
        }
        return list;
    }

    private static Map<String, List<Row>> byTopic(List<Row> rows) {
        Map<String, List<Row>> topics = new TreeMap<>();
        rows.forEach(row -> topics.computeIfAbsent(row.topic.name(), name -> new ArrayList<>())
                .add(row));
        return topics;
    }

    /** Offsets between start and end, gaps of compaction included; -1 when an end is unknown. */
    private static long spans(List<Row> rows) {
        return rows.stream().anyMatch(row -> row.start < 0 || row.end < 0)
                ? -1
                : rows.stream().mapToLong(row -> row.end - row.start).sum();
    }

    private static long bytes(List<Row> rows) {
        return rows.stream().anyMatch(row -> row.bytes < 0)
                ? -1
                : rows.stream().mapToLong(Row::bytes).sum();
    }

    private static String id(Topic topic) {
        return topic.topicId().equals(Uuid.ZERO_UUID) ? null : topic.topicId().toString();
    }

    private static String orDash(String text) {
        return text == null ? "-" : text;
    }
}
