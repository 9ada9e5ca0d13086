package io.kagami.broker.adopt;

import io.kagami.broker.core.adopt.SourceLog;
import io.kagami.log.DirectoryNames;
import io.kagami.log.LogName;
import io.kagami.log.OffsetTable;
import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.disk.FileReason;
import io.kagami.log.segment.FileNames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.kafka.common.Uuid;

/**
 * Finds the partition directories in one log directory and what they say of themselves. Batches are read where its broker crashed, and
 * headers of batches where no snapshot of the producers is as new as the log.
 */
final class LogFinder {
    /** Behind int16 version, int32 CRC and int32 count: entries that begin with the producer id. */
    private static final int PRODUCERS_HEADER_BYTES = 10;

    private static final int PRODUCER_BYTES = 46;
    private static final int SNAPSHOT_BYTES_MAX = 256 << 20;

    private final FileDisk disk = new FileDisk();
    private final Path directory;
    private final int node;
    private final boolean clean;

    /**
     * @param node whose directory it is
     * @param clean whether its broker was stopped well
     */
    LogFinder(Path directory, int node, boolean clean) {
        this.directory = directory;
        this.node = node;
        this.clean = clean;
    }

    List<SourceLog> find() throws IOException {
        Map<LogName, Long> recoveryPoints = OffsetTable.read(disk, directory.resolve(OffsetTable.RECOVERY_POINTS));
        Map<LogName, Long> starts = OffsetTable.read(disk, directory.resolve(OffsetTable.START_OFFSETS));
        List<SourceLog> found = new ArrayList<>();
        for (Path child : disk.list(directory)) {
            String file = child.getFileName().toString();
            Optional<LogName> name = DirectoryNames.parse(file);
            if (!Files.isDirectory(child) || file.equals(KafkaMetadataReader.DIRECTORY)) {
                continue;
            }
            if (name.isPresent()) {
                found.add(log(
                        child,
                        name.get(),
                        recoveryPoints.getOrDefault(name.get(), 0L),
                        starts.getOrDefault(name.get(), 0L)));
            } else {
                String why = whyNone(file);
                if (why != null) {
                    found.add(new SourceLog(
                            child.toString(), null, 0, Uuid.ZERO_UUID, node, bytes(child), -1, -1, 0, 0, why));
                }
            }
        }
        return found;
    }

    /** Kafka's names for directories on their way out or in; null for what has nothing to do with a log. */
    private static String whyNone(String file) {
        if (file.endsWith("-delete")) {
            return "it was being deleted";
        }
        if (file.endsWith("-stray")) {
            return "its broker had set it aside";
        }
        return file.endsWith("-future") ? "it was an unfinished copy to another disk" : null;
    }

    private SourceLog log(Path path, LogName name, long recoveryPoint, long start) throws IOException {
        String problem = null;
        Uuid id = Uuid.ZERO_UUID;
        try {
            Optional<UUID> written = DirectoryNames.readTopicId(disk, path);
            id = written.map(uuid -> new Uuid(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits()))
                    .orElse(Uuid.ZERO_UUID);
        } catch (IOException e) {
            problem = "cannot be read: " + FileReason.of(e);
        }
        LogEvidence evidence = new LogEvidence(disk, path, clean, recoveryPoint, start);
        String missing = evidence.missing();
        problem = problem == null && missing != null ? missing + ": segments are missing in " + path : problem;
        return new SourceLog(
                path.toString(),
                name.topic(),
                name.partition(),
                id,
                node,
                bytes(path),
                lastEpoch(path),
                maxProducerId(path),
                clean ? recoveryPoint : new TailCheck(disk, path).wholeUpTo(recoveryPoint),
                start,
                problem,
                problem == null ? evidence.open() : List.of());
    }

    private long bytes(Path path) throws IOException {
        long bytes = 0;
        for (Path file : disk.list(path)) {
            boolean index = FileNames.baseOffset(file, FileNames.INDEX).isPresent()
                    || FileNames.baseOffset(file, FileNames.TIME_INDEX).isPresent();
            bytes += Files.isRegularFile(file) && !index ? disk.size(file) : 0;
        }
        return bytes;
    }

    private int lastEpoch(Path path) throws IOException {
        int last = -1;
        for (String line :
                Checkpoint.readTable(disk, path.resolve(FileNames.EPOCHS)).orElse(List.of())) {
            try {
                last = Math.max(last, Integer.parseInt(line.split(" ")[0]));
            } catch (NumberFormatException e) {
                // the metadata has an epoch that is not lower, and the log's history is rebuilt from its batches
                return -1;
            }
        }
        return last;
    }

    /** Of the producers that the newest snapshot names; the metadata knows of all others. */
    private long maxProducerId(Path path) throws IOException {
        Path newest = null;
        for (Path file : disk.list(path)) {
            newest = FileNames.baseOffset(file, FileNames.SNAPSHOT).isPresent() ? file : newest;
        }
        if (newest == null) {
            return -1;
        }
        ByteBuffer snapshot = ByteBuffer.wrap(disk.readAll(newest, SNAPSHOT_BYTES_MAX));
        long max = -1;
        for (int at = PRODUCERS_HEADER_BYTES; at + PRODUCER_BYTES <= snapshot.limit(); at += PRODUCER_BYTES) {
            max = Math.max(max, snapshot.getLong(at));
        }
        return max;
    }
}
