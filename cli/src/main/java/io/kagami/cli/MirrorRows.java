package io.kagami.cli;

import io.kagami.cli.view.Json;
import io.kagami.cli.view.Numbers;
import io.kagami.cli.view.Table;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorListing;
import io.kagami.protocol.MirrorMessages.MirrorPartitionDescription;
import io.kagami.protocol.MirrorMessages.MirrorTopicDescription;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;

/** Mirrors as rows under the operator's columns, and as JSON. */
final class MirrorRows {
    private static final String FAILED = "FAILED";

    /** One partition of one mirror topic. */
    record Row(String mirror, String topic, MirrorPartitionDescription partition) {}

    private MirrorRows() {}

    /**
     * The same mirrors with only the wanted topics and partitions; a topic without any is left out.
     *
     * @param failedOnly only what is in the state FAILED
     */
    static List<MirrorDescription> only(List<MirrorDescription> mirrors, Predicate<String> wanted, boolean failedOnly) {
        return mirrors.stream()
                .map(mirror -> new MirrorDescription(
                        mirror.mirror(),
                        mirror.errorCode(),
                        mirror.errorMessage(),
                        mirror.sourceClusterId(),
                        mirror.sourceBootstrapServers(),
                        mirror.sourceStatus(),
                        mirror.topics().stream()
                                .filter(topic -> wanted.test(topic.topic()))
                                .map(topic -> failedOnly ? failedOf(topic) : topic)
                                .filter(topic ->
                                        !failedOnly || !topic.partitions().isEmpty())
                                .toList()))
                .toList();
    }

    private static MirrorTopicDescription failedOf(MirrorTopicDescription topic) {
        return new MirrorTopicDescription(
                topic.topic(),
                topic.topicId(),
                topic.desiredState(),
                topic.partitions().stream()
                        .filter(p -> p.state().equals(FAILED))
                        .toList());
    }

    /** Rows in order of mirror, topic and partition. */
    static List<Row> rows(List<MirrorDescription> mirrors) {
        List<Row> rows = new ArrayList<>();
        for (MirrorDescription mirror : mirrors) {
            for (MirrorTopicDescription topic : mirror.topics()) {
                topic.partitions().forEach(p -> rows.add(new Row(mirror.mirror(), topic.topic(), p)));
            }
        }
        rows.sort(Comparator.comparing(Row::mirror).thenComparing(Row::topic).thenComparing(row -> row.partition()
                .partition()));
        return rows;
    }

    static Table list(List<MirrorListing> mirrors) {
        Table table = new Table("MIRROR", "TOPICS", "SOURCE-CLUSTER-ID", "SOURCE-BOOTSTRAP-SERVER");
        for (MirrorListing mirror : mirrors) {
            table.row(
                    mirror.mirror(),
                    mirror.topics(),
                    orUnknown(mirror.sourceClusterId()),
                    orUnknown(mirror.sourceBootstrapServers()));
        }
        return table;
    }

    static Table describe(List<Row> rows) {
        Table table = new Table("MIRROR", "TOPIC", "PARTITION", "SOURCE-OFFSET", "DESTINATION-OFFSET", "LAG", "STATE");
        for (Row row : rows) {
            MirrorPartitionDescription p = row.partition();
            table.row(
                    row.mirror(),
                    row.topic(),
                    p.partition(),
                    Numbers.plain(p.sourceOffset()),
                    Numbers.plain(p.destinationOffset()),
                    Numbers.plain(p.lag()),
                    p.state());
        }
        return table;
    }

    static Table failed(List<Row> rows) {
        Table table = new Table("MIRROR", "TOPIC", "PARTITION", "STATE", "RETRY", "ERROR");
        for (Row row : rows) {
            MirrorPartitionDescription p = row.partition();
            table.row(
                    row.mirror(),
                    row.topic(),
                    p.partition(),
                    p.state(),
                    retry(p),
                    orUnknown(oneLine(p.errorMessage())));
        }
        return table;
    }

    static List<Map<String, Object>> listJson(List<MirrorListing> mirrors) {
        List<Map<String, Object>> list = new ArrayList<>();
        for (MirrorListing mirror : mirrors) {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("mirror", mirror.mirror());
            map.put("topics", mirror.topics());
            map.put("sourceClusterId", mirror.sourceClusterId());
            map.put("sourceBootstrapServer", mirror.sourceBootstrapServers());
            list.add(map);
        }
        return list;
    }

    static List<Map<String, Object>> describeJson(List<MirrorDescription> mirrors, List<Row> rows) {
        List<Map<String, Object>> list = new ArrayList<>();
        for (MirrorDescription mirror : mirrors) {
            Map<String, Object> map = new LinkedHashMap<>();
            map.put("mirror", mirror.mirror());
            map.put("sourceClusterId", mirror.sourceClusterId());
            map.put("sourceBootstrapServer", mirror.sourceBootstrapServers());
            map.put("sourceStatus", mirror.sourceStatus());
            map.put(
                    "partitions",
                    rows.stream()
                            .filter(row -> row.mirror().equals(mirror.mirror()))
                            .map(MirrorRows::json)
                            .toList());
            list.add(map);
        }
        return list;
    }

    private static Map<String, Object> json(Row row) {
        MirrorPartitionDescription p = row.partition();
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("mirror", row.mirror());
        map.put("topic", row.topic());
        map.put("partition", p.partition());
        map.put("sourceOffset", Json.known(p.sourceOffset()));
        map.put("destinationOffset", Json.known(p.destinationOffset()));
        map.put("lag", Json.known(p.lag()));
        map.put("state", p.state());
        map.put("retryAttempt", p.retryAttempt());
        map.put("errorMessage", p.errorMessage());
        map.put("lagBytes", Json.known(p.lagBytes()));
        map.put("lagMs", Json.known(p.lagMs()));
        map.put("measuredAgoMs", Json.known(p.measuredAgoMs()));
        map.put("sourceStartOffset", Json.known(p.sourceStartOffset()));
        map.put("destinationStartOffset", Json.known(p.destinationStartOffset()));
        map.put("mirroredBytes", Json.known(p.mirroredBytes()));
        return map;
    }

    private static String retry(MirrorPartitionDescription p) {
        return p.retryAttempt() < 0 ? "NonRetryable" : Integer.toString(p.retryAttempt());
    }

    private static String oneLine(String text) {
        return text == null ? null : text.replaceAll("\\s*\\R\\s*", " ");
    }

    private static String orUnknown(String text) {
        return text == null || text.isEmpty() ? Numbers.UNKNOWN : text;
    }
}
