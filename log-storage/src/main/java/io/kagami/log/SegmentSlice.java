package io.kagami.log;

import io.kagami.log.segment.Segment;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.util.concurrent.atomic.AtomicBoolean;

/** A range of one segment file and one lease on the segment. */
final class SegmentSlice implements LogSlice {
    private final Segment segment;
    private final long position;
    private final int sizeInBytes;
    private final long firstBatchOffset;
    private final AtomicBoolean closed = new AtomicBoolean();

    /** Takes over a lease that the caller holds. */
    SegmentSlice(Segment segment, long position, int sizeInBytes, long firstBatchOffset) {
        this.segment = segment;
        this.position = position;
        this.sizeInBytes = sizeInBytes;
        this.firstBatchOffset = firstBatchOffset;
    }

    @Override
    public FileChannel channel() {
        return segment.channel();
    }

    @Override
    public long position() {
        return position;
    }

    @Override
    public int sizeInBytes() {
        return sizeInBytes;
    }

    @Override
    public long firstBatchOffset() {
        return firstBatchOffset;
    }

    @Override
    public LogSlice retain() {
        if (closed.get() || !segment.retain()) {
            throw new IllegalStateException("slice of " + segment.path() + " is closed already");
        }
        return new SegmentSlice(segment, position, sizeInBytes, firstBatchOffset);
    }

    @Override
    public void close() {
        if (!closed.compareAndSet(false, true)) {
            return;
        }
        try {
            segment.release();
        } catch (IOException e) {
            throw new UncheckedIOException("closing " + segment.path(), e);
        }
    }
}
