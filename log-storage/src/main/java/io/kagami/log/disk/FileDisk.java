package io.kagami.log.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;

/** The real file system. */
public final class FileDisk implements Disk {
    /** The JDK copies a heap buffer into a direct one of the same size and keeps that per thread; this bounds it. */
    private static final int HEAP_WRITE_BYTES = 1 << 20;

    @Override
    public DiskFile open(Path file) throws IOException {
        FileChannel channel =
                FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE, StandardOpenOption.CREATE);
        return new OpenFile(file, channel);
    }

    @Override
    public boolean exists(Path path) {
        return Files.exists(path);
    }

    @Override
    public long size(Path file) throws IOException {
        return Files.size(file);
    }

    @Override
    public long modifiedMs(Path file) throws IOException {
        return Files.getLastModifiedTime(file).toMillis();
    }

    @Override
    public List<Path> list(Path directory) throws IOException {
        try (Stream<Path> children = Files.list(directory)) {
            return children.sorted().toList();
        } catch (NoSuchFileException absent) {
            return List.of();
        }
    }

    @Override
    public void createDirectory(Path directory) throws IOException {
        Files.createDirectories(directory);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
    }

    @Override
    public boolean delete(Path path) throws IOException {
        return Files.deleteIfExists(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    @Override
    public byte[] readAll(Path file, int bytesMax) throws IOException {
        long size = Files.size(file);
        if (size > bytesMax) {
            throw new IOException(file + " has " + size + " bytes, more than the " + bytesMax + " it may have");
        }
        return Files.readAllBytes(file);
    }

    private record OpenFile(Path path, FileChannel channel) implements DiskFile {
        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            ByteBuffer rest = source.duplicate();
            int limit = rest.limit();
            long at = position;
            while (rest.position() < limit) {
                if (!rest.isDirect()) {
                    rest.limit((int) Math.min(limit, (long) rest.position() + HEAP_WRITE_BYTES));
                }
                int written = channel.write(rest, at);
                if (written <= 0) {
                    throw new IOException("the disk took " + (at - position) + " of " + source.remaining() + " bytes");
                }
                at += written;
                rest.limit(limit);
            }
        }

        @Override
        public void truncate(long size) throws IOException {
            channel.truncate(size);
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
