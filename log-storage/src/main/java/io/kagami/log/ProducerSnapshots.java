package io.kagami.log;

import io.kagami.log.core.ProducerSnapshot;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.Disk;
import io.kagami.log.segment.FileNames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.TreeSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The producer snapshots of one log: files {@code <20 digits>.snapshot} that hold what the log up to that offset says about its producers.
 * The writer takes them in memory, so that it does not wait for a disk (KAFKA-15046); the next force, from any thread, writes them,
 * each forced before it gets its name (KAFKA-9892, KAFKA-15312). A snapshot is gone durably before the log is cut below it.
 */
final class ProducerSnapshots {
    private static final Logger LOG = LoggerFactory.getLogger(ProducerSnapshots.class);
    private static final int BYTES_MAX = 1 << 30;

    /** Bytes that may wait for a force, beyond the least number; whoever rolls on and on with that many producers waits for the disk. */
    private static final long TAKEN_BYTES_MAX = 4 << 20;

    private static final int TAKEN_MIN = 8;

    private final Disk disk;
    private final Path directory;
    private final Object filesLock = new Object();
    /** Guarded by {@link #filesLock}. */
    private final TreeSet<Long> files = new TreeSet<>();
    /** Guarded by itself; never waits for the disk. */
    private final TreeMap<Long, ByteBuffer> taken = new TreeMap<>();
    /** Guarded by {@link #taken}. */
    private long takenBytes;

    /** @param complete see {@link ProducerSnapshot.Read} */
    record Loaded(long offset, ProducerTable table, boolean complete) {}

    ProducerSnapshots(Disk disk, Path directory) {
        this.disk = disk;
        this.directory = directory;
    }

    /** With the files that are there. */
    static ProducerSnapshots open(Disk disk, Path directory) throws IOException {
        ProducerSnapshots snapshots = new ProducerSnapshots(disk, directory);
        for (Path file : disk.list(directory)) {
            OptionalLong offset = FileNames.baseOffset(file, FileNames.SNAPSHOT);
            if (offset.isPresent()) {
                snapshots.files.add(offset.getAsLong());
            }
        }
        return snapshots;
    }

    /** Remembers what the log below the offset says, until it is written. Writer only. */
    void take(long offset, ProducerTable table) throws IOException {
        ByteBuffer bytes = ProducerSnapshot.write(table);
        boolean full;
        synchronized (taken) {
            ByteBuffer earlier = taken.put(offset, bytes);
            takenBytes += bytes.remaining() - (earlier == null ? 0 : earlier.remaining());
            full = takenBytes > TAKEN_BYTES_MAX && taken.size() > TAKEN_MIN;
        }
        if (full) {
            write();
        }
    }

    /** As {@link #take}, unless there is one for this offset already. */
    void takeIfAbsent(long offset, ProducerTable table) throws IOException {
        boolean known;
        synchronized (filesLock) {
            known = files.contains(offset);
        }
        if (!known) {
            take(offset, table);
        }
    }

    /** Writes what was taken; durable on return. Any thread. */
    void write() throws IOException {
        synchronized (filesLock) {
            Map.Entry<Long, ByteBuffer> next = first();
            while (next != null) {
                Checkpoint.write(disk, FileNames.of(directory, next.getKey(), FileNames.SNAPSHOT), next.getValue());
                files.add(next.getKey());
                synchronized (taken) {
                    if (taken.remove(next.getKey(), next.getValue())) {
                        takenBytes -= next.getValue().remaining();
                    }
                }
                next = first();
            }
        }
    }

    private Map.Entry<Long, ByteBuffer> first() {
        synchronized (taken) {
            return taken.firstEntry();
        }
    }

    /** Removes those above an offset, durably: the log is about to be cut there, or does not reach that far. */
    void removeAbove(long offset) throws IOException {
        synchronized (filesLock) {
            synchronized (taken) {
                Map<Long, ByteBuffer> above = taken.tailMap(offset, false);
                above.values().forEach(bytes -> takenBytes -= bytes.remaining());
                above.clear();
            }
            List<Long> gone = List.copyOf(files.tailSet(offset, false));
            remove(gone);
            if (!gone.isEmpty()) {
                disk.forceDirectory(directory);
            }
        }
    }

    /** Removes those below the first segment; the newest one stays in any case, since a start depends on it. */
    void removeBelow(long firstBase) throws IOException {
        synchronized (filesLock) {
            if (!files.isEmpty()) {
                remove(List.copyOf(files.headSet(Math.min(firstBase, files.last()), false)));
            }
        }
    }

    /** Removes those that belong to no segment, but for the newest one and those a stop wrote behind the last segment's base. */
    void removeStray(List<Long> bases) throws IOException {
        synchronized (filesLock) {
            List<Long> gone = new ArrayList<>(files);
            gone.removeAll(bases);
            long lastBase = bases.isEmpty() ? 0 : bases.get(bases.size() - 1);
            gone.removeIf(offset -> offset > lastBase || offset.equals(files.last()));
            remove(gone);
        }
    }

    private void remove(List<Long> offsets) throws IOException {
        for (long offset : offsets) {
            disk.delete(FileNames.of(directory, offset, FileNames.SNAPSHOT));
            files.remove(offset);
        }
    }

    /** The newest readable one at or below the offset, or null; unreadable ones are removed on the way. */
    Loaded load(long atMost) throws IOException {
        synchronized (filesLock) {
            for (Long offset = files.floor(atMost); offset != null; offset = files.floor(atMost)) {
                Path file = FileNames.of(directory, offset, FileNames.SNAPSHOT);
                try {
                    ByteBuffer bytes = ByteBuffer.wrap(disk.readAll(file, BYTES_MAX));
                    ProducerSnapshot.Read read = ProducerSnapshot.read(bytes, offset);
                    return new Loaded(offset, read.table(), read.complete());
                } catch (ProducerSnapshot.Unreadable e) {
                    LOG.atWarn()
                            .addKeyValue("file", file)
                            .addKeyValue("reason", e.getMessage())
                            .log(
                                    "Producer snapshot cannot be read and is removed; an older one or the batches take its place");
                    remove(List.of(offset));
                }
            }
            return null;
        }
    }
}
