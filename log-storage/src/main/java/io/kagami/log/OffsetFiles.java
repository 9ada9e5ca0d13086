package io.kagami.log;

import io.kagami.log.disk.Disk;
import java.io.IOException;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * The small tables of a data directory: how far each log is forced, where it starts, how far it is compacted, from where
 * on no segment is missing. Thread-safe.
 */
final class OffsetFiles {
    static final String RECOVERY_POINTS = OffsetTable.RECOVERY_POINTS;
    static final String START_OFFSETS = OffsetTable.START_OFFSETS;
    static final String CLEANED_OFFSETS = "cleaner-offset-checkpoint";

    /** Ours alone; Apache Kafka passes over it. */
    static final String UNBROKEN_OFFSETS = "unbroken-offset-checkpoint";

    private final Disk disk;
    private final Path root;
    private Map<LogName, Long> recoveryPoints;
    private Map<LogName, Long> startOffsets;
    private Map<LogName, Long> cleanedOffsets;
    private Map<LogName, Long> unbrokenOffsets;
    private final Map<LogName, Long> unbrokenWhenLoaded = new HashMap<>();

    /** Reads both; a corrupt one is as good as a missing one. */
    OffsetFiles(Disk disk, Path root) throws IOException {
        this.disk = disk;
        this.root = root;
        this.recoveryPoints = read(RECOVERY_POINTS);
        this.startOffsets = read(START_OFFSETS);
        this.cleanedOffsets = read(CLEANED_OFFSETS);
        this.unbrokenOffsets = read(UNBROKEN_OFFSETS);
    }

    synchronized long recoveryPoint(LogName name) {
        return recoveryPoints.getOrDefault(name, 0L);
    }

    synchronized long startOffset(LogName name) {
        return startOffsets.getOrDefault(name, 0L);
    }

    /** -1 when nothing is. */
    synchronized long cleanedTo(LogName name) {
        return cleanedOffsets.getOrDefault(name, -1L);
    }

    /** Each segment that begins above this one begins where the one before ends; -1 when that is not known. */
    synchronized long unbrokenFrom(LogName name) {
        return unbrokenOffsets.getOrDefault(name, -1L);
    }

    /** As it was found when the log was opened. */
    synchronized void loaded(LogName name, long unbrokenFrom) {
        unbrokenWhenLoaded.put(name, unbrokenFrom);
    }

    /** Durably no higher than these on return. */
    synchronized void lower(LogName name, long point, long cut) throws IOException {
        if (recoveryPoint(name) > point) {
            recoveryPoints.put(name, point);
            write(RECOVERY_POINTS, recoveryPoints);
        }
        if (startOffset(name) > cut) {
            startOffsets.put(name, cut);
            write(START_OFFSETS, startOffsets);
        }
        if (cleanedTo(name) > point) { // a cut inside a batch ends below itself, and what comes behind is dirty
            cleanedOffsets.put(name, point);
            write(CLEANED_OFFSETS, cleanedOffsets);
        }
    }

    /** A log created later under the same name must not inherit anything. */
    synchronized void forget(LogName name) throws IOException {
        if (recoveryPoints.remove(name) != null) {
            write(RECOVERY_POINTS, recoveryPoints);
        }
        if (startOffsets.remove(name) != null) {
            write(START_OFFSETS, startOffsets);
        }
        if (cleanedOffsets.remove(name) != null) {
            write(CLEANED_OFFSETS, cleanedOffsets);
        }
        if (unbrokenOffsets.remove(name) != null) {
            write(UNBROKEN_OFFSETS, unbrokenOffsets);
        }
        unbrokenWhenLoaded.remove(name);
    }

    /** Writes what has changed; what a log that is offline left behind stays as it is. */
    synchronized void write(Iterable<PartitionLog> logs) throws IOException {
        Map<LogName, Long> points = new HashMap<>();
        Map<LogName, Long> starts = new HashMap<>();
        Map<LogName, Long> cleaned = new HashMap<>();
        Map<LogName, Long> unbroken = new HashMap<>();
        for (PartitionLog log : logs) {
            LogName name = log.name();
            boolean open = log instanceof SegmentedLog;
            points.put(name, open ? ((SegmentedLog) log).recoveryPoint() : recoveryPoint(name));
            starts.put(name, open ? ((SegmentedLog) log).startToWrite() : startOffset(name));
            cleaned.put(name, open ? ((SegmentedLog) log).cleanedTo() : cleanedTo(name));
            unbroken.put(name, open ? unbrokenFrom((SegmentedLog) log) : unbrokenFrom(name));
        }
        unbroken.values().removeIf(offset -> offset < 0);
        cleaned.values().removeIf(offset -> offset < 0);
        starts.values().removeIf(start -> start == 0);
        if (!points.equals(recoveryPoints) || !disk.exists(root.resolve(RECOVERY_POINTS))) {
            write(RECOVERY_POINTS, points);
            recoveryPoints = points;
        }
        if (!starts.equals(startOffsets) || !disk.exists(root.resolve(START_OFFSETS))) {
            write(START_OFFSETS, starts);
            startOffsets = starts;
        }
        if (!cleaned.equals(cleanedOffsets)) {
            write(CLEANED_OFFSETS, cleaned);
            cleanedOffsets = cleaned;
        }
        if (!unbroken.equals(unbrokenOffsets)) {
            write(UNBROKEN_OFFSETS, unbroken);
            unbrokenOffsets = unbroken;
        }
    }

    /** Not below its first segment, so that after a clean stop it is seen when that one is missing. */
    private long unbrokenFrom(SegmentedLog log) {
        long first = log.view().segments().get(0).baseOffset();
        return Math.max(first, unbrokenWhenLoaded.getOrDefault(log.name(), 0L));
    }

    private void write(String file, Map<LogName, Long> offsets) throws IOException {
        OffsetTable.write(disk, root.resolve(file), offsets);
    }

    private Map<LogName, Long> read(String file) throws IOException {
        return OffsetTable.read(disk, root.resolve(file));
    }
}
