package io.kagami.broker.coordinator;

import io.kagami.broker.core.group.GroupRecord;
import io.kagami.broker.core.group.GroupRecords;
import io.kagami.broker.core.group.GroupShard;
import io.kagami.log.LogSlice;
import io.kagami.log.LogView;
import io.kagami.protocol.records.BatchView;
import io.kagami.protocol.records.RecordBatches;
import io.kagami.protocol.records.RecordView;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;

/** Reads a shard's log from start to end, a bounded chunk at a time. */
final class ShardLoad {
    private static final int CHUNK_BYTES = 1 << 20;

    /** Our own batches are not compressed; one that Kafka's tools or a mirror wrote may be. */
    private static final int INFLATED_BYTES_MAX = 64 << 20;

    private record Pending(long offset, GroupRecord record) {}

    private final Supplier<LogView> log;
    private final GroupShard shard;
    private final long endOffset;
    private ByteBuffer buffer = ByteBuffer.allocate(CHUNK_BYTES);
    /** What open transactions wrote so far, by producer id. */
    private final Map<Long, Map<GroupRecord, Pending>> open = new HashMap<>();

    private long offset;
    private long records;
    private long foreign;

    /** @param log its view as it is now: compaction may replace segments between two steps */
    ShardLoad(Supplier<LogView> log, GroupShard shard) {
        LogView view = log.get();
        this.log = log;
        this.shard = shard;
        this.offset = view.startOffset();
        this.endOffset = view.endOffset();
    }

    /** Replays one chunk; false when the end is reached. Each step moves on or fails. */
    boolean step() {
        if (offset >= endOffset) {
            return false;
        }
        LogView view = log.get();
        Optional<LogSlice> found = view.read(Math.max(offset, view.startOffset()), endOffset, CHUNK_BYTES, true);
        if (found.isEmpty()) {
            // nothing but a hole up to the end
            return false;
        }
        long next = offset;
        try (LogSlice slice = found.get()) {
            for (BatchView batch : RecordBatches.of(bytesOf(slice))) {
                if (!batch.valid()) {
                    throw new IllegalStateException(batch + " has a wrong checksum");
                }
                if (batch.control()) {
                    batch.forEach(INFLATED_BYTES_MAX, marker -> end(batch.producerId(), marker.controlType()));
                } else {
                    batch.forEach(INFLATED_BYTES_MAX, record -> replay(record, batch));
                }
                next = batch.lastOffset() + 1;
            }
        }
        if (next <= offset) {
            throw new IllegalStateException("no batch after offset " + offset + " could be read");
        }
        offset = next;
        return offset < endOffset;
    }

    private ByteBuffer bytesOf(LogSlice slice) {
        if (buffer.capacity() < slice.sizeInBytes()) {
            buffer = ByteBuffer.allocate(slice.sizeInBytes());
        }
        buffer.clear().limit(slice.sizeInBytes());
        try {
            while (buffer.hasRemaining()) {
                if (slice.channel().read(buffer, slice.position() + buffer.position()) < 0) {
                    throw new EOFException("the segment ends before offset " + endOffset);
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return buffer.flip();
    }

    private void replay(RecordView at, BatchView batch) {
        Optional<GroupRecord> record;
        try {
            record = at.key() == null ? Optional.empty() : GroupRecords.decode(at.key(), at.value());
        } catch (RuntimeException e) {
            throw new IllegalStateException(
                    "the group record at offset " + at.offset() + " is broken: " + e.getMessage(), e);
        }
        records++;
        if (record.isEmpty()) {
            foreign++;
        } else if (batch.transactional()) {
            open.computeIfAbsent(batch.producerId(), id -> new LinkedHashMap<>())
                    .put(keyOf(record.get()), new Pending(at.offset(), record.get()));
        } else {
            supersede(keyOf(record.get()), at.offset());
            shard.replay(record.get());
        }
    }

    /** What a transaction wrote counts from its commit on; never when it was aborted or has no end. */
    private void end(long producerId, short controlType) {
        Map<GroupRecord, Pending> ended = open.remove(producerId);
        if (ended != null && controlType == RecordView.COMMIT) {
            ended.forEach((key, pending) -> {
                supersede(key, pending.offset());
                shard.replay(pending.record());
            });
        }
    }

    /** The newer record of a key wins, also when the older one's transaction ends later. */
    private void supersede(GroupRecord key, long offset) {
        for (Map<GroupRecord, Pending> each : open.values()) {
            Pending older = each.get(key);
            if (older != null && older.offset() < offset) {
                each.remove(key);
            }
        }
    }

    private static GroupRecord keyOf(GroupRecord record) {
        return record instanceof GroupRecord.Offset offset
                ? new GroupRecord.Offset(offset.groupId(), offset.topic(), offset.partition(), null)
                : new GroupRecord.Metadata(record.groupId(), null);
    }

    long records() {
        return records;
    }

    /** Records of newer group kinds, passed over. */
    long foreign() {
        return foreign;
    }
}
