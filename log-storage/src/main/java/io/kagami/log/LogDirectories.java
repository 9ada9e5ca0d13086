package io.kagami.log;

import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Function;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Several data directories, each on a disk of its own (JBOD). A log lives in one of them; a new one goes where the fewest are. A directory
 * that cannot be opened, or is gone later, takes only its own logs offline and is tried again every few seconds. All waiting for a disk is
 * done by threads of its directory.
 */
public final class LogDirectories implements LogDirectory {
    private static final Logger LOG = LoggerFactory.getLogger(LogDirectories.class);
    private static final int CLOSE_S = 20;

    private final Disk disk;
    private final InstantSource clock;
    private final Function<LogName, LogOptions> options;
    private final int recoveryThreads;
    private final List<Slot> slots = new ArrayList<>();

    /** One entry of {@code log.dirs}. What is in it changes on its upkeep thread. */
    private static final class Slot {
        private final Path path;
        private final UpkeepLoop upkeep;
        private final List<FileLogDirectory> gone = new CopyOnWriteArrayList<>();
        private volatile FileLogDirectory directory;
        private volatile String reason;

        Slot(Path path, int number) {
            this.path = path;
            this.upkeep = new UpkeepLoop(number);
        }
    }

    private LogDirectories(Disk disk, InstantSource clock, Function<LogName, LogOptions> options, int recoveryThreads) {
        this.disk = disk;
        this.clock = clock;
        this.options = options;
        this.recoveryThreads = recoveryThreads;
    }

    /**
     * Opens all, at the same time. A single directory, and all of a broker that never ran, are created when absent; an absent one beside
     * others that were used is taken for one that is not mounted.
     *
     * @param recoveryThreads logs opened or closed at once in each directory
     * @throws StorageFault when not one can be opened, with the reason of each
     */
    public static LogDirectories open(
            List<Path> paths, Function<LogName, LogOptions> options, InstantSource clock, int recoveryThreads) {
        return open(new FileDisk(), paths, options, clock, recoveryThreads);
    }

    static LogDirectories open(
            Disk disk,
            List<Path> paths,
            Function<LogName, LogOptions> options,
            InstantSource clock,
            int recoveryThreads) {
        refuseIfOverlapping(paths);
        LogDirectories all = new LogDirectories(disk, clock, options, recoveryThreads);
        paths.forEach(path -> all.slots.add(new Slot(path, all.slots.size())));
        try {
            all.openAll();
            return all;
        } catch (RuntimeException | Error e) {
            all.close();
            throw e;
        }
    }

    /** One directory under two names, or one within another: each would take the other's files for its own. */
    private static void refuseIfOverlapping(List<Path> paths) {
        List<Path> real = paths.stream().map(LogDirectories::realPath).toList();
        for (int i = 0; i < paths.size(); i++) {
            for (int j = 0; j < paths.size(); j++) {
                if (i != j && real.get(j).startsWith(real.get(i))) {
                    String how =
                            real.get(i).equals(real.get(j)) ? "are the same directory" : "lie one within the other";
                    throw new StorageFault(
                            "log.dirs names " + paths.get(Math.min(i, j)) + " and " + paths.get(Math.max(i, j))
                                    + ", which " + how + ": name each directory once",
                            null);
                }
            }
        }
    }

    /** With links followed as far as it exists. */
    private static Path realPath(Path path) {
        Path absolute = path.toAbsolutePath().normalize();
        for (Path part = absolute; part != null; part = part.getParent()) {
            try {
                return part.toRealPath().resolve(part.relativize(absolute)).normalize();
            } catch (IOException absent) {
                LOG.atDebug().addKeyValue("directory", part).setCause(absent).log("Directory has no real path yet");
            }
        }
        return absolute;
    }

    /** Whether there are partition directories in it; false as well when it cannot be read. */
    public static boolean holdsLogs(Path directory) {
        try {
            return new FileDisk().list(directory).stream().anyMatch(child -> DirectoryNames.parse(
                            child.getFileName().toString())
                    .isPresent());
        } catch (IOException unreadable) {
            LOG.atDebug()
                    .addKeyValue("directory", directory)
                    .setCause(unreadable)
                    .log("Directory cannot be listed");
            return false;
        }
    }

    private void openAll() {
        boolean used = slots.stream().anyMatch(slot -> disk.exists(slot.path.resolve(DirectoryLock.FILE)));
        Map<Slot, FileLogDirectory> prepared = new ConcurrentHashMap<>();
        RecoveryLoop.forEach(
                slots.size(),
                slots,
                slot -> attempt(slot, () -> {
                    refuseIfNotMounted(slot, used);
                    prepared.put(slot, FileLogDirectory.prepare(disk, slot.path, clock));
                }));
        Map<LogName, List<Path>> places = new HashMap<>();
        prepared.values().forEach(directory -> directory.found().forEach(name -> places.computeIfAbsent(
                        name, any -> new ArrayList<>())
                .add(directory.root())));
        Map<LogName, String> refused = new HashMap<>();
        places.forEach((name, paths) -> {
            if (paths.size() > 1) {
                paths.sort(null);
                refused.put(name, twice(name, paths));
            }
        });
        RecoveryLoop.forEach(slots.size(), prepared.keySet(), slot -> {
            FileLogDirectory directory = prepared.get(slot);
            directory.openLogs(options, refused, recoveryThreads);
            slot.directory = directory;
        });
        if (open().isEmpty()) {
            List<String> reasons = slots.stream().map(slot -> slot.reason).toList();
            throw new StorageFault(
                    (slots.size() == 1 ? "" : "none of the directories of log.dirs can be used: ")
                            + String.join("; ", reasons),
                    null);
        }
    }

    private static String twice(LogName name, List<Path> places) {
        return "log " + name + " is in several data directories ("
                + places.stream().map(Path::toString).toList()
                + "); none of them is used. Move all but the right one away and restart";
    }

    private void refuseIfNotMounted(Slot slot, boolean used) {
        if (used && !disk.exists(slot.path)) {
            throw new StorageFault(
                    "data directory " + slot.path + " does not exist, although others of log.dirs are in use:"
                            + " mount it, or create it if it is new",
                    null);
        }
    }

    private static void attempt(Slot slot, Runnable task) {
        try {
            task.run();
        } catch (StorageFault e) {
            if (!e.getMessage().equals(slot.reason)) {
                LOG.atError()
                        .addKeyValue("directory", slot.path)
                        .addKeyValue("reason", e.getMessage())
                        .log("Data directory cannot be opened; its logs are offline");
            }
            slot.reason = e.getMessage();
        }
    }

    private List<FileLogDirectory> open() {
        List<FileLogDirectory> open = new ArrayList<>(slots.size());
        for (Slot slot : slots) {
            FileLogDirectory directory = slot.directory;
            if (directory != null) {
                open.add(directory);
            }
        }
        return open;
    }

    @Override
    public Collection<PartitionLog> logs() {
        List<PartitionLog> all = new ArrayList<>();
        open().forEach(directory -> all.addAll(directory.logs()));
        return all;
    }

    /** One that is online, if there is one. */
    @Override
    public Optional<PartitionLog> get(LogName name) {
        PartitionLog found = null;
        for (FileLogDirectory directory : open()) {
            PartitionLog log = directory.get(name).orElse(null);
            if (log != null && (found == null || found.offline())) {
                found = log;
            }
        }
        return Optional.ofNullable(found);
    }

    @Override
    public PartitionLog create(LogName name, UUID topicId, LogOptions wanted) {
        StorageFault failed = new StorageFault("log " + name + " cannot be created: no data directory is online", null);
        List<FileLogDirectory> candidates = open();
        while (!candidates.isEmpty()) {
            FileLogDirectory directory = emptiest(candidates);
            candidates.remove(directory);
            try {
                return directory.create(name, topicId, wanted);
            } catch (StorageFault e) {
                LOG.atError()
                        .addKeyValue("log", name)
                        .addKeyValue("directory", directory.root())
                        .addKeyValue("reason", e.getMessage())
                        .log("Log cannot be created here");
                failed = e;
            } finally {
                directory.reserve(-1);
            }
        }
        throw failed;
    }

    /** Spread over the directories as one after another would be. */
    @Override
    public void createAll(Collection<NewLog> wanted) {
        List<FileLogDirectory> online = open();
        if (online.isEmpty()) {
            return;
        }
        Map<FileLogDirectory, List<NewLog>> shares = new HashMap<>();
        for (NewLog log : wanted) {
            shares.computeIfAbsent(emptiest(online), any -> new ArrayList<>()).add(log);
        }
        RecoveryLoop.forEach(shares.size(), shares.keySet(), directory -> {
            List<NewLog> share = shares.get(directory);
            try {
                directory.createAll(share);
            } finally {
                directory.reserve(-share.size());
            }
        });
    }

    /** Counts the log that is about to be created, so that those created at the same time spread as well. */
    private synchronized FileLogDirectory emptiest(List<FileLogDirectory> candidates) {
        FileLogDirectory found = Collections.min(
                candidates, Comparator.comparing(FileLogDirectory::troubled).thenComparingInt(FileLogDirectory::count));
        found.reserve(1);
        return found;
    }

    @Override
    public void delete(LogName name) {
        open().forEach(directory -> directory.delete(name));
    }

    @Override
    public void setAside(LogName name) {
        open().forEach(directory -> directory.setAside(name));
    }

    /** On the threads of the directories; does not wait for them. */
    @Override
    public void checkpoint() {
        for (Slot slot : slots) {
            FileLogDirectory directory = slot.directory;
            if (directory != null) {
                slot.upkeep.offer(() -> {
                    try {
                        directory.checkpoint();
                    } catch (StorageFault e) {
                        LOG.atWarn()
                                .addKeyValue("directory", slot.path)
                                .addKeyValue("reason", e.getMessage())
                                .log("Checkpoints cannot be written; they are tried again");
                    }
                });
            }
        }
    }

    @Override
    public void flushDue(long nowMs) {
        open().forEach(directory -> directory.flushDue(nowMs));
    }

    /** On the threads of the directories; does not wait for them. */
    @Override
    public void removeDeleted() {
        for (Slot slot : slots) {
            FileLogDirectory directory = slot.directory;
            if (directory != null) {
                slot.upkeep.offer(directory::removeDeleted);
            }
        }
    }

    /** On the threads of the directories; does not wait for them. */
    @Override
    public void heal(long nowMs) {
        slots.forEach(slot -> slot.upkeep.offer(() -> heal(slot, nowMs)));
    }

    private void heal(Slot slot, long nowMs) {
        FileLogDirectory directory = slot.directory;
        if (directory != null && directory.present()) {
            directory.heal(nowMs);
            return;
        }
        if (directory != null) {
            String reason = "data directory " + slot.path + " is gone: there is no file " + DirectoryLock.FILE
                    + " in it any more";
            LOG.atError().addKeyValue("directory", slot.path).log("Data directory is gone; its logs are offline");
            directory.abandon(new StorageFault(reason, null));
            slot.reason = reason;
            slot.gone.add(directory);
            slot.directory = null;
        }
        if (slot.gone.removeIf(FileLogDirectory::letGo) || slot.gone.isEmpty()) {
            attempt(slot, () -> openAgain(slot));
        }
    }

    private void openAgain(Slot slot) {
        refuseIfNotMounted(slot, true);
        FileLogDirectory directory = FileLogDirectory.prepare(disk, slot.path, clock);
        Map<LogName, String> refused = new HashMap<>();
        Set<LogName> found = directory.found();
        for (PartitionLog log : logs()) {
            if (found.contains(log.name())) {
                refused.put(
                        log.name(),
                        "log " + log.name() + " in " + slot.path
                                + " is not used: it was made anew in another data directory meanwhile."
                                + " Move one of them away and restart");
            }
        }
        directory.openLogs(options, refused, recoveryThreads);
        slot.directory = directory;
        slot.reason = null;
        LOG.atInfo().addKeyValue("directory", slot.path).log("Data directory is online again");
    }

    @Override
    public List<State> states() {
        List<State> states = new ArrayList<>();
        for (Slot slot : slots) {
            FileLogDirectory directory = slot.directory;
            if (directory == null) {
                int lost = slot.gone.isEmpty() ? 0 : slot.gone.get(0).count();
                states.add(new State(slot.path, lost, lost, Optional.ofNullable(slot.reason)));
            } else {
                states.addAll(directory.states());
            }
        }
        return states;
    }

    @Override
    public Optional<String> incomplete() {
        return slots.stream()
                .filter(slot -> slot.directory == null)
                .map(slot -> slot.reason)
                .findFirst();
    }

    /** All at the same time; one whose disk hangs is left behind without the mark of a clean stop. */
    @Override
    public void close() {
        closeWithin(CLOSE_S);
    }

    void closeWithin(int seconds) {
        List<StorageFault> failed = new ArrayList<>();
        RecoveryLoop.forEachWithin(seconds, slots, slot -> {
                    slot.upkeep.close();
                    FileLogDirectory directory = slot.directory;
                    if (directory != null) {
                        directory.close();
                    }
                })
                .forEach((slot, why) -> failed.add(new StorageFault(
                        "data directory " + slot.path + " could not be closed: " + why.getMessage(), why)));
        if (!failed.isEmpty()) {
            failed.stream().skip(1).forEach(failed.get(0)::addSuppressed);
            throw failed.get(0);
        }
    }
}
