package io.kagami.log.clean;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.BatchWalker;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.segment.Segment;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Reads whole batches of a segment in order, through one buffer that grows for a batch that does not fit; checks each against its checksum. */
final class BatchReader {
    private final int batchBytesMax;
    private final Pace pace;
    private ByteBuffer buffer;
    private Segment segment;
    private long limit;
    private long filePosition;
    private int at;
    private int size;

    BatchReader(int bufferBytes, int batchBytesMax, Pace pace) {
        this.buffer = ByteBuffer.allocateDirect(bufferBytes);
        this.batchBytesMax = batchBytesMax;
        this.pace = pace;
    }

    /** Starts over at the position of a batch in a segment that the caller holds. */
    void open(Segment source, long position) {
        segment = source;
        limit = source.size();
        filePosition = position;
        buffer.clear().limit(0);
        at = 0;
        size = 0;
    }

    /** Moves to the next batch; false behind the last one. */
    boolean next() throws IOException, CleaningFailed, Pace.Stopped {
        at += size;
        size = 0;
        if (position() >= limit) {
            return false;
        }
        require(Math.min(BatchHeader.V2_HEADER, (int) Math.min(limit - position(), Integer.MAX_VALUE)));
        int have = buffer.limit() - at;
        String fault = have < BatchHeader.MAGIC_END || have < BatchHeader.sizeMin(BatchHeader.magic(buffer, at))
                ? "it is torn"
                : BatchWalker.headerFault(buffer, at);
        if (fault != null) {
            throw failed(fault);
        }
        int bytes = BatchHeader.sizeInBytes(buffer, at);
        if (bytes > batchBytesMax) {
            throw failed("it has " + bytes + " bytes, more than the " + batchBytesMax + " that compaction takes");
        }
        if (bytes > limit - position()) {
            throw failed("it is torn");
        }
        require(bytes);
        if (!BatchHeader.crcValid(buffer, at)) {
            throw failed("its checksum does not fit its bytes");
        }
        size = bytes;
        return true;
    }

    /** Makes bytes from {@code at} on available. */
    private void require(int bytes) throws IOException, Pace.Stopped {
        if (buffer.limit() - at >= bytes) {
            return;
        }
        ByteBuffer rest = buffer.position(at);
        if (bytes > buffer.capacity()) {
            buffer = ByteBuffer.allocateDirect(bytes).put(rest);
        } else {
            buffer = rest.compact();
        }
        at = 0;
        int before = buffer.position();
        buffer.limit((int) Math.min(buffer.capacity(), before + limit - filePosition));
        while (buffer.position() < bytes) {
            int read = segment.channel().read(buffer, filePosition);
            if (read <= 0) {
                throw new IOException(segment.path() + " ends at " + filePosition + " instead of " + limit);
            }
            filePosition += read;
        }
        int read = buffer.position() - before;
        buffer.flip();
        pace.spent(read);
    }

    CleaningFailed failed(String why) {
        return failed(why, null);
    }

    CleaningFailed failed(String why, Throwable cause) {
        boolean named = buffer.limit() - at >= Long.BYTES;
        return new CleaningFailed(
                "batch" + (named ? " with base offset " + BatchHeader.baseOffset(buffer, at) : "") + " at position "
                        + position() + " of " + segment.path() + ": " + why,
                cause);
    }

    /** Where the batch is in the file. */
    long position() {
        return filePosition - (buffer.limit() - at);
    }

    boolean lastOfSegment() {
        return position() + size >= limit;
    }

    /** Holds the batch at {@link #at()}. */
    ByteBuffer buffer() {
        return buffer;
    }

    int at() {
        return at;
    }

    int sizeInBytes() {
        return size;
    }

    /** The batch alone, a view. */
    ByteBuffer batch() {
        return buffer.slice(at, size);
    }

    int controlType() {
        return ControlRecord.of(buffer, at, at + size).type();
    }
}
