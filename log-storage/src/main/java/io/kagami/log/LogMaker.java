package io.kagami.log;

import io.kagami.log.LogDirectory.NewLog;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileReason;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Creates the logs of one data directory. The identity comes last: what has none is no log, so a create that fails half way leaves none. A log
 * is among the others only when everything about it is durable.
 */
final class LogMaker {
    private static final Logger LOG = LoggerFactory.getLogger(LogMaker.class);

    private final Disk disk;
    private final FileLogDirectory directory;
    private final Map<LogName, PartitionLog> logs;

    /** @param logs those of the directory; new ones are put into it */
    LogMaker(Disk disk, FileLogDirectory directory, Map<LogName, PartitionLog> logs) {
        this.disk = disk;
        this.directory = directory;
        this.logs = logs;
    }

    PartitionLog create(NewLog wanted) {
        LogName name = wanted.name();
        synchronized (directory.monitor(name)) {
            try {
                SegmentedLog log = make(wanted);
                forceNames(List.of(log));
                logs.put(name, log);
                return log;
            } catch (IOException e) {
                removeAfter(name, e);
                throw new StorageFault(
                        "cannot create log " + name + " in " + directory.root() + ": " + FileReason.of(e), e);
            }
        }
    }

    /** See {@link LogDirectory#createAll}. */
    void createAll(Collection<NewLog> wanted) {
        Map<LogName, SegmentedLog> made = new ConcurrentHashMap<>();
        RecoveryLoop.forEach(RecoveryLoop.DISK_THREADS, wanted, log -> makeOrNone(log)
                .ifPresent(fresh -> made.put(log.name(), fresh)));
        try {
            forceNames(made.values());
            logs.putAll(made);
        } catch (IOException e) {
            notCreated(made.size() + " logs", e);
            made.keySet().forEach(name -> removeAfter(name, e));
        }
    }

    private Optional<SegmentedLog> makeOrNone(NewLog wanted) {
        synchronized (directory.monitor(wanted.name())) {
            try {
                return Optional.of(make(wanted));
            } catch (IOException e) {
                removeAfter(wanted.name(), e);
                notCreated("log " + wanted.name(), e);
                return Optional.empty();
            }
        }
    }

    /** Everything in the new directory is durable on return, its own name is not. */
    private SegmentedLog make(NewLog wanted) throws IOException {
        if (logs.containsKey(wanted.name())) {
            throw new IllegalStateException("log " + wanted.name() + " exists already in " + directory.root());
        }
        Path path = directory.directoryOf(wanted.name());
        if (disk.exists(path)) {
            // left by a create that did not get far: it was not found when the directory was opened
            directory.remove(path);
        }
        disk.createDirectory(path);
        SegmentedLog log = directory.empty(wanted);
        boolean done = false;
        try {
            DirectoryNames.writeTopicId(disk, path, wanted.topicId());
            done = true;
            return log;
        } finally {
            if (!done) {
                log.release("it could not be created");
            }
        }
    }

    /** Makes the names of the new directories durable. */
    private void forceNames(Collection<SegmentedLog> made) throws IOException {
        boolean done = false;
        try {
            if (!made.isEmpty()) {
                disk.forceDirectory(directory.root());
            }
            done = true;
        } finally {
            if (!done) {
                made.forEach(log -> log.release("it could not be created"));
            }
        }
    }

    private void removeAfter(LogName name, IOException cause) {
        try {
            directory.remove(directory.directoryOf(name));
        } catch (IOException e) {
            cause.addSuppressed(e);
        }
    }

    private void notCreated(String what, IOException why) {
        LOG.atWarn()
                .addKeyValue("directory", directory.root())
                .addKeyValue("what", what)
                .addKeyValue("reason", FileReason.of(why))
                .log("Could not be created together with others");
    }
}
