package io.kagami.log.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A small text file that is replaced as a whole: written beside, forced, renamed over, directory forced. After a crash there is
 * the old or the new text, never a mixture (KAFKA-1539, KAFKA-15312).
 *
 * <p>Most are tables in Apache Kafka's form: a line with version 0, a line with the number of entries, one line per entry.
 */
public final class Checkpoint {
    /** Name of the file while it is written; a leftover one is removed at start. */
    public static final String TEMPORARY = ".tmp";

    private static final Logger LOG = LoggerFactory.getLogger(Checkpoint.class);
    private static final int BYTES_MAX = 64 << 20;

    private Checkpoint() {}

    /** Durable on return. */
    public static void writeText(Disk disk, Path file, String text) throws IOException {
        write(disk, file, ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8)));
    }

    /** The same with any bytes, those between position and limit. */
    public static void write(Disk disk, Path file, ByteBuffer bytes) throws IOException {
        Path temporary = file.resolveSibling(file.getFileName() + TEMPORARY);
        disk.delete(temporary);
        try (DiskFile out = disk.open(temporary)) {
            out.write(bytes, 0);
            out.force();
        }
        disk.rename(temporary, file);
        disk.forceDirectory(file.getParent());
    }

    public static Optional<String> readText(Disk disk, Path file) throws IOException {
        if (!disk.exists(file)) {
            return Optional.empty();
        }
        return Optional.of(new String(disk.readAll(file, BYTES_MAX), StandardCharsets.UTF_8));
    }

    public static void writeTable(Disk disk, Path file, List<String> entries) throws IOException {
        StringBuilder text = new StringBuilder(16 + entries.size() * 24);
        text.append("0\n").append(entries.size()).append('\n');
        entries.forEach(entry -> text.append(entry).append('\n'));
        writeText(disk, file, text.toString());
    }

    /** The entries; empty when the file is absent or is not a whole table, which is as good as absent and logged once. */
    public static Optional<List<String>> readTable(Disk disk, Path file) throws IOException {
        Optional<String> text = readText(disk, file);
        if (text.isEmpty()) {
            return Optional.empty();
        }
        List<String> lines = text.get().lines().toList();
        boolean whole = lines.size() >= 2
                && lines.get(0).equals("0")
                && lines.get(1).equals(Integer.toString(lines.size() - 2))
                && text.get().endsWith("\n");
        if (!whole) {
            LOG.atWarn()
                    .addKeyValue("file", file)
                    .log("Checkpoint is corrupt and is taken as missing; it is rebuilt from the logs");
            return Optional.empty();
        }
        return Optional.of(lines.subList(2, lines.size()));
    }
}
