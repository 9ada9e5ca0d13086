package io.kagami.log.index;

import io.kagami.log.disk.Disk;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Offset to file position, sparse. An entry is int32 last offset of a batch minus the segment's base offset, int32 position of that
 * batch; both increase. Written by the log's writer, read by any thread that holds a lease on the segment.
 */
public final class OffsetIndex implements Closeable {
    public static final int ENTRY_BYTES = 8;

    private final long baseOffset;
    private final MappedTable table;

    private OffsetIndex(long baseOffset, MappedTable table) {
        this.baseOffset = baseOffset;
        this.table = table;
    }

    public static OffsetIndex open(Disk disk, Path file, long baseOffset, int bytesMax, boolean growing)
            throws IOException {
        return new OffsetIndex(
                baseOffset, MappedTable.open(disk, file, ENTRY_BYTES, Math.max(1, bytesMax / ENTRY_BYTES), growing));
    }

    public void append(long lastOffset, int position) throws IOException {
        table.prepare();
        table.putInt(0, Math.toIntExact(lastOffset - baseOffset));
        table.putInt(4, position);
        table.publish();
    }

    public int count() {
        return table.count();
    }

    public int free() {
        return table.entriesMax() - table.count();
    }

    public long offset(int entry) {
        return baseOffset + table.readInt(entry, 0);
    }

    public int position(int entry) {
        return table.readInt(entry, 4);
    }

    /** The entry of the last indexed batch whose last offset is not above the offset; -1 when there is none. */
    public int entryAtOrBelow(long offset) {
        int low = 0;
        int high = table.count();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (offset(middle) <= offset) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    /** The last entry whose position is not above this one; -1 when there is none. */
    public int entryAtOrBelowPosition(long position) {
        int low = 0;
        int high = table.count();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (position(middle) <= position) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        return low - 1;
    }

    public void trim() throws IOException {
        table.trim();
    }

    /** Loading only: forgets entries from this one on. */
    public void dropFrom(int entry) {
        table.dropFrom(entry);
    }

    @Override
    public void close() throws IOException {
        table.close();
    }
}
