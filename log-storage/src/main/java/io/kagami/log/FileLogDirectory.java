package io.kagami.log;

import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.disk.FileReason;
import io.kagami.log.segment.Damage;
import io.kagami.log.segment.FileNames;
import io.kagami.log.segment.SegmentSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A data directory on a disk. The mark of a clean stop is taken away durably before the first log is looked at and written only after every
 * log was closed well, so a crash at any moment in between is an unclean stop (KAFKA-10471, KAFKA-15375).
 */
public final class FileLogDirectory implements LogDirectory {
    static final String CLEAN = OffsetTable.CLEAN_MARK;

    private static final Logger LOG = LoggerFactory.getLogger(FileLogDirectory.class);

    /** Written to see whether the disk takes bytes again; removed at start like every temporary file. */
    private static final String PROBE = ".probe" + Checkpoint.TEMPORARY;

    private static final int PROBE_BYTES = 64 << 10;

    private final Disk disk;
    private final Path root;
    private final InstantSource clock;
    private final DirectoryLock lock;
    private final boolean clean;
    private final OffsetFiles offsets;
    private final Set<LogName> found = new HashSet<>();
    private final Map<LogName, PartitionLog> logs = new ConcurrentHashMap<>();
    private final Map<LogName, Object> monitors = new ConcurrentHashMap<>();
    private final Map<LogName, String> refused = new ConcurrentHashMap<>();
    private final List<SegmentedLog> replaced = new ArrayList<>();
    private final LogMaker maker;
    private final Retries retries = new Retries();
    private final RemovedSegments removed = new RemovedSegments();
    private final FlushLoop flusher = new FlushLoop();
    private final AtomicInteger reserved = new AtomicInteger();
    private final AtomicBoolean closed = new AtomicBoolean();
    private volatile Function<LogName, LogOptions> options = name -> LogOptions.DEFAULT;
    private volatile String trouble;
    private int threads = 1;

    private FileLogDirectory(Disk disk, Path root, InstantSource clock, DirectoryLock lock) throws IOException {
        this.disk = disk;
        this.root = root;
        this.clock = clock;
        this.lock = lock;
        this.clean = disk.delete(root.resolve(CLEAN));
        disk.forceDirectory(root);
        this.offsets = new OffsetFiles(disk, root);
        this.maker = new LogMaker(disk, this, logs);
        for (Path child : disk.list(root)) {
            String file = child.getFileName().toString();
            if (file.endsWith(DirectoryNames.DELETED)) {
                remove(child);
            } else if (file.endsWith(Checkpoint.TEMPORARY)) {
                disk.delete(child);
            } else {
                DirectoryNames.parse(file).ifPresent(found::add);
            }
        }
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
        FileLogDirectory opened = prepare(disk, directory, clock);
        opened.openLogs(options, Map.of(), 1);
        return opened;
    }

    /** Locks the directory, takes away the mark of a clean stop and looks which logs there are; {@link #openLogs} must follow. */
    static FileLogDirectory prepare(Disk disk, Path directory, InstantSource clock) {
        DirectoryLock taken = null;
        FileLogDirectory prepared = null;
        try {
            disk.createDirectory(directory);
            taken = DirectoryLock.take(directory);
            prepared = new FileLogDirectory(disk, directory, clock, taken);
            return prepared;
        } catch (IOException e) {
            throw new StorageFault("cannot use data directory " + directory + ": " + FileReason.of(e), e);
        } finally {
            if (prepared == null && taken != null) {
                taken.close();
            }
        }
    }

    /** Logs whose directories are here. */
    Set<LogName> found() {
        return Set.copyOf(found);
    }

    Path root() {
        return root;
    }

    /** @param refusals logs that must not be opened, and why */
    void openLogs(Function<LogName, LogOptions> logOptions, Map<LogName, String> refusals, int parallel) {
        options = logOptions;
        threads = parallel;
        refused.putAll(refusals);
        long begun = clock.millis();
        RecoveryLoop.forEach(
                parallel, found.stream().sorted(DirectoryNames.ORDER).toList(), name -> openFirst(name)
                        .ifPresent(log -> logs.put(name, log)));
        LOG.atInfo()
                .addKeyValue("directory", root)
                .addKeyValue("logs", logs.size())
                .addKeyValue("clean", clean)
                .addKeyValue("tookMs", clock.millis() - begun)
                .log("Data directory opened");
    }

    /** Empty when there is no more than what a create left that did not get far. */
    private Optional<PartitionLog> openFirst(LogName name) {
        String refusal = refused.get(name);
        if (refusal != null) {
            LOG.atError()
                    .addKeyValue("log", name)
                    .addKeyValue("directory", root)
                    .log(refusal);
            return Optional.of(new OfflineLog(name, new UUID(0, 0), new StorageFault(refusal, null)));
        }
        Path directory = directoryOf(name);
        try {
            if (!wasCreated(directory)) {
                return Optional.empty();
            }
            return Optional.of(load(name, clean, offsets.recoveryPoint(name), offsets.startOffset(name)));
        } catch (IOException | RuntimeException | InternalError e) {
            StorageFault fault =
                    new StorageFault("cannot open log " + name + " in " + directory + ": " + FileReason.of(e), e);
            LOG.atError().addKeyValue("log", name).setCause(e).log("Log cannot be opened and is offline");
            retries.made(name, e instanceof Damage, clock.millis());
            return Optional.of(new OfflineLog(name, topicIdIfKnown(directory), fault));
        }
    }

    private UUID topicIdIfKnown(Path directory) {
        try {
            return DirectoryNames.readTopicId(disk, directory).orElse(new UUID(0, 0));
        } catch (IOException unreadable) {
            LOG.atDebug()
                    .addKeyValue("directory", directory)
                    .setCause(unreadable)
                    .log("Topic id cannot be read");
            return new UUID(0, 0);
        }
    }

    private SegmentedLog load(LogName name, boolean wasClean, long recoveryPoint, long startOffset) throws IOException {
        Path directory = directoryOf(name);
        Optional<UUID> written = DirectoryNames.readTopicId(disk, directory);
        if (written.isEmpty()) {
            LOG.atWarn().addKeyValue("log", name).log("Partition directory has no topic id");
        }
        LogOptions wanted = options.apply(name);
        LogLoader.Before before =
                new LogLoader.Before(wasClean, recoveryPoint, startOffset, offsets.unbrokenFrom(name));
        LogLoader.State state = loader(directory, wanted).load(before);
        offsets.loaded(name, state.unbrokenFrom());
        UUID id = written.orElse(new UUID(0, 0));
        long cleanedTo = Math.min(offsets.cleanedTo(name), state.endOffset());
        return log(name, directory, id, wanted, state, recoveryPoint, cleanedTo);
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

    private SegmentedLog log(
            LogName name,
            Path directory,
            UUID topicId,
            LogOptions wanted,
            LogLoader.State state,
            long recoveryPoint,
            long cleanedTo) {
        return new SegmentedLog(
                        disk,
                        directory,
                        name,
                        topicId,
                        wanted,
                        clock,
                        offsets::lower,
                        state,
                        recoveryPoint,
                        cleanedTo,
                        removed)
                .flushedBy(flusher);
    }

    private LogLoader loader(Path directory, LogOptions wanted) {
        return new LogLoader(disk, directory, settings(wanted), wanted.producerExpiryMs(), clock.millis());
    }

    private static SegmentSettings settings(LogOptions options) {
        return new SegmentSettings(options.indexIntervalBytes(), options.indexBytesMax());
    }

    Path directoryOf(LogName name) {
        return root.resolve(name.toString());
    }

    /** Whoever makes, opens anew or removes a log holds this, so that a long recovery keeps nobody else from working. */
    Object monitor(LogName name) {
        return monitors.computeIfAbsent(name, any -> new Object());
    }

    @Override
    public Collection<PartitionLog> logs() {
        return List.copyOf(logs.values());
    }

    @Override
    public Optional<PartitionLog> get(LogName name) {
        return Optional.ofNullable(logs.get(name));
    }

    /** How many logs there are, and are about to be. */
    int count() {
        return logs.size() + reserved.get();
    }

    void reserve(int change) {
        reserved.addAndGet(change);
    }

    /** Whether it did not take a write the last time. */
    boolean troubled() {
        return trouble != null;
    }

    @Override
    public PartitionLog create(LogName name, UUID topicId, LogOptions wanted) {
        requireOpen();
        return maker.create(new NewLog(name, topicId, wanted));
    }

    @Override
    public void createAll(Collection<NewLog> wanted) {
        requireOpen();
        maker.createAll(wanted);
    }

    /** One without any record, its files made but not durable. */
    SegmentedLog empty(NewLog wanted) throws IOException {
        offsets.forget(wanted.name()); // of one whose directory was removed by hand
        Path directory = directoryOf(wanted.name());
        LogLoader.State state = loader(directory, wanted.options()).load(LogLoader.Before.NOTHING);
        offsets.loaded(wanted.name(), state.unbrokenFrom());
        return log(wanted.name(), directory, wanted.topicId(), wanted.options(), state, 0, -1);
    }

    @Override
    public void delete(LogName name) {
        synchronized (monitor(name)) {
            Path doomed = root.resolve(DirectoryNames.deleted(name));
            if (rename(name, doomed, "it was deleted")) {
                try {
                    remove(doomed);
                } catch (IOException e) {
                    throw new StorageFault("cannot delete log " + name + " in " + root + ": " + FileReason.of(e), e);
                }
            }
        }
        monitors.remove(name);
    }

    @Override
    public void setAside(LogName name) {
        synchronized (monitor(name)) {
            rename(name, root.resolve(DirectoryNames.stray(name)), "it was set aside");
        }
    }

    /** Closes the log and gives its directory another name, durably. False when there was none. */
    private boolean rename(LogName name, Path other, String reason) {
        requireOpen();
        PartitionLog log = logs.remove(name);
        if (log == null) {
            return false;
        }
        refused.remove(name);
        try {
            if (log instanceof SegmentedLog segmented) {
                segmented.release(reason);
            }
            offsets.forget(name);
            Path directory = directoryOf(name);
            if (!disk.exists(directory)) {
                return false;
            }
            disk.rename(directory, other);
            disk.forceDirectory(root);
            return true;
        } catch (IOException e) {
            throw new StorageFault("cannot rename log " + name + " to " + other + ": " + FileReason.of(e), e);
        }
    }

    /** Removes a partition directory and what is in it; there are no directories below it. */
    void remove(Path directory) throws IOException {
        for (Path file : disk.list(directory)) {
            disk.delete(file);
        }
        disk.delete(directory);
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
            offsets.write(logs.values());
        } catch (IOException e) {
            troubled("cannot write its checkpoints: " + FileReason.of(e));
            throw new StorageFault("cannot write the checkpoints of " + root + ": " + FileReason.of(e), e);
        }
    }

    @Override
    public void removeDeleted() {
        removed.sweep(clock.millis());
    }

    @Override
    public void flushDue(long nowMs) {
        for (PartitionLog log : logs.values()) {
            if (log instanceof SegmentedLog segmented && segmented.flushDue(nowMs)) {
                flusher.force(segmented);
            }
        }
    }

    @Override
    public void heal(long nowMs) {
        replaced.removeIf(old -> old.release("it was opened anew"));
        List<PartitionLog> due = logs.values().stream()
                .filter(log -> log.offline() && !refused.containsKey(log.name()))
                .filter(log -> !(log instanceof SegmentedLog segmented) || segmented.retired())
                .filter(log -> retries.due(log.name(), nowMs))
                .toList();
        if (!due.isEmpty() || trouble != null) {
            if (takesWrites()) {
                due.forEach(log -> reopen(log, nowMs));
            }
        }
    }

    /** Writes and forces a little, as long as something is wrong. */
    private boolean takesWrites() {
        Path probe = root.resolve(PROBE);
        try {
            if (!disk.exists(root.resolve(DirectoryLock.FILE))) {
                throw new IOException(root + " is not there, or not what it was");
            }
            try (DiskFile file = disk.open(probe)) {
                file.write(ByteBuffer.allocate(PROBE_BYTES), 0);
                file.force();
            } finally {
                disk.delete(probe);
            }
        } catch (IOException e) {
            troubled("it takes no writes: " + FileReason.of(e));
            return false;
        }
        if (trouble != null) {
            LOG.atInfo().addKeyValue("directory", root).log("Data directory takes writes again");
            trouble = null;
        }
        return true;
    }

    private void troubled(String what) {
        if (!what.equals(trouble)) {
            LOG.atError()
                    .addKeyValue("directory", root)
                    .addKeyValue("trouble", what)
                    .log("Data directory is in trouble");
            trouble = what;
        }
    }

    private void reopen(PartitionLog old, long nowMs) {
        LogName name = old.name();
        synchronized (monitor(name)) {
            if (closed.get() || logs.get(name) != old) {
                return;
            }
            boolean damaged = false;
            try {
                if (!wasCreated(directoryOf(name))) {
                    LOG.atWarn()
                            .addKeyValue("log", name)
                            .addKeyValue("directory", root)
                            .log("Directory of a log that is offline was removed; the log may be created anew");
                    offsets.forget(name);
                    logs.remove(name);
                } else {
                    comeBack(old, nowMs);
                }
            } catch (IOException | RuntimeException | InternalError e) {
                damaged = e instanceof Damage;
                LOG.atWarn()
                        .addKeyValue("log", name)
                        .addKeyValue("directory", root)
                        .addKeyValue("reason", FileReason.of(e))
                        .log("Log cannot be opened again yet and stays offline");
                if (old instanceof OfflineLog) {
                    StorageFault fault = new StorageFault(
                            "cannot open log " + name + " in " + directoryOf(name) + ": " + FileReason.of(e), e);
                    logs.put(name, new OfflineLog(name, old.topicId(), fault));
                }
            }
            retries.made(name, damaged, nowMs);
        }
    }

    private void comeBack(PartitionLog old, long nowMs) throws IOException {
        LogName name = old.name();
        boolean open = old instanceof SegmentedLog;
        long point = open ? ((SegmentedLog) old).recoveryPoint() : offsets.recoveryPoint(name);
        long start = open ? ((SegmentedLog) old).startToWrite() : offsets.startOffset(name);
        SegmentedLog log = load(name, false, point, start);
        long end = log.view().endOffset();
        boolean lost = open && end < old.view().endOffset();
        (lost ? LOG.atError() : LOG.atInfo())
                .addKeyValue("log", name)
                .addKeyValue("directory", root)
                .addKeyValue("endOffset", end)
                .addKeyValue("endBefore", open ? old.view().endOffset() : -1)
                .addKeyValue("tookMs", clock.millis() - nowMs)
                .log(lost ? "Log is online again, but the disk has lost the end of it" : "Log is online again");
        logs.put(name, log);
        if (open) {
            replaced.add((SegmentedLog) old); // who reads it now gets a moment
        }
    }

    @Override
    public List<State> states() {
        int offline = (int) logs.values().stream().filter(PartitionLog::offline).count();
        return List.of(new State(root, logs.size(), offline, Optional.ofNullable(trouble)));
    }

    @Override
    public Optional<String> incomplete() {
        return Optional.empty();
    }

    /** Whether the directory is still the one that was locked. */
    boolean present() {
        return disk.exists(root.resolve(DirectoryLock.FILE));
    }

    /** Fences all logs, because the directory is gone from under them, and gives up the lock; nothing is written. */
    void abandon(StorageFault why) {
        if (closed.compareAndSet(false, true)) {
            logs.replaceAll((name, log) -> {
                if (log instanceof SegmentedLog segmented) {
                    segmented.fence(why);
                }
                return log;
            });
            flusher.close();
            removed.close();
            lock.close();
        }
    }

    /** Closes the files of an abandoned directory that no writer uses any more; true when there are no others. */
    boolean letGo() {
        replaced.removeIf(old -> old.release("it was opened anew"));
        for (PartitionLog log : logs.values()) {
            if (log instanceof SegmentedLog segmented) {
                if (!segmented.retired()) {
                    return false;
                }
                segmented.release("its directory is gone");
            }
        }
        return true;
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        flusher.close();
        AtomicBoolean allClean = new AtomicBoolean(true);
        RecoveryLoop.forEach(Math.max(threads, RecoveryLoop.DISK_THREADS), logs(), log -> {
            if (!(log instanceof SegmentedLog segmented && segmented.close())) {
                allClean.set(false);
            }
        });
        replaced.forEach(old -> old.release("it was opened anew"));
        removed.close();
        try {
            offsets.write(logs.values());
            if (allClean.get()) {
                Checkpoint.writeText(disk, root.resolve(CLEAN), "{\"version\":0,\"brokerEpoch\":-1}\n");
            }
        } catch (IOException e) {
            throw new StorageFault("cannot note the stop of " + root + ": " + FileReason.of(e), e);
        } finally {
            lock.close();
            LOG.atInfo()
                    .addKeyValue("directory", root)
                    .addKeyValue("clean", allClean)
                    .log("Data directory closed");
        }
    }

    private void requireOpen() {
        if (closed.get()) {
            throw new IllegalStateException("data directory " + root + " is closed");
        }
    }
}
