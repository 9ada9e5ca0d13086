package io.kagami.log;

import io.kagami.log.disk.FileReason;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps writers out of a log from its first disk error on. Any thread. */
final class Fence {
    static final String APPEND = "append to";
    static final String ROLL = "roll";
    static final String DELETE = "delete segments of";

    private static final Logger LOG = LoggerFactory.getLogger(Fence.class);

    private final LogName name;
    private final Path directory;
    private volatile StorageFault fault;
    private volatile boolean readable = true;
    private volatile boolean retired;
    private volatile boolean givenUp;

    Fence(LogName name, Path directory) {
        this.name = name;
        this.directory = directory;
    }

    /** Why the log takes no writes; null while it does. */
    StorageFault fault() {
        return fault;
    }

    boolean readable() {
        return readable;
    }

    /** The writer is through with the log. */
    void retire() {
        retired = true;
    }

    boolean retired() {
        return retired;
    }

    void requireOpen() {
        StorageFault why = fault;
        if (why != null) {
            throw new StorageFault("log " + name + " is offline: " + why.getMessage(), why);
        }
    }

    /** For a reason that is not this log's own; what was read may be gone. */
    void close(StorageFault why) {
        readable = false;
        fault = why;
    }

    /** The files are given up; an earlier reason stays. */
    void closeQuietly(String why) {
        if (fault == null) {
            fault = new StorageFault("log " + name + " is offline: " + why, null);
            givenUp = true;
        }
    }

    /**
     * After a disk error. The view was published before what failed, so what it shows is whole, and may be read on, unless the failure was
     * one of cutting, or of forcing: after that the kernel may have dropped pages that it could not write. No disk has failed when the files
     * were given up meanwhile: a force that was under way finds them gone.
     */
    StorageFault close(String doing, Throwable e, long endOffset) {
        if (givenUp) {
            return fault;
        }
        StorageFault why =
                new StorageFault("cannot " + doing + " log " + name + " in " + directory + ": " + FileReason.of(e), e);
        if (!doing.equals(APPEND) && !doing.equals(ROLL) && !doing.equals(DELETE)) {
            readable = false;
        }
        fault = why;
        LOG.atError()
                .addKeyValue("log", name)
                .addKeyValue("directory", directory)
                .addKeyValue("endOffset", endOffset)
                .addKeyValue("readable", readable)
                .setCause(e)
                .log("Disk failed; the log is offline until its directory can be written again");
        return why;
    }
}
