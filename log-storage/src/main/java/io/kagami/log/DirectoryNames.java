package io.kagami.log;

import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.Disk;
import io.kagami.log.segment.FileNames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Base64;
import java.util.Comparator;
import java.util.Optional;
import java.util.UUID;

/** Names and identity of partition directories, as Apache Kafka writes them. */
public final class DirectoryNames {
    /** The metadata log of Apache Kafka, which lies among the logs of topics and is none. */
    private static final String KAFKA_METADATA = "__cluster_metadata-0";

    static final String DELETED = "-delete";

    static final Comparator<LogName> ORDER =
            Comparator.comparing(LogName::topic).thenComparingInt(LogName::partition);

    private static final String STRAY = "-stray";

    private static final int NAME_MAX = 255;

    private DirectoryNames() {}

    /** {@code topic-partition}: the partition is behind the last dash, topics may have dashes and dots themselves. */
    public static Optional<LogName> parse(String directory) {
        int dash = directory.lastIndexOf('-');
        if (dash <= 0 || directory.endsWith(DELETED) || directory.equals(KAFKA_METADATA)) {
            return Optional.empty();
        }
        String digits = directory.substring(dash + 1);
        if (digits.isEmpty() || digits.length() > 10 || !digits.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return Optional.empty();
        }
        long partition = Long.parseLong(digits);
        boolean canonical = partition <= Integer.MAX_VALUE && digits.equals(Long.toString(partition));
        return canonical ? Optional.of(new LogName(directory.substring(0, dash), (int) partition)) : Optional.empty();
    }

    /** The name that a deleted log gets until its files are gone. */
    static String deleted(LogName name) {
        return renamed(name, DELETED);
    }

    /** The name that a log of no known topic gets for good. */
    static String stray(LogName name) {
        return renamed(name, STRAY);
    }

    private static String renamed(LogName name, String ending) {
        String suffix = "." + UUID.randomUUID().toString().replace("-", "") + ending;
        String full = name.toString();
        return full.substring(0, Math.min(full.length(), NAME_MAX - suffix.length())) + suffix;
    }

    static void writeTopicId(Disk disk, Path directory, UUID topicId) throws IOException {
        byte[] bytes = ByteBuffer.allocate(16)
                .putLong(topicId.getMostSignificantBits())
                .putLong(topicId.getLeastSignificantBits())
                .array();
        String text = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes);
        Checkpoint.writeText(disk, directory.resolve(FileNames.METADATA), "version: 0\ntopic_id: " + text + "\n");
    }

    /** Empty when there is no such file. */
    public static Optional<UUID> readTopicId(Disk disk, Path directory) throws IOException {
        Path file = directory.resolve(FileNames.METADATA);
        Optional<String> text = Checkpoint.readText(disk, file);
        if (text.isEmpty()) {
            return Optional.empty();
        }
        for (String line : text.get().lines().toList()) {
            if (line.startsWith("topic_id:")) {
                try {
                    byte[] id = Base64.getUrlDecoder()
                            .decode(line.substring("topic_id:".length()).trim());
                    if (id.length == 16) {
                        ByteBuffer bytes = ByteBuffer.wrap(id);
                        return Optional.of(new UUID(bytes.getLong(), bytes.getLong()));
                    }
                } catch (IllegalArgumentException notBase64) {
                    throw new IOException(file + " has no readable topic_id: " + line, notBase64);
                }
            }
        }
        throw new IOException(file + " has no readable topic_id line");
    }
}
