package io.kagami.cli;

import io.kagami.cli.view.Json;
import io.kagami.cli.view.Numbers;
import io.kagami.cli.view.Screen;
import io.kagami.cli.view.Table;
import io.kagami.cli.wire.Groups;
import io.kagami.cli.wire.Groups.Described;
import io.kagami.cli.wire.Groups.Listed;
import io.kagami.cli.wire.Offsets;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.client.ClusterMetadata;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.apache.kafka.common.TopicPartition;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

/** {@code kagami groups}: consumer groups, what they have committed and how far that is from the end. */
@Command(
        name = "groups",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = "List consumer groups, or describe what they have committed. Works with any Kafka cluster.")
final class GroupsCommand implements Callable<Integer> {
    @ArgGroup(heading = "What to do:%n")
    private Action action = new Action();

    private static final class Action {
        @Option(names = "--list", description = "One line for each group (the default).")
        boolean list;

        @Option(names = "--describe", description = "One line for each committed partition.")
        boolean describe;
    }

    @Option(names = "--group", paramLabel = "NAME", split = ",", description = "Only these groups.")
    private List<String> names = List.of();

    @Option(names = "--json", description = "Print JSON.")
    private boolean json;

    @Mixin
    private ConnectionOptions connection;

    private final Screen screen;
    private final Clusters clusters;

    GroupsCommand(Screen screen, Clusters clusters) {
        this.screen = screen;
        this.clusters = clusters;
    }

    private record Row(Described group, TopicPartition partition, long committed, long end) {
        /** -1 when the end is unknown, or lies before the commit. */
        long lag() {
            return end < committed ? -1 : end - committed;
        }
    }

    @Override
    public Integer call() {
        try (Wire wire = connection.connect(clusters)) {
            Groups groups = new Groups(wire);
            List<Listed> listed = groups.list().stream()
                    .filter(group -> names.isEmpty() || names.contains(group.group()))
                    .toList();
            List<String> missing = names.stream()
                    .filter(name ->
                            listed.stream().noneMatch(group -> group.group().equals(name)))
                    .toList();
            if (action.describe && !action.list) {
                describe(wire, groups, listed);
            } else {
                list(listed);
            }
            missing.forEach(
                    name -> screen.err().println("kagami: there is no group " + name + " at " + wire.address()));
            return missing.isEmpty() ? Shell.DONE : Shell.FAILED;
        }
    }

    private void list(List<Listed> groups) {
        if (json) {
            List<Map<String, Object>> list = new ArrayList<>();
            for (Listed group : groups) {
                Map<String, Object> map = new LinkedHashMap<>();
                map.put("group", group.group());
                map.put("protocolType", group.protocolType().isEmpty() ? null : group.protocolType());
                map.put("state", group.state());
                map.put("coordinator", group.coordinator());
                list.add(map);
            }
            screen.out().println(Json.write(list));
        } else if (groups.isEmpty()) {
            screen.err().println("No groups.");
        } else {
            Table table = new Table("GROUP", "TYPE", "STATE", "COORDINATOR");
            groups.forEach(group -> table.row(
                    group.group(),
                    group.protocolType().isEmpty() ? "-" : group.protocolType(),
                    group.state() == null ? Numbers.UNKNOWN : group.state(),
                    group.coordinator()));
            table.lines().forEach(screen.out()::println);
        }
    }

    private void describe(Wire wire, Groups groups, List<Listed> listed) {
        List<Row> rows = rows(wire, groups, listed);
        if (json) {
            List<Map<String, Object>> list = new ArrayList<>();
            for (Row row : rows) {
                Map<String, Object> map = new LinkedHashMap<>();
                map.put("group", row.group.group());
                map.put("topic", row.partition.topic());
                map.put("partition", row.partition.partition());
                map.put("committedOffset", row.committed);
                map.put("endOffset", Json.known(row.end));
                map.put("lag", Json.known(row.lag()));
                map.put("state", row.group.state());
                map.put("members", row.group.members());
                list.add(map);
            }
            screen.out().println(Json.write(list));
        } else if (rows.isEmpty()) {
            screen.err().println("No committed offsets.");
        } else {
            Table table = new Table(
                    "GROUP", "TOPIC", "PARTITION", "COMMITTED-OFFSET", "END-OFFSET", "LAG", "STATE", "MEMBERS");
            rows.forEach(row -> table.row(
                    row.group.group(),
                    row.partition.topic(),
                    row.partition.partition(),
                    row.committed,
                    Numbers.plain(row.end),
                    Numbers.plain(row.lag()),
                    row.group.state(),
                    row.group.members()));
            table.lines().forEach(screen.out()::println);
        }
    }

    private static List<Row> rows(Wire wire, Groups groups, List<Listed> listed) {
        Map<String, Map<TopicPartition, Long>> committed = new LinkedHashMap<>();
        listed.forEach(group -> committed.put(group.group(), groups.committed(group.group())));
        TreeSet<String> topics = committed.values().stream()
                .flatMap(offsets -> offsets.keySet().stream())
                .map(TopicPartition::topic)
                .collect(Collectors.toCollection(TreeSet::new));
        if (topics.isEmpty()) {
            return List.of();
        }
        ClusterMetadata metadata = wire.metadata(topics);
        Map<TopicPartition, Long> ends = new Offsets(wire).ends(metadata);
        List<Row> rows = new ArrayList<>();
        committed.forEach((group, offsets) -> {
            Described described = groups.describe(group);
            offsets.forEach((partition, offset) ->
                    rows.add(new Row(described, partition, offset, ends.getOrDefault(partition, -1L))));
        });
        return rows;
    }
}
