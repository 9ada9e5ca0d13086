package io.kagami.log;

import java.nio.file.Path;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/**
 * All logs of one data directory, or of several: the lock file, the clean-shutdown mark, open and recover. Thread-safe but blocking:
 * called from start, stop and the partition loops.
 */
public interface LogDirectory extends AutoCloseable {
    /** Logs found at open, recovered. */
    Collection<PartitionLog> logs();

    Optional<PartitionLog> get(LogName name);

    /** Creates an empty log; durable (directory and partition.metadata forced) on return. */
    PartitionLog create(LogName name, UUID topicId, LogOptions options);

    /** A log that there is to be. */
    record NewLog(LogName name, UUID topicId, LogOptions options) {}

    /**
     * As {@link #create} for many, which share what it costs to make names durable. One that cannot be created is not there afterwards;
     * creating it alone tells why. Nobody else may create the same logs meanwhile.
     */
    void createAll(Collection<NewLog> wanted);

    /** Renames to {@code *-delete} and unlinks; open slices stay readable. Absent is fine. */
    void delete(LogName name);

    /** Renames to {@code *-stray} and keeps the files, which are not looked at any more: for logs nobody asked to delete. Absent is fine. */
    void setAside(LogName name);

    /**
     * Forces segments that are no longer appended to and writes down how far each log is forced and where it starts. Called now and
     * then by housekeeping, from any thread: it bounds what is checked after a crash. A failing disk takes logs offline, and
     * throws {@link StorageFault} when the files of the directory itself cannot be written.
     */
    void checkpoint();

    /** Removes files of segments that were deleted long enough ago. Called now and then by housekeeping; what fails is tried again. */
    void removeDeleted();

    /** Asks for a force of every log whose {@code flush.ms} is over, and does not wait for it. Any thread. */
    void flushDue(long nowMs);

    /**
     * Tries to open what is offline again, through the recovery of an unclean stop, when its next attempt is due and the directory takes
     * writes. A log that is online afterwards is another object: {@link #get} has it. Called every few seconds, from one thread.
     */
    void heal(long nowMs);

    /** The directories there should be, and how they are. Any thread. */
    List<State> states();

    /** Why logs that exist may not be among {@link #logs()}: a directory could not be opened. Empty when all could. */
    Optional<String> incomplete();

    /**
     * One directory.
     *
     * @param logs how many it holds, as far as known
     * @param offline how many of them are offline
     * @param trouble what is wrong with the directory itself; empty when nothing is
     */
    record State(Path path, int logs, int offline, Optional<String> trouble) {}

    /** Closes all logs cleanly, then writes the clean-shutdown mark and gives up the lock. */
    @Override
    void close();
}
