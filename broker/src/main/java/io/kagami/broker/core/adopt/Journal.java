package io.kagami.broker.core.adopt;

import io.kagami.broker.core.cluster.ClusterRecord;
import io.kagami.broker.core.cluster.ClusterRecordCodec;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.zip.CRC32C;
import org.apache.kafka.common.Uuid;

/**
 * An adoption that was decided: what has to be done, in an order and a form that allow to begin again after a crash at any step. Written
 * durably before the first step, removed after the last one.
 *
 * <pre>
 * kagami-adoption 1
 * way copy|move
 * source PATH                                                      a directory that is adopted from; one line each
 * clean true|false                                                 whether all of them were stopped well
 * log TOPIC PARTITION ID RECOVERY-POINT START-OFFSET PATH          one line for each partition directory
 * record BASE64                                                    a change of the metadata, in order
 * crc HEX                                                          CRC-32C of all lines before
 * </pre>
 *
 * @param sources absolute paths
 * @param clean whether every source was stopped well
 */
public record Journal(Way way, List<String> sources, boolean clean, List<Log> logs, List<ClusterRecord> records) {
    /** How the files get here. In place: they are here already, and {@code MOVE} finds nothing to do. */
    public enum Way {
        COPY,
        MOVE
    }

    /** A partition directory to take over from a path. */
    public record Log(String topic, int partition, Uuid topicId, long recoveryPoint, long startOffset, String path) {
        public String name() {
            return topic + "-" + partition;
        }
    }

    private static final String MAGIC = "kagami-adoption 1";

    public String toText() {
        StringBuilder text = new StringBuilder(MAGIC).append('\n');
        text.append("way ").append(way == Way.COPY ? "copy" : "move").append('\n');
        sources.forEach(path -> text.append("source ").append(path).append('\n'));
        text.append("clean ").append(clean).append('\n');
        for (Log log : logs) {
            text.append("log ").append(log.topic()).append(' ').append(log.partition());
            text.append(' ').append(log.topicId()).append(' ').append(log.recoveryPoint());
            text.append(' ').append(log.startOffset()).append(' ').append(log.path());
            text.append('\n');
        }
        for (ClusterRecord record : records) {
            text.append("record ").append(Base64.getEncoder().encodeToString(ClusterRecordCodec.encode(record)));
            text.append('\n');
        }
        return text + "crc " + crc(text.toString()) + "\n";
    }

    /** @throws IllegalArgumentException when the text is not a whole journal of a version known here */
    public static Journal parse(String text) {
        int crcAt = text.lastIndexOf("\ncrc ") + 1;
        if (!text.startsWith(MAGIC + "\n")) {
            throw new IllegalArgumentException("it does not begin with the line '" + MAGIC + "'");
        }
        if (crcAt == 0 || !text.substring(crcAt).equals("crc " + crc(text.substring(0, crcAt)) + "\n")) {
            throw new IllegalArgumentException("its checksum is wrong");
        }
        Way way = null;
        boolean clean = false;
        List<String> sources = new ArrayList<>();
        List<Log> logs = new ArrayList<>();
        List<ClusterRecord> records = new ArrayList<>();
        for (String line : text.substring(MAGIC.length() + 1, crcAt).lines().toList()) {
            int space = line.indexOf(' ');
            String rest = line.substring(space + 1);
            switch (line.substring(0, Math.max(0, space))) {
                case "way" -> way = rest.equals("copy") ? Way.COPY : Way.MOVE;
                case "source" -> sources.add(rest);
                case "clean" -> clean = Boolean.parseBoolean(rest);
                case "log" -> logs.add(log(rest));
                case "record" ->
                    records.add(ClusterRecordCodec.decode(
                            ByteBuffer.wrap(Base64.getDecoder().decode(rest))));
                default -> throw new IllegalArgumentException("it has an unknown line: " + line);
            }
        }
        return new Journal(way, List.copyOf(sources), clean, List.copyOf(logs), List.copyOf(records));
    }

    private static Log log(String line) {
        String[] fields = line.split(" ", 6);
        return new Log(
                fields[0],
                Integer.parseInt(fields[1]),
                Uuid.fromString(fields[2]),
                Long.parseLong(fields[3]),
                Long.parseLong(fields[4]),
                fields[5]);
    }

    private static String crc(String text) {
        CRC32C crc = new CRC32C();
        crc.update(text.getBytes(StandardCharsets.UTF_8));
        return Long.toHexString(crc.getValue());
    }
}
