package io.kagami.broker.adopt;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/**
 * Holds the lock file of every directory that is looked at, as Kafka and Kagami do while they run: so no living broker is adopted, and
 * none starts meanwhile. A lock file that was not there is removed again.
 */
final class DirectoryLocks implements AutoCloseable {
    private static final String LOCK = ".lock";

    private record Held(FileChannel channel, boolean made) {}

    private final Map<Path, Held> held = new HashMap<>();

    /** Does nothing for a directory that is absent, held already, or one that nobody can write to. */
    void take(Path directory) {
        if (!Files.isDirectory(directory)) {
            return;
        }
        try {
            Path real = directory.toRealPath();
            Path file = real.resolve(LOCK);
            boolean made = !Files.exists(file);
            if (held.containsKey(real) || (made && !Files.isWritable(real))) {
                return;
            }
            FileChannel channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            if (locked(channel)) {
                held.put(real, new Held(channel, made));
            } else {
                channel.close();
                throw new AdoptionFailed(
                        directory + " is in use: a broker holds its lock file " + LOCK + ". Stop that broker first");
            }
        } catch (IOException e) {
            throw new AdoptionFailed("cannot lock " + directory + ": " + e, e);
        }
    }

    private static boolean locked(FileChannel channel) throws IOException {
        try {
            FileLock lock = channel.tryLock();
            return lock != null;
        } catch (OverlappingFileLockException ofThisProcess) {
            return false;
        }
    }

    @Override
    public void close() {
        held.forEach((directory, each) -> {
            try {
                if (each.made()) {
                    Files.deleteIfExists(directory.resolve(LOCK));
                }
                each.channel().close();
            } catch (IOException e) {
                throw new AdoptionFailed("cannot give up the lock of " + directory + ": " + e, e);
            }
        });
        held.clear();
    }
}
