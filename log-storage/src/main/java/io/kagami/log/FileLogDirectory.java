package io.kagami.log;

import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.FileNames;
import io.kagami.log.segment.SegmentSettings;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A data directory on a disk. The mark of a clean stop is taken away durably before the first log is looked at and written only after every
 * log was closed well, so a crash at any moment in between is an unclean stop (KAFKA-10471, KAFKA-15375).
 */
public final class FileLogDirectory implements LogDirectory {
    static final String LOCK = ".lock";
    static final String CLEAN = ".kafka_cleanshutdown";
    static final String RECOVERY_POINTS = "recovery-point-offset-checkpoint";
    static final String START_OFFSETS = "log-start-offset-checkpoint";
    static final String CLEANED_OFFSETS = "cleaner-offset-checkpoint";

    private static final Logger LOG = LoggerFactory.getLogger(FileLogDirectory.class);

    private final Disk disk;
    private final Path root;
    private final InstantSource clock;
    private final FileChannel lockChannel;
    private final FileLock lock;
    private final Map<LogName, PartitionLog> logs = new ConcurrentHashMap<>();
    private final Object checkpointLock = new Object();
    private Map<LogName, Long> recoveryPoints = new HashMap<>();
    private Map<LogName, Long> startOffsets = new HashMap<>();
    private Map<LogName, Long> cleanedOffsets = new HashMap<>();
    private final RemovedSegments removed = new RemovedSegments();
    private boolean closed;

    private FileLogDirectory(Disk disk, Path root, InstantSource clock, FileChannel lockChannel, FileLock lock) {
        this.disk = disk;
        this.root = root;
        this.clock = clock;
        this.lockChannel = lockChannel;
        this.lock = lock;
    }

    /**
     * Locks the directory (created when absent), opens and recovers its logs. A log that cannot be opened is there, but offline.
     *
     * @throws StorageFault when another process has the directory, or its own files cannot be read or written
     */
    public static LogDirectory open(Path directory, Function<LogName, LogOptions> options, InstantSource clock) {
        return open(new FileDisk(), directory, options, clock);
    }

    static FileLogDirectory open(
            Disk disk, Path directory, Function<LogName, LogOptions> options, InstantSource clock) {
        FileLogDirectory opened;
        try {
            disk.createDirectory(directory);
            FileChannel channel =
                    FileChannel.open(directory.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            opened = new FileLogDirectory(disk, directory, clock, channel, lock(channel, directory));
        } catch (IOException e) {
            throw new StorageFault("cannot use data directory " + directory + ": " + e.getMessage(), e);
        }
        try {
            opened.openLogs(options);
            return opened;
        } catch (IOException e) {
            opened.unlock();
            throw new StorageFault("cannot open the logs in " + directory + ": " + e.getMessage(), e);
        }
    }

    private static FileLock lock(FileChannel channel, Path directory) throws IOException {
        FileLock lock = null;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException heldByThisProcess) {
            LOG.atDebug().addKeyValue("directory", directory).log("Lock is held by this very process");
        }
        if (lock == null) {
            channel.close();
            throw new IOException("another broker is using it (file " + LOCK
                    + " is locked); stop that one, or set another" + " log.dirs");
        }
        return lock;
    }

    private void openLogs(Function<LogName, LogOptions> options) throws IOException {
        boolean clean = disk.delete(root.resolve(CLEAN));
        disk.forceDirectory(root);
        recoveryPoints = readOffsets(RECOVERY_POINTS);
        startOffsets = readOffsets(START_OFFSETS);
        cleanedOffsets = readOffsets(CLEANED_OFFSETS);
        List<Path> children = disk.list(root);
        for (Path child : children) {
            String file = child.getFileName().toString();
            if (file.endsWith(DirectoryNames.DELETED)) {
                remove(child);
            } else if (file.endsWith(Checkpoint.TEMPORARY)) {
                disk.delete(child);
            }
        }
        long begun = clock.millis();
        for (Path child : children) {
            Optional<LogName> name = DirectoryNames.parse(child.getFileName().toString());
            if (name.isPresent() && wasCreated(child)) {
                logs.put(name.get(), openLog(name.get(), child, options.apply(name.get()), clean));
            }
        }
        LOG.atInfo()
                .addKeyValue("directory", root)
                .addKeyValue("logs", logs.size())
                .addKeyValue("clean", clean)
                .addKeyValue("tookMs", clock.millis() - begun)
                .log("Data directory opened");
    }

    /** Whether create got as far as the identity; without it there can be no batch, unless somebody took the file away. */
    private boolean wasCreated(Path directory) throws IOException {
        boolean identity = false;
        boolean batches = false;
        for (Path file : disk.list(directory)) {
            identity |= file.endsWith(FileNames.METADATA);
            batches |= FileNames.baseOffset(file, FileNames.LOG).isPresent() && disk.size(file) > 0;
        }
        return identity || batches;
    }

    private PartitionLog openLog(LogName name, Path directory, LogOptions options, boolean clean) {
        UUID topicId = new UUID(0, 0);
        try {
            Optional<UUID> written = DirectoryNames.readTopicId(disk, directory);
            topicId = written.orElse(topicId);
            if (written.isEmpty()) {
                LOG.atWarn().addKeyValue("log", name).log("Partition directory has no topic id");
            }
            long recoveryPoint = recoveryPoints.getOrDefault(name, 0L);
            LogLoader.Before before = new LogLoader.Before(clean, recoveryPoint, startOffsets.getOrDefault(name, 0L));
            LogLoader.State state = loader(directory, options).load(before);
            if (state.endOffset() < recoveryPoint) {
                lower(name, state.endOffset()); // what is appended there is not on disk before it is forced
            }
            long cleanedTo = cleanedOffsets.getOrDefault(name, -1L);
            return new SegmentedLog(
                    disk,
                    directory,
                    name,
                    topicId,
                    options,
                    clock,
                    this::lower,
                    state,
                    recoveryPoint,
                    cleanedTo,
                    removed);
        } catch (IOException | RuntimeException e) {
            StorageFault fault =
                    new StorageFault("cannot open log " + name + " in " + directory + ": " + e.getMessage(), e);
            LOG.atError().addKeyValue("log", name).setCause(e).log("Log cannot be opened and is offline");
            return new OfflineLog(name, topicId, fault);
        }
    }

    private LogLoader loader(Path directory, LogOptions options) {
        return new LogLoader(disk, directory, settings(options), options.producerExpiryMs(), clock.millis());
    }

    private static SegmentSettings settings(LogOptions options) {
        return new SegmentSettings(options.indexIntervalBytes(), options.indexBytesMax());
    }

    @Override
    public Collection<PartitionLog> logs() {
        return List.copyOf(logs.values());
    }

    @Override
    public Optional<PartitionLog> get(LogName name) {
        return Optional.ofNullable(logs.get(name));
    }

    @Override
    public synchronized PartitionLog create(LogName name, UUID topicId, LogOptions options) {
        requireOpen();
        if (logs.containsKey(name)) {
            throw new IllegalStateException("log " + name + " exists already in " + root);
        }
        Path directory = root.resolve(name.toString());
        try {
            if (disk.exists(directory)) {
                remove(directory); // left by a create that did not get far: it was not found when the directory was
                // opened
            }
            disk.createDirectory(directory);
            DirectoryNames.writeTopicId(disk, directory, topicId);
            LogLoader.Before empty = new LogLoader.Before(true, 0, 0);
            LogLoader.State state = loader(directory, options).load(empty);
            disk.forceDirectory(directory);
            disk.forceDirectory(root);
            SegmentedLog log = new SegmentedLog(
                    disk, directory, name, topicId, options, clock, this::lower, state, 0, -1, removed);
            logs.put(name, log);
            return log;
        } catch (IOException e) {
            throw new StorageFault("cannot create log " + name + " in " + root + ": " + e.getMessage(), e);
        }
    }

    @Override
    public synchronized void delete(LogName name) {
        Path doomed = root.resolve(DirectoryNames.deleted(name));
        if (rename(name, doomed, "it was deleted")) {
            try {
                remove(doomed);
            } catch (IOException e) {
                throw new StorageFault("cannot delete log " + name + " in " + root + ": " + e.getMessage(), e);
            }
        }
    }

    @Override
    public synchronized void setAside(LogName name) {
        rename(name, root.resolve(DirectoryNames.stray(name)), "it was set aside");
    }

    /** Closes the log and gives its directory another name, durably. False when there was none. */
    private boolean rename(LogName name, Path other, String reason) {
        requireOpen();
        PartitionLog log = logs.remove(name);
        if (log == null) {
            return false;
        }
        try {
            if (log instanceof SegmentedLog segmented) {
                segmented.release(reason);
            }
            lowerAll(name);
            Path directory = root.resolve(name.toString());
            if (!disk.exists(directory)) {
                return false;
            }
            disk.rename(directory, other);
            disk.forceDirectory(root);
            return true;
        } catch (IOException e) {
            throw new StorageFault("cannot rename log " + name + " to " + other + ": " + e.getMessage(), e);
        }
    }

    /** A log created later under the same name must not inherit anything. */
    private void lowerAll(LogName name) throws IOException {
        synchronized (checkpointLock) {
            if (recoveryPoints.remove(name) != null) {
                writeOffsets(RECOVERY_POINTS, recoveryPoints);
            }
            if (startOffsets.remove(name) != null) {
                writeOffsets(START_OFFSETS, startOffsets);
            }
            if (cleanedOffsets.remove(name) != null) {
                writeOffsets(CLEANED_OFFSETS, cleanedOffsets);
            }
        }
    }

    /** Removes a partition directory and what is in it; there are no directories below it. */
    private void remove(Path directory) throws IOException {
        for (Path file : disk.list(directory)) {
            disk.delete(file);
        }
        disk.delete(directory);
    }

    private void lower(LogName name, long offset) throws IOException {
        synchronized (checkpointLock) {
            if (recoveryPoints.getOrDefault(name, 0L) > offset) {
                recoveryPoints.put(name, offset);
                writeOffsets(RECOVERY_POINTS, recoveryPoints);
            }
            if (startOffsets.getOrDefault(name, 0L) > offset) {
                startOffsets.put(name, offset);
                writeOffsets(START_OFFSETS, startOffsets);
            }
            if (cleanedOffsets.getOrDefault(name, 0L) > offset) {
                cleanedOffsets.put(name, offset);
                writeOffsets(CLEANED_OFFSETS, cleanedOffsets);
            }
        }
    }

    @Override
    public void checkpoint() {
        for (PartitionLog log : logs.values()) {
            if (log instanceof SegmentedLog segmented && !segmented.offline()) {
                try {
                    segmented.forceSealed();
                } catch (StorageFault offline) {
                    LOG.atDebug().addKeyValue("log", log.name()).log("Log went offline; its offsets stay as they were");
                }
            }
        }
        try {
            writeCheckpoints();
        } catch (IOException e) {
            throw new StorageFault("cannot write the checkpoints of " + root + ": " + e.getMessage(), e);
        }
    }

    private void writeCheckpoints() throws IOException {
        synchronized (checkpointLock) {
            Map<LogName, Long> points = new HashMap<>();
            Map<LogName, Long> starts = new HashMap<>();
            Map<LogName, Long> cleaned = new HashMap<>();
            for (PartitionLog log : logs.values()) {
                LogName name = log.name();
                if (log instanceof SegmentedLog segmented) {
                    points.put(name, segmented.recoveryPoint());
                    starts.put(name, segmented.startToWrite());
                    cleaned.put(name, segmented.cleanedTo());
                } else {
                    points.put(name, recoveryPoints.getOrDefault(name, 0L));
                    starts.put(name, startOffsets.getOrDefault(name, 0L));
                    cleaned.put(name, cleanedOffsets.getOrDefault(name, -1L));
                }
            }
            starts.values().removeIf(start -> start == 0);
            cleaned.values().removeIf(offset -> offset < 0);
            if (!points.equals(recoveryPoints) || !disk.exists(root.resolve(RECOVERY_POINTS))) {
                recoveryPoints = points;
                writeOffsets(RECOVERY_POINTS, points);
            }
            if (!starts.equals(startOffsets) || !disk.exists(root.resolve(START_OFFSETS))) {
                startOffsets = starts;
                writeOffsets(START_OFFSETS, starts);
            }
            if (!cleaned.equals(cleanedOffsets)) {
                cleanedOffsets = cleaned;
                writeOffsets(CLEANED_OFFSETS, cleaned);
            }
        }
    }

    @Override
    public void removeDeleted() {
        removed.sweep(clock.millis());
    }

    private void writeOffsets(String file, Map<LogName, Long> offsets) throws IOException {
        List<String> lines = new ArrayList<>(offsets.size());
        offsets.forEach((name, offset) -> lines.add(name.topic() + " " + name.partition() + " " + offset));
        lines.sort(null);
        Checkpoint.writeTable(disk, root.resolve(file), lines);
    }

    private Map<LogName, Long> readOffsets(String file) throws IOException {
        Map<LogName, Long> offsets = new HashMap<>();
        for (String line : Checkpoint.readTable(disk, root.resolve(file)).orElse(List.of())) {
            String[] fields = line.split(" ");
            try {
                long offset = Long.parseLong(fields[2]);
                if (offset >= 0) {
                    offsets.put(new LogName(fields[0], Integer.parseInt(fields[1])), offset);
                }
            } catch (NumberFormatException | ArrayIndexOutOfBoundsException corrupt) {
                LOG.atWarn()
                        .addKeyValue("file", root.resolve(file))
                        .addKeyValue("line", line)
                        .log("Checkpoint is corrupt and is taken as missing; it is rebuilt from the logs");
                return new HashMap<>();
            }
        }
        return offsets;
    }

    @Override
    public synchronized void close() {
        if (closed) {
            return;
        }
        closed = true;
        boolean clean = true;
        for (PartitionLog log : logs.values()) {
            clean &= log instanceof SegmentedLog segmented && segmented.close();
        }
        removed.close();
        try {
            writeCheckpoints();
            if (clean) {
                Checkpoint.writeText(disk, root.resolve(CLEAN), "{\"version\":0,\"brokerEpoch\":-1}\n");
            }
        } catch (IOException e) {
            throw new StorageFault("cannot note the stop of " + root + ": " + e.getMessage(), e);
        } finally {
            unlock();
            LOG.atInfo()
                    .addKeyValue("directory", root)
                    .addKeyValue("clean", clean)
                    .log("Data directory closed");
        }
    }

    private void requireOpen() {
        if (closed) {
            throw new IllegalStateException("data directory " + root + " is closed");
        }
    }

    private void unlock() {
        try {
            lock.release();
            lockChannel.close();
        } catch (IOException e) {
            LOG.atWarn().addKeyValue("directory", root).setCause(e).log("Lock could not be given up");
        }
    }
}
