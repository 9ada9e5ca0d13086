package io.kagami.log;

import java.nio.channels.FileChannel;

/**
 * Whole batches of one segment file, plus a lease that keeps the file open and readable until {@link #close()},
 * also when the segment is deleted meanwhile. Any thread may close it; closing twice is a no-op.
 */
public interface LogSlice extends AutoCloseable {
    FileChannel channel();

    /** Byte position in {@link #channel()} of the first batch. */
    long position();

    /** Bytes, a whole number of batches. */
    int sizeInBytes();

    /** Base offset of the first batch (for a compressed v0/v1 wrapper its last offset). */
    long firstBatchOffset();

    /** Another lease on the same bytes. */
    LogSlice retain();

    @Override
    void close();
}
