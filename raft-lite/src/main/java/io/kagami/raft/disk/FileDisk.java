package io.kagami.raft.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/** A directory of the local file system, locked against a second process by the file {@code .lock}. */
public final class FileDisk implements Disk {
    private static final String LOCK = ".lock";

    private final Path directory;
    private final FileChannel lockChannel;

    private FileDisk(Path directory, FileChannel lockChannel) {
        this.directory = directory;
        this.lockChannel = lockChannel;
    }

    /** Creates the directory when it is missing. Fails when another process (or this one) has it open. */
    public static FileDisk open(Path directory) throws IOException {
        Files.createDirectories(directory);
        Path parent = directory.toAbsolutePath().getParent();
        if (parent != null) {
            force(parent);
        }
        Path lock = directory.resolve(LOCK);
        FileChannel channel = FileChannel.open(lock, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        try {
            FileLock held = channel.tryLock();
            if (held == null) {
                throw new IOException("locked");
            }
        } catch (IOException | OverlappingFileLockException e) {
            channel.close();
            throw new IOException(
                    lock + " is locked: another process uses this directory. Stop it, or configure another directory.",
                    e);
        }
        return new FileDisk(directory, channel);
    }

    @Override
    public List<String> list() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString())
                    .filter(name -> !name.equals(LOCK))
                    .toList();
        }
    }

    @Override
    public byte[] read(String name) throws IOException {
        return Files.readAllBytes(directory.resolve(name));
    }

    @Override
    public OutFile create(String name) throws IOException {
        return new ChannelFile(FileChannel.open(
                directory.resolve(name),
                StandardOpenOption.CREATE,
                StandardOpenOption.TRUNCATE_EXISTING,
                StandardOpenOption.WRITE));
    }

    @Override
    public OutFile append(String name, long size) throws IOException {
        FileChannel channel = FileChannel.open(directory.resolve(name), StandardOpenOption.WRITE);
        try {
            channel.truncate(size);
            channel.position(size);
        } catch (IOException e) {
            channel.close();
            throw e;
        }
        return new ChannelFile(channel);
    }

    @Override
    public void rename(String from, String to) throws IOException {
        Files.move(
                directory.resolve(from),
                directory.resolve(to),
                StandardCopyOption.ATOMIC_MOVE,
                StandardCopyOption.REPLACE_EXISTING);
    }

    @Override
    public void delete(String name) throws IOException {
        Files.deleteIfExists(directory.resolve(name));
    }

    @Override
    public void forceDirectory() throws IOException {
        force(directory);
    }

    @Override
    public String describe(String name) {
        return directory.resolve(name).toString();
    }

    @Override
    public void close() throws IOException {
        lockChannel.close();
    }

    private static void force(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private record ChannelFile(FileChannel channel) implements OutFile {
        @Override
        public void write(ByteBuffer bytes) throws IOException {
            while (bytes.hasRemaining()) {
                channel.write(bytes);
            }
        }

        @Override
        public void force() throws IOException {
            channel.force(true);
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }
}
