package io.kagami.log.index;

import io.kagami.log.disk.Disk;
import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Path;

/**
 * Timestamp to offset, sparse. An entry is int64 largest timestamp so far in ms, int32 last offset of the first batch that has it
 * minus the segment's base offset; timestamps increase. Written by the log's writer, read by any thread that holds a lease.
 */
public final class TimeIndex implements Closeable {
    public static final int ENTRY_BYTES = 12;

    private final long baseOffset;
    private final MappedTable table;
    private long lastTimestampMs = -1;

    private TimeIndex(long baseOffset, MappedTable table) {
        this.baseOffset = baseOffset;
        this.table = table;
        if (table.count() > 0) {
            lastTimestampMs = timestamp(table.count() - 1);
        }
    }

    public static TimeIndex open(Disk disk, Path file, long baseOffset, int bytesMax, boolean growing)
            throws IOException {
        return new TimeIndex(
                baseOffset, MappedTable.open(disk, file, ENTRY_BYTES, Math.max(1, bytesMax / ENTRY_BYTES), growing));
    }

    /** Adds the entry when its timestamp is larger than all before. */
    public void appendIfLater(long timestampMs, long lastOffset) throws IOException {
        if (timestampMs <= lastTimestampMs) {
            return;
        }
        table.prepare();
        table.putLong(0, timestampMs);
        table.putInt(8, Math.toIntExact(lastOffset - baseOffset));
        table.publish();
        lastTimestampMs = timestampMs;
    }

    public int count() {
        return table.count();
    }

    public int free() {
        return table.entriesMax() - table.count();
    }

    public long timestamp(int entry) {
        return table.readLong(entry, 0);
    }

    public long offset(int entry) {
        return baseOffset + table.readInt(entry, 8);
    }

    /** The last entry whose timestamp is not above this one; -1 when there is none. Every batch below its offset is as old. */
    public int entryAtOrBelow(long timestampMs) {
        int low = 0;
        int high = table.count();
        while (low < high) {
            int middle = (low + high) >>> 1;
            if (timestamp(middle) <= timestampMs) {
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
        lastTimestampMs = table.count() > 0 ? timestamp(table.count() - 1) : -1;
    }

    @Override
    public void close() throws IOException {
        table.close();
    }
}
