package io.kagami.log.index;

import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.disk.FileReason;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;

/**
 * Transactions aborted by markers in one segment, in the order of the markers; the whole index is also in memory. The file comes into
 * being with the first entry: int16 version 0, int64 producer id, int64 first offset, int64 last offset (the marker's), int64 last stable offset.
 * Bounded by the number of markers in a segment. Written by the log's writer, {@link #entries()} is for any thread.
 */
public final class AbortedTxnIndex implements Closeable {
    public static final int ENTRY_BYTES = 34;

    private static final int FILE_BYTES_MAX = 512 << 20;
    private static final Aborted[] NONE = new Aborted[0];

    private final Disk disk;
    private final Path path;
    private volatile DiskFile file;
    private volatile boolean unforced;
    private Aborted[] entries = NONE;
    private volatile List<Aborted> published = List.of();

    private AbortedTxnIndex(Disk disk, Path path) {
        this.disk = disk;
        this.path = path;
    }

    /** Opens with the entries of the file that look right, up to the first that does not; the caller compares them with the log. */
    public static AbortedTxnIndex open(Disk disk, Path path) throws IOException {
        AbortedTxnIndex index = new AbortedTxnIndex(disk, path);
        if (disk.exists(path)) {
            index.file = disk.open(path);
            if (index.file.size() <= FILE_BYTES_MAX) {
                index.load(ByteBuffer.wrap(disk.readAll(path, FILE_BYTES_MAX)));
            }
        }
        return index;
    }

    private void load(ByteBuffer bytes) {
        List<Aborted> loaded = new ArrayList<>(bytes.remaining() / ENTRY_BYTES);
        long before = -1;
        while (bytes.remaining() >= ENTRY_BYTES) {
            short version = bytes.getShort();
            Aborted entry = new Aborted(bytes.getLong(), bytes.getLong(), bytes.getLong(), bytes.getLong());
            if (version != 0 || entry.firstOffset() < 0 || entry.firstOffset() > entry.lastOffset()) {
                break;
            }
            if (entry.lastOffset() <= before || entry.producerId() < 0) {
                break;
            }
            before = entry.lastOffset();
            loaded.add(entry);
        }
        publish(loaded);
    }

    public void append(Aborted entry) throws IOException {
        if (file == null) {
            file = disk.open(path);
        }
        int count = published.size();
        ByteBuffer bytes = ByteBuffer.allocate(ENTRY_BYTES);
        put(bytes, entry);
        file.write(bytes.flip(), (long) count * ENTRY_BYTES);
        unforced = true;
        if (count == entries.length) {
            entries = Arrays.copyOf(entries, Math.max(8, count * 2));
        }
        entries[count] = entry;
        // readers keep lists over the same array: slots below their size never change
        published = Arrays.asList(entries).subList(0, count + 1);
    }

    /** Whether the file holds what is in memory and nothing else. */
    public boolean isWhole() throws IOException {
        return file == null || file.size() == (long) published.size() * ENTRY_BYTES;
    }

    /** Makes file and memory hold exactly these; the file is left alone when it does already. */
    public void replaceWith(List<Aborted> wanted) throws IOException {
        long bytesWanted = (long) wanted.size() * ENTRY_BYTES;
        if (published.equals(wanted) && (file == null ? wanted.isEmpty() : file.size() == bytesWanted)) {
            return;
        }
        publish(wanted);
        if (file == null) {
            file = disk.open(path);
        }
        file.truncate(0);
        unforced = true;
        if (!wanted.isEmpty()) {
            ByteBuffer bytes = ByteBuffer.allocate(Math.toIntExact(bytesWanted));
            wanted.forEach(entry -> put(bytes, entry));
            file.write(bytes.flip(), 0);
        }
    }

    /** A clean start believes the file, so it must be on disk with the batches it tells of. Any thread. */
    public void force() throws IOException {
        if (unforced) {
            unforced = false;
            try {
                file.force();
            } catch (IOException e) {
                unforced = true;
                throw new IOException("cannot force " + path + ": " + FileReason.of(e), e);
            }
        }
    }

    /** Immutable for the caller; entries added later are in later lists. */
    public List<Aborted> entries() {
        return published;
    }

    private void publish(List<Aborted> list) {
        entries = list.toArray(NONE);
        published = Arrays.asList(entries).subList(0, entries.length);
    }

    private static void put(ByteBuffer bytes, Aborted entry) {
        bytes.putShort((short) 0).putLong(entry.producerId()).putLong(entry.firstOffset());
        bytes.putLong(entry.lastOffset()).putLong(entry.lastStableOffset());
    }

    @Override
    public void close() throws IOException {
        if (file != null) {
            file.close();
        }
    }
}
