package io.kagami.log.disk;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/** The file system as the log uses it. Nothing is durable before a {@code force}. Any thread. */
public interface Disk {
    /** Opens for reading and writing; an absent file is created. */
    DiskFile open(Path file) throws IOException;

    boolean exists(Path path);

    /** Bytes of a file that exists. */
    long size(Path file) throws IOException;

    /** When a file that exists was last written to, in ms since the epoch. */
    long modifiedMs(Path file) throws IOException;

    /** Direct children, sorted by name; empty when the directory is absent. */
    List<Path> list(Path directory) throws IOException;

    /** Creates the directory and absent parents. */
    void createDirectory(Path directory) throws IOException;

    /** Atomic; replaces a file at the target. */
    void rename(Path from, Path to) throws IOException;

    /** Removes a file or an empty directory; false when there was none. */
    boolean delete(Path path) throws IOException;

    /** Makes creations, renames and removals in this directory durable. */
    void forceDirectory(Path directory) throws IOException;

    /** The whole file; an {@link IOException} when it is larger than {@code bytesMax}. */
    byte[] readAll(Path file, int bytesMax) throws IOException;
}
