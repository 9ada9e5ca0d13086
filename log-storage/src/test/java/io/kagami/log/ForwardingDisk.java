package io.kagami.log;

import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.List;

/** The real disk, for those that watch it or break it: they override what they are about. */
class ForwardingDisk implements Disk {
    private final FileDisk real = new FileDisk();

    @Override
    public DiskFile open(Path file) throws IOException {
        return real.open(file);
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

    /** An open file of such a disk. */
    static class ForwardingFile implements DiskFile {
        private final DiskFile file;

        ForwardingFile(DiskFile file) {
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
            file.write(source, position);
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
