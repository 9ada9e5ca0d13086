package io.kagami.log.clean;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.segment.Segment;
import java.io.IOException;
import java.nio.ByteBuffer;

/** Collects batches and writes them to a new segment in large pieces. */
final class CleanedWriter {
    private final Segment segment;
    private final Pace pace;
    private final ByteBuffer pending;

    /** @param buffer working memory, used until the end */
    CleanedWriter(Segment segment, ByteBuffer buffer, Pace pace) {
        this.segment = segment;
        this.pending = buffer.clear();
        this.pace = pace;
    }

    /** @param batch one whole batch; not moved */
    void add(ByteBuffer batch) throws IOException, CleaningFailed, Pace.Stopped {
        int bytes = batch.remaining();
        if ((long) segment.size() + pending.position() + bytes > Integer.MAX_VALUE) {
            throw new CleaningFailed(
                    segment.path() + " would grow beyond 2^31-1 bytes, although it is to replace"
                            + " segments that are smaller",
                    null);
        }
        if (bytes > pending.remaining()) {
            flush();
        }
        if (bytes > pending.capacity()) {
            write(batch.slice());
        } else {
            pending.put(batch.duplicate());
        }
    }

    private void flush() throws IOException, Pace.Stopped {
        pending.flip();
        if (pending.hasRemaining()) {
            write(pending.slice());
        }
        pending.clear();
    }

    private void write(ByteBuffer batches) throws IOException, Pace.Stopped {
        int bytes = batches.remaining();
        int start = segment.size();
        segment.write(batches.duplicate());
        for (int at = 0; at < bytes; at += BatchHeader.sizeInBytes(batches, at)) {
            segment.learn(batches, at, start + at);
        }
        segment.publish(start + bytes);
        pace.spent(bytes);
    }

    /** Everything is on disk on return. */
    void finish() throws IOException, Pace.Stopped {
        flush();
        segment.seal();
        segment.force();
    }
}
