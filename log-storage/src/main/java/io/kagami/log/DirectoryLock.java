package io.kagami.log;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Keeps a second broker out of a data directory. */
final class DirectoryLock implements AutoCloseable {
    static final String FILE = ".lock";

    private static final Logger LOG = LoggerFactory.getLogger(DirectoryLock.class);

    private final Path directory;
    private final FileChannel channel;
    private final FileLock lock;

    private DirectoryLock(Path directory, FileChannel channel, FileLock lock) {
        this.directory = directory;
        this.channel = channel;
        this.lock = lock;
    }

    static DirectoryLock take(Path directory) throws IOException {
        FileChannel channel =
                FileChannel.open(directory.resolve(FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = null;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException heldByThisProcess) {
            LOG.atDebug().addKeyValue("directory", directory).log("Lock is held by this very process");
        }
        if (lock == null) {
            channel.close();
            throw new IOException(
                    "another broker is using it (file " + FILE + " is locked); stop that one, or set another log.dirs");
        }
        return new DirectoryLock(directory, channel, lock);
    }

    @Override
    public void close() {
        try {
            lock.release();
            channel.close();
        } catch (IOException e) {
            LOG.atWarn().addKeyValue("directory", directory).setCause(e).log("Lock could not be given up");
        }
    }
}
