package io.kagami.log.index;

import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import java.io.Closeable;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import net.openhft.chronicle.bytes.MappedBytesStore;
import net.openhft.chronicle.bytes.MappedFile;
import net.openhft.chronicle.core.io.BackgroundResourceReleaser;
import net.openhft.chronicle.core.io.ReferenceOwner;

/**
 * Fixed-width big-endian entries in a mapped file. One writer appends; any thread reads entries below {@link #count()}, which is
 * published last. The file is mapped when the first entry comes (an empty index costs nothing), at its full capacity but sparse; the bytes of an
 * entry are written with an ordinary write before they are touched through the mapping, so that a full disk is an exception here
 * and not a signal there. {@link #trim()} cuts the unused rest; until then zeros follow the last entry, and a hole follows those: it is never
 * read through the mapping, which on some file systems takes a page for it.
 *
 * <p>Reading after {@link #close()} would touch unmapped memory: whoever reads holds a lease on the segment.
 */
public final class MappedTable implements Closeable {
    private static final int FILL_BYTES = 4096;
    private static final boolean SWAP = ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN;

    static {
        // its class registers a shutdown hook when it is first used; that is refused while the JVM stops, when tables
        // are closed
        BackgroundResourceReleaser.releasePendingResources();
    }

    private final Disk disk;
    private final Path path;
    private final int entryBytes;
    private final int entriesMax;
    private final ReferenceOwner owner = ReferenceOwner.temporary("index");
    private MappedFile mapped;
    private volatile MappedBytesStore store;
    private volatile int count;
    private long filledBytes;

    private MappedTable(Disk disk, Path path, int entryBytes, int entriesMax) {
        this.disk = disk;
        this.path = path;
        this.entryBytes = entryBytes;
        this.entriesMax = entriesMax;
    }

    /**
     * Opens or creates. All whole entries of an existing file count, but for the zeros behind the last one of a file that was not trimmed;
     * the caller judges them.
     *
     * @param growing whether entries will be appended
     */
    static MappedTable open(Disk disk, Path path, int entryBytes, int entriesMax, boolean growing) throws IOException {
        int existing;
        long size;
        try (DiskFile file = disk.open(path)) {
            size = file.size();
            existing = (int) Math.min(size / entryBytes, Integer.MAX_VALUE / entryBytes);
            if (existing > 1 && isZero(file, (existing - 1L) * entryBytes, entryBytes)) {
                existing = filledEntries(file, existing, entryBytes);
                size = (long) existing * entryBytes;
                if (growing) {
                    file.truncate(size);
                }
            }
        }
        MappedTable table =
                new MappedTable(disk, path, entryBytes, growing ? Math.max(entriesMax, existing) : existing);
        table.filledBytes = size;
        if (existing > 0) {
            table.map(growing);
        }
        table.count = existing;
        return table;
    }

    private static boolean isZero(DiskFile file, long from, int bytes) throws IOException {
        return lastSet(read(file, from, bytes)) < 0;
    }

    /** Up to the last entry that is not zero before the first block that is. */
    private static int filledEntries(DiskFile file, int existing, int entryBytes) throws IOException {
        long filled = 0;
        for (long block = 0; block < (long) existing * entryBytes; block += FILL_BYTES) {
            int last = lastSet(read(file, block, FILL_BYTES));
            if (last < 0) {
                break;
            }
            filled = block + last + 1;
        }
        return (int) Math.min(existing, (filled + entryBytes - 1) / entryBytes);
    }

    private static ByteBuffer read(DiskFile file, long from, int bytes) throws IOException {
        ByteBuffer found = ByteBuffer.allocate(bytes);
        int got = 0;
        while (found.hasRemaining() && got >= 0) {
            got = file.channel().read(found, from + found.position());
        }
        return found.flip();
    }

    /** Index of the last byte that is not zero, -1 when there is none. */
    private static int lastSet(ByteBuffer bytes) {
        int at = bytes.limit() - 1;
        while (at >= 0 && bytes.get(at) == 0) {
            at--;
        }
        return at;
    }

    private void map(boolean growing) throws IOException {
        long bytes = (long) entriesMax * entryBytes;
        mapped = MappedFile.ofSingle(path.toFile(), bytes, !growing);
        // readers come from many threads; the lease of the segment orders them against release
        mapped.singleThreadedCheckDisabled(true);
        store = mapped.acquireByteStore(owner, 0);
        store.singleThreadedCheckDisabled(true);
    }

    int count() {
        return count;
    }

    int entriesMax() {
        return entriesMax;
    }

    Path path() {
        return path;
    }

    /** Makes room for entry {@code count()}; its fields are then put and {@link #publish()} called. */
    void prepare() throws IOException {
        int entry = count;
        if (entry >= entriesMax) {
            throw new IOException("index " + path + " is full with " + entry + " entries");
        }
        long needed = (long) (entry + 1) * entryBytes;
        if (filledBytes < needed) {
            fill(needed);
        }
        if (store == null) {
            map(true);
        }
    }

    /** The file is opened for this only: a log has many segments, and the mapping needs one descriptor already. */
    private void fill(long needed) throws IOException {
        long capacity = (long) entriesMax * entryBytes;
        try (DiskFile file = disk.open(path)) {
            while (filledBytes < needed) {
                int bytes = (int) Math.min(FILL_BYTES - filledBytes % FILL_BYTES, capacity - filledBytes);
                file.write(ByteBuffer.allocate(bytes), filledBytes);
                filledBytes += bytes;
            }
        }
    }

    void putInt(int fieldAt, int value) {
        store.writeInt((long) count * entryBytes + fieldAt, SWAP ? Integer.reverseBytes(value) : value);
    }

    void putLong(int fieldAt, long value) {
        store.writeLong((long) count * entryBytes + fieldAt, SWAP ? Long.reverseBytes(value) : value);
    }

    /** Lets readers see the entry just put. */
    void publish() {
        int published = count + 1; // one writer: nobody else changes it
        count = published;
    }

    int readInt(int entry, int fieldAt) {
        int value = store.readInt((long) entry * entryBytes + fieldAt);
        return SWAP ? Integer.reverseBytes(value) : value;
    }

    long readLong(int entry, int fieldAt) {
        long value = store.readLong((long) entry * entryBytes + fieldAt);
        return SWAP ? Long.reverseBytes(value) : value;
    }

    /** Forgets entries from this one on; they must not have been published to readers of other threads. */
    void dropFrom(int entry) {
        count = Math.min(count, entry);
    }

    /** Cuts the file to its entries. Appending may go on afterwards. */
    void trim() throws IOException {
        long bytes = (long) count * entryBytes;
        try (DiskFile file = disk.open(path)) {
            if (file.size() > bytes) {
                file.truncate(bytes);
            }
        }
        filledBytes = bytes;
    }

    @Override
    public void close() throws IOException {
        MappedBytesStore old = store;
        store = null;
        count = 0;
        if (old != null) {
            old.release(owner);
            old.releaseLast(); // its maker's own: without this the file stays mapped until the process ends
            mapped.releaseLast();
        }
    }
}
