package io.kagami.log;

import io.kagami.log.disk.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.ReadableByteChannel;
import java.nio.channels.WritableByteChannel;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/** The real disk, and how many bytes of each file were read with positional reads or as a whole. One thread. */
final class CountingDisk extends ForwardingDisk {
    private final Map<Path, Long> read = new HashMap<>();

    /** Under the name it had when it was opened. */
    long bytesRead(Path file) {
        return read.getOrDefault(file, 0L);
    }

    private void count(Path file, long bytes) {
        read.merge(file, Math.max(0, bytes), Long::sum);
    }

    @Override
    public DiskFile open(Path file) throws IOException {
        DiskFile opened = super.open(file);
        return new CountedFile(opened, new CountedChannel(opened.channel(), file));
    }

    @Override
    public byte[] readAll(Path file, int bytesMax) throws IOException {
        byte[] all = super.readAll(file, bytesMax);
        count(file, all.length);
        return all;
    }

    private static final class CountedFile extends ForwardingFile {
        private final FileChannel channel;

        CountedFile(DiskFile file, FileChannel channel) {
            super(file);
            this.channel = channel;
        }

        @Override
        public FileChannel channel() {
            return channel;
        }
    }

    /** Counts positional reads; a log uses nothing else but sendfile. */
    private final class CountedChannel extends FileChannel {
        private final FileChannel channel;
        private final Path file;

        CountedChannel(FileChannel channel, Path file) {
            this.channel = channel;
            this.file = file;
        }

        @Override
        public int read(ByteBuffer into, long position) throws IOException {
            int bytes = channel.read(into, position);
            count(file, bytes);
            return bytes;
        }

        @Override
        public long size() throws IOException {
            return channel.size();
        }

        @Override
        public long transferTo(long position, long count, WritableByteChannel target) throws IOException {
            return channel.transferTo(position, count, target);
        }

        @Override
        protected void implCloseChannel() throws IOException {
            channel.close();
        }

        @Override
        public int read(ByteBuffer into) {
            throw new UnsupportedOperationException("no cursor");
        }

        @Override
        public long read(ByteBuffer[] into, int offset, int length) {
            throw new UnsupportedOperationException("no cursor");
        }

        @Override
        public int write(ByteBuffer from) {
            throw new UnsupportedOperationException("for readers");
        }

        @Override
        public long write(ByteBuffer[] from, int offset, int length) {
            throw new UnsupportedOperationException("for readers");
        }

        @Override
        public int write(ByteBuffer from, long position) {
            throw new UnsupportedOperationException("for readers");
        }

        @Override
        public long position() {
            throw new UnsupportedOperationException("no cursor");
        }

        @Override
        public FileChannel position(long position) {
            throw new UnsupportedOperationException("no cursor");
        }

        @Override
        public FileChannel truncate(long size) {
            throw new UnsupportedOperationException("for readers");
        }

        @Override
        public void force(boolean metaData) {
            throw new UnsupportedOperationException("for readers");
        }

        @Override
        public long transferFrom(ReadableByteChannel source, long position, long count) {
            throw new UnsupportedOperationException("for readers");
        }

        @Override
        public MappedByteBuffer map(MapMode mode, long position, long size) {
            throw new UnsupportedOperationException("nothing is mapped through it");
        }

        @Override
        public FileLock lock(long position, long size, boolean shared) {
            throw new UnsupportedOperationException("nothing is locked through it");
        }

        @Override
        public FileLock tryLock(long position, long size, boolean shared) {
            throw new UnsupportedOperationException("nothing is locked through it");
        }
    }
}
