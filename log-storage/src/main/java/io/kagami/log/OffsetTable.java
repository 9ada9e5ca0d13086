package io.kagami.log;

import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The small files of a data directory that hold an offset for each log, in Apache Kafka's form: {@code topic partition offset} a line. */
public final class OffsetTable {
    /** Per log: everything below is on the disk. */
    public static final String RECOVERY_POINTS = "recovery-point-offset-checkpoint";

    /** Per log: where it starts. */
    public static final String START_OFFSETS = "log-start-offset-checkpoint";

    /** Present while a clean stop is the last that happened here. */
    public static final String CLEAN_MARK = ".kafka_cleanshutdown";

    private static final Logger LOG = LoggerFactory.getLogger(OffsetTable.class);

    private OffsetTable() {}

    /** Empty when the file is absent or corrupt, which is logged: it is rebuilt from the logs. */
    public static Map<LogName, Long> read(Disk disk, Path file) throws IOException {
        Map<LogName, Long> offsets = new HashMap<>();
        for (String line : Checkpoint.readTable(disk, file).orElse(List.of())) {
            String[] fields = line.split(" ");
            try {
                long offset = Long.parseLong(fields[2]);
                if (offset >= 0) {
                    offsets.put(new LogName(fields[0], Integer.parseInt(fields[1])), offset);
                }
            } catch (NumberFormatException | ArrayIndexOutOfBoundsException corrupt) {
                LOG.atWarn()
                        .addKeyValue("file", file)
                        .addKeyValue("line", line)
                        .log("Checkpoint is corrupt and is taken as missing; it is rebuilt from the logs");
                return new HashMap<>();
            }
        }
        return offsets;
    }

    /** Durable on return. */
    public static void write(Disk disk, Path file, Map<LogName, Long> offsets) throws IOException {
        List<String> lines = new ArrayList<>(offsets.size());
        offsets.forEach((name, offset) -> lines.add(name.topic() + " " + name.partition() + " " + offset));
        lines.sort(null);
        Checkpoint.writeTable(disk, file, lines);
    }
}
