package io.kagami.broker.api;

import io.kagami.log.LogSlice;
import io.kagami.log.LogView;
import io.kagami.log.LogView.TimestampOffset;
import io.kagami.protocol.records.BatchView;
import io.kagami.protocol.records.RecordBatches;
import io.kagami.protocol.records.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.function.Predicate;

/** Finds records by time, exactly: the indexes lead to a batch, its records decide. */
final class TimeLookup {
    /** Batches looked at behind the first; more than one only where compaction took the records that carried a batch's largest time. */
    private static final int BATCHES_MAX = 10_000;

    /** Ends the reading of a batch when the record is found. */
    private static final class Hit extends RuntimeException {
        private static final long serialVersionUID = 1L;
        private final transient RecordView record;

        Hit(RecordView record) {
            super(null, null, false, false);
            this.record = record;
        }
    }

    private final LogView view;
    private final int inflatedBytesMax;

    TimeLookup(LogView view, int inflatedBytesMax) {
        this.view = view;
        this.inflatedBytesMax = inflatedBytesMax;
    }

    /**
     * The first record, in offset order, that is not older; empty when there is none.
     *
     * @throws io.kagami.protocol.records.MalformedRecords when a batch cannot be read
     */
    Optional<TimestampOffset> firstAtOrAfter(long timestampMs) throws IOException {
        Optional<LogSlice> next = view.batchAtOrAfter(timestampMs);
        for (int i = 0; next.isPresent() && i < BATCHES_MAX; i++) {
            BatchView batch = read(next.get());
            Optional<TimestampOffset> found =
                    find(batch, record -> record.timestamp() >= timestampMs && record.offset() >= view.startOffset());
            if (found.isPresent()) {
                return found;
            }
            long following = batch.lastOffset() + 1;
            if (following >= view.endOffset()) {
                break;
            }
            next = view.read(Math.max(following, view.startOffset()), view.endOffset(), 1, true);
        }
        return Optional.empty();
    }

    /** The first record with the largest time of the log; empty when the log has no record. */
    Optional<TimestampOffset> largest() throws IOException {
        Optional<TimestampOffset> largest = view.maxTimestamp();
        if (largest.isEmpty() || largest.get().timestampMs() < 0) {
            return Optional.empty();
        }
        long offset = Math.max(largest.get().offset(), view.startOffset());
        Optional<LogSlice> slice = view.read(offset, view.endOffset(), 1, true);
        if (slice.isEmpty()) {
            return Optional.empty();
        }
        BatchView batch = read(slice.get());
        Optional<TimestampOffset> exact =
                find(batch, record -> record.timestamp() >= largest.get().timestampMs());
        // compaction may have taken the record and left its time in the header
        return exact.isPresent()
                ? exact
                : firstAtOrAfter(largest.get().timestampMs()).or(() -> largest);
    }

    private Optional<TimestampOffset> find(BatchView batch, Predicate<RecordView> wanted) {
        try {
            batch.forEach(inflatedBytesMax, record -> {
                if (wanted.test(record)) {
                    throw new Hit(record);
                }
            });
            return Optional.empty();
        } catch (Hit hit) {
            return Optional.of(new TimestampOffset(hit.record.timestamp(), hit.record.offset()));
        }
    }

    /** The first batch of a slice, which is closed. */
    private static BatchView read(LogSlice slice) throws IOException {
        try (slice) {
            ByteBuffer bytes = ByteBuffer.allocate(slice.sizeInBytes());
            while (bytes.hasRemaining()) {
                if (slice.channel().read(bytes, slice.position() + bytes.position()) < 0) {
                    throw new IOException("the segment ends " + bytes.remaining() + " bytes before its batch does");
                }
            }
            return RecordBatches.of(bytes.flip()).get(0);
        }
    }
}
