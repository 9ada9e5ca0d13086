package io.kagami.log;

import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;

/** The real disk until it is full. */
final class FaultyDisk implements Disk {
    private final FileDisk real = new FileDisk();
    int bytesLeft = Integer.MAX_VALUE;

    @Override
    public DiskFile open(Path file) throws IOException {
        return new FaultyFile(real.open(file));
    }

    @Override
    public boolean exists(Path path) {
        return real.exists(path);
    }

    @Override
    public long size(Path file) throws IOException {
        return real.size(file);
    }

    @Override
    public long modifiedMs(Path file) throws IOException {
        return real.modifiedMs(file);
    }

    @Override
    public List<Path> list(Path directory) throws IOException {
        return real.list(directory);
    }

    @Override
    public void createDirectory(Path directory) throws IOException {
        real.createDirectory(directory);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        real.rename(from, to);
    }

    @Override
    public boolean delete(Path path) throws IOException {
        return real.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        real.forceDirectory(directory);
    }

    @Override
    public byte[] readAll(Path file, int bytesMax) throws IOException {
        return real.readAll(file, bytesMax);
    }

    private final class FaultyFile implements DiskFile {
        private final DiskFile file;

        FaultyFile(DiskFile file) {
            this.file = file;
        }

        @Override
        public Path path() {
            return file.path();
        }

        @Override
        public FileChannel channel() {
            return file.channel();
        }

        @Override
        public long size() throws IOException {
            return file.size();
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            int taken = Math.min(bytesLeft, source.remaining());
            bytesLeft -= taken;
            ByteBuffer part = source.duplicate();
            file.write(part.limit(part.position() + taken), position);
            if (taken < source.remaining()) {
                throw new IOException("No space left on device");
            }
        }

        @Override
        public void truncate(long size) throws IOException {
            file.truncate(size);
        }

        @Override
        public void force() throws IOException {
            file.force();
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
