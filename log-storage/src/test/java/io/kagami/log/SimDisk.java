package io.kagami.log;

import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;

/**
 * A disk that forgets what was not forced. Works on real files below a root; {@link #crash} builds, elsewhere, what such a disk might
 * hold after a power cut: forced bytes for sure, later writes in part, directory changes up to some point in time. Files are taken in
 * order of their names, so that the same seed gives the same disk below any root.
 */
final class SimDisk implements Disk {
    /** The power goes; nothing may catch it. */
    static final class PowerCut extends Error {
        private static final long serialVersionUID = 1L;

        PowerCut() {
            super("power cut", null, false, false);
        }
    }

    private final FileDisk real = new FileDisk();
    private final Path root;
    private final Random random;
    private final Map<Path, Inode> names = new TreeMap<>();
    private final Map<Path, Inode> durableNames = new TreeMap<>();
    private final List<NameChange> pendingNames = new ArrayList<>();
    private int changesLeft = Integer.MAX_VALUE;

    SimDisk(Path root, Random random) throws IOException {
        this.root = root;
        this.random = random;
        try (var files = Files.walk(root)) {
            for (Path file : files.filter(Files::isRegularFile).toList()) {
                Inode inode = new Inode();
                inode.durable = Files.readAllBytes(file);
                names.put(file, inode);
                durableNames.put(file, inode);
            }
        }
    }

    /** Cuts the power before the n-th change from now on. */
    void cutAfter(int changes) {
        changesLeft = changes;
    }

    private static final class Inode {
        private byte[] durable = new byte[0];
        private final List<Change> pending = new ArrayList<>();
    }

    /** Without bytes: cut to the position. */
    private record Change(long position, Optional<ByteBuffer> bytes) {}

    private record NameChange(Path directory, Path remove, Path add, Inode inode) {}

    private void change() {
        if (changesLeft-- <= 0) {
            changesLeft = 0;
            throw new PowerCut();
        }
    }

    private void rename(NameChange change) {
        if (change.remove() != null) {
            names.remove(change.remove());
        }
        if (change.add() != null) {
            names.put(change.add(), change.inode());
        }
        pendingNames.add(change);
    }

    private static void apply(Map<Path, Inode> to, NameChange change) {
        if (change.remove() != null) {
            to.remove(change.remove());
        }
        if (change.add() != null) {
            to.put(change.add(), change.inode());
        }
    }

    /** What may be found at the next start, below another root. */
    void crash(Path newRoot) throws IOException {
        Map<Path, Inode> found = new TreeMap<>(durableNames);
        int upTo = random.nextInt(pendingNames.size() + 1);
        pendingNames.subList(0, upTo).forEach(change -> apply(found, change));
        for (Map.Entry<Path, Inode> entry : found.entrySet()) {
            Path to = newRoot.resolve(root.relativize(entry.getKey()));
            Files.createDirectories(to.getParent());
            Files.write(to, contentAfterCrash(entry.getKey(), entry.getValue()));
        }
    }

    /** The same when nothing but what was forced reached the disk. */
    void crashToForced(Path newRoot) throws IOException {
        for (Map.Entry<Path, Inode> entry : durableNames.entrySet()) {
            Path to = newRoot.resolve(root.relativize(entry.getKey()));
            Files.createDirectories(to.getParent());
            Files.write(to, entry.getValue().durable);
        }
    }

    private byte[] contentAfterCrash(Path path, Inode inode) throws IOException {
        boolean index = path.toString().endsWith("index");
        if (index && random.nextBoolean() && Files.exists(path) && names.get(path) == inode) {
            return Files.readAllBytes(path); // the kernel happened to write the mapped pages
        }
        byte[] content = inode.durable;
        int upTo = random.nextInt(inode.pending.size() + 1);
        for (int i = 0; i < inode.pending.size(); i++) {
            Change change = inode.pending.get(i);
            if (change.bytes().isEmpty() && random.nextInt(4) == 0) {
                continue; // bytes written later, in place, may reach the disk before the new size
            }
            boolean sizeOnly = i >= upTo;
            if (sizeOnly && random.nextInt(3) > 0) {
                break;
            }
            content = applied(content, change, sizeOnly);
        }
        return content;
    }

    /** The size may be on disk while the bytes are not, or not all. */
    private byte[] applied(byte[] content, Change change, boolean partly) {
        if (change.bytes().isEmpty()) {
            return Arrays.copyOf(content, (int) Math.min(content.length, change.position()));
        }
        ByteBuffer bytes = change.bytes().get().duplicate();
        int at = (int) change.position();
        byte[] next = Arrays.copyOf(content, Math.max(content.length, at + bytes.remaining()));
        int kept = partly ? random.nextInt(bytes.remaining() + 1) : bytes.remaining();
        bytes.get(next, at, kept);
        return next;
    }

    @Override
    public DiskFile open(Path file) throws IOException {
        if (!names.containsKey(file)) {
            change();
            rename(new NameChange(file.getParent(), null, file, new Inode()));
        }
        return new SimFile(real.open(file), names.get(file));
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
        change();
        real.rename(from, to);
        rename(new NameChange(to.getParent(), from, to, names.get(from)));
    }

    @Override
    public boolean delete(Path path) throws IOException {
        if (names.containsKey(path)) {
            change();
            rename(new NameChange(path.getParent(), path, null, null));
        }
        return real.delete(path);
    }

    @Override
    public void forceDirectory(Path directory) throws IOException {
        change();
        for (NameChange change : pendingNames) {
            if (change.directory().equals(directory)) {
                apply(durableNames, change);
            }
        }
        pendingNames.removeIf(change -> change.directory().equals(directory));
    }

    @Override
    public byte[] readAll(Path file, int bytesMax) throws IOException {
        return real.readAll(file, bytesMax);
    }

    private final class SimFile implements DiskFile {
        private final DiskFile file;
        private final Inode inode;

        SimFile(DiskFile file, Inode inode) {
            this.file = file;
            this.inode = inode;
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
            change();
            ByteBuffer bytes = ByteBuffer.allocate(source.remaining());
            bytes.put(source.duplicate()).flip();
            inode.pending.add(new Change(position, Optional.of(bytes)));
            file.write(source, position);
        }

        @Override
        public void truncate(long size) throws IOException {
            change();
            inode.pending.add(new Change(size, Optional.empty()));
            file.truncate(size);
        }

        @Override
        public void force() throws IOException {
            change();
            ByteBuffer all = ByteBuffer.allocate((int) file.size());
            while (all.hasRemaining() && file.channel().read(all, all.position()) > 0) {}
            inode.durable = all.array();
            inode.pending.clear();
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
