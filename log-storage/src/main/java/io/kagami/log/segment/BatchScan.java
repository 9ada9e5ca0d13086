package io.kagami.log.segment;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.BatchWalker;
import io.kagami.log.core.ControlRecord;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/**
 * Walks the batch headers of a segment file between two positions with a small buffer, without reading the records. Stops before the
 * first batch that is torn or has an impossible header. One thread.
 */
public final class BatchScan {
    /** Read-ahead when batches are small; with large ones little more than a header is read. */
    public static final int WINDOW_BYTES = 16 * 1024;

    private static final int SPARSE_READ_BYTES = 256;
    private static final int LARGE_BATCH_BYTES = 8 * 1024;
    private static final int CRC_CHUNK_BYTES = 64 * 1024;

    private final FileChannel channel;
    private final long limit;
    private final ByteBuffer window;
    private long windowStart;
    private int windowBytes;
    private long position;
    private int size;
    private int at;
    private String fault;
    private ByteBuffer crcChunk;

    /**
     * @param from position of a batch
     * @param limit end of the bytes that may be read, exclusive
     * @param window working memory of at least 256 bytes, used until the scan ends
     */
    public BatchScan(FileChannel channel, long from, long limit, ByteBuffer window) {
        this.channel = channel;
        this.position = from;
        this.limit = limit;
        this.window = window;
    }

    public BatchScan(FileChannel channel, long from, long limit) {
        this(channel, from, limit, ByteBuffer.allocateDirect(WINDOW_BYTES));
    }

    /** Moves to the next whole batch; false at the end, at a torn batch and at a {@link #fault()}. */
    public boolean next() throws IOException {
        long start = position + size;
        if (fault != null || limit - start < BatchHeader.MAGIC_END || !load(start, BatchHeader.MAGIC_END)) {
            return stopAt(start);
        }
        int header = BatchHeader.sizeMin(BatchHeader.magic(window, at));
        if (limit - start < header || !load(start, header)) {
            return stopAt(start);
        }
        String wrong = BatchWalker.headerFault(window, at);
        if (wrong != null) {
            fault = "batch with base offset " + BatchHeader.baseOffset(window, at) + " at position " + start + ": "
                    + wrong;
            return stopAt(start);
        }
        int bytes = BatchHeader.sizeInBytes(window, at);
        if (bytes > limit - start) {
            return stopAt(start);
        }
        position = start;
        size = bytes;
        return true;
    }

    /** Stands before the batch once more: the next {@link #next()} finds it again. */
    void again() {
        size = 0;
    }

    private boolean stopAt(long start) {
        position = start;
        size = 0;
        return false;
    }

    /** Position of the batch; after the last one the end of the whole batches. */
    public long position() {
        return position;
    }

    public int sizeInBytes() {
        return size;
    }

    /** Holds the header of the batch at {@link #at()}. */
    public ByteBuffer header() {
        return window;
    }

    public int at() {
        return at;
    }

    public long baseOffset() {
        return BatchHeader.baseOffset(window, at);
    }

    public long lastOffset() {
        return BatchHeader.lastOffset(window, at);
    }

    public long maxTimestamp() {
        return BatchHeader.maxTimestamp(window, at);
    }

    /** A sentence about the impossible header that ended the scan; null when it ended otherwise. */
    public String fault() {
        return fault;
    }

    /** What the record of a control batch says; {@link ControlRecord#NONE} of any other batch. */
    public ControlRecord control() throws IOException {
        if (!BatchHeader.control(window, at)) {
            return ControlRecord.NONE;
        }
        int wanted = Math.min(size, BatchHeader.V2_HEADER + ControlRecord.PREFIX_BYTES);
        if (!load(position, wanted)) {
            return ControlRecord.NONE;
        }
        return ControlRecord.of(window, at, at + wanted);
    }

    /** Reads the whole batch in chunks and checks it against its checksum. */
    public boolean crcValid() throws IOException {
        boolean v2 = BatchHeader.magic(window, at) >= 2;
        Checksum crc = v2 ? new CRC32C() : new CRC32();
        int expected = window.getInt(at + (v2 ? 17 : 12));
        if (crcChunk == null) {
            crcChunk = ByteBuffer.allocateDirect(CRC_CHUNK_BYTES);
        }
        long from = position + (v2 ? 21 : 16);
        long end = position + size;
        while (from < end) {
            crcChunk.clear().limit((int) Math.min(CRC_CHUNK_BYTES, end - from));
            int read = channel.read(crcChunk, from);
            if (read <= 0) {
                return false;
            }
            crc.update(crcChunk.flip());
            from += read;
        }
        return (int) crc.getValue() == expected;
    }

    /** Makes bytes of the file available in the window; false when the file ends before. */
    private boolean load(long from, int bytes) throws IOException {
        if (from >= windowStart && from + bytes <= windowStart + windowBytes) {
            at = (int) (from - windowStart);
            return true;
        }
        int ahead = size > LARGE_BATCH_BYTES ? SPARSE_READ_BYTES : window.capacity();
        window.clear().limit((int) Math.min(ahead, limit - from));
        long read = from;
        while (window.hasRemaining()) {
            int n = channel.read(window, read);
            if (n <= 0) {
                break;
            }
            read += n;
        }
        windowStart = from;
        windowBytes = window.position();
        at = 0;
        window.clear();
        return windowBytes >= bytes;
    }
}
