package io.kagami.log;

import io.kagami.log.disk.DiskFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.BiPredicate;

/** The real disk until it is full, or until an operation on a path is told to fail or to hang. */
final class FaultyDisk extends ForwardingDisk {
    /** What can fail. */
    enum Op {
        OPEN,
        LIST,
        READ,
        RENAME,
        DELETE,
        CREATE_DIRECTORY,
        FORCE_DIRECTORY,
        WRITE,
        TRUNCATE,
        FORCE
    }

    volatile int bytesLeft = Integer.MAX_VALUE;
    /** What fails with EIO. */
    volatile BiPredicate<Op, Path> broken = (op, path) -> false;
    /** What waits for {@link #released}. */
    volatile BiPredicate<Op, Path> hanging = (op, path) -> false;

    final CountDownLatch released = new CountDownLatch(1);
    /** Counts down for every operation that hangs. */
    final CountDownLatch hung = new CountDownLatch(1);

    private void check(Op op, Path path) throws IOException {
        if (hanging.test(op, path)) {
            hung.countDown();
            try {
                released.await();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
        if (broken.test(op, path)) {
            throw new IOException(path + ": Input/output error");
        }
    }

    @Override
    public DiskFile open(Path file) throws IOException {
        check(Op.OPEN, file);
        return new FaultyFile(super.open(file));
    }

    @Override
    public List<Path> list(Path directory) throws IOException {
        check(Op.LIST, directory);
        return super.list(directory);
    }

    @Override
    public void createDirectory(Path directory) throws IOException {
        check(Op.CREATE_DIRECTORY, directory);
        super.createDirectory(directory);
    }

    @Override
    public void rename(Path from, Path to) throws IOException {
        check(Op.RENAME, from);
        super.rename(from, to);
    }

    @Override
    public boolean delete(Path path) throws IOException {
        check(Op.DELETE, path);
        return super.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        check(Op.FORCE_DIRECTORY, directory);
        super.forceDirectory(directory);
    }

    @Override
    public byte[] readAll(Path file, int bytesMax) throws IOException {
        check(Op.READ, file);
        return super.readAll(file, bytesMax);
    }

    private final class FaultyFile extends ForwardingFile {
        FaultyFile(DiskFile file) {
            super(file);
        }

        @Override
        public void write(ByteBuffer source, long position) throws IOException {
            check(Op.WRITE, path());
            int taken = Math.min(bytesLeft, source.remaining());
            int left = bytesLeft - (bytesLeft == Integer.MAX_VALUE ? 0 : taken);
            bytesLeft = left;
            ByteBuffer part = source.duplicate();
            super.write(part.limit(part.position() + taken), position);
            if (taken < source.remaining()) {
                throw new IOException("No space left on device");
            }
        }

        @Override
        public void truncate(long size) throws IOException {
            check(Op.TRUNCATE, path());
            super.truncate(size);
        }

        @Override
        public void force() throws IOException {
            check(Op.FORCE, path());
            super.force();
        }
    }
}
