package io.kagami.log.core;

import io.kagami.log.core.ProducerEntry.Batch;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.zip.CRC32C;

/**
 * The bytes of a producer snapshot, as Apache Kafka writes and reads them, followed by what its form has no room for.
 *
 * <pre>
 *  int16 version = 1
 *  int32 CRC-32C of all that follows
 *  int32 producers, for each: int64 id, int16 epoch, int32 last sequence, int64 last offset, int32 offset delta,
 *        int64 timestamp in ms, int32 coordinator epoch, int64 first offset of the open transaction (-1 for none)
 *  then, ours, which Apache Kafka's reader passes over:
 *  int32 0x4B474D31, int64 largest producer id ever seen, for each producer in the same order:
 *        int8 batches, for each: int32 last sequence, int64 last offset, int32 offset delta, int64 timestamp in ms
 * </pre>
 *
 * Apache Kafka's form has the last batch of each producer alone: a retry of an earlier one would be refused after a restart.
 */
public final class ProducerSnapshot {
    private static final short VERSION = 1;
    private static final int CRC_AT = 2;
    private static final int BODY_AT = 6;
    private static final int ENTRY_BYTES = 8 + 2 + 4 + 8 + 4 + 8 + 4 + 8;
    private static final int MARK = 0x4B474D31;
    private static final int BATCH_BYTES = 4 + 8 + 4 + 8;

    private ProducerSnapshot() {}

    /** Bytes that are no whole snapshot; the message says why. */
    public static final class Unreadable extends Exception {
        private static final long serialVersionUID = 1L;

        Unreadable(String message) {
            super(message);
        }
    }

    /**
     * @param table of the log below the snapshot's offset
     * @param complete false when the file is Apache Kafka's own: earlier batches of each producer and larger ids may be missing
     */
    public record Read(ProducerTable table, boolean complete) {}

    /** Ascending by producer id. */
    public static ByteBuffer write(ProducerTable table) {
        List<ProducerEntry> entries = new ArrayList<>(table.entries());
        entries.sort(Comparator.comparingLong(ProducerEntry::producerId));
        long bytes = BODY_AT + 4L + 4 + 8;
        for (ProducerEntry entry : entries) {
            bytes += ENTRY_BYTES + 1L + (long) BATCH_BYTES * entry.batches().size();
        }
        ByteBuffer out = ByteBuffer.allocate(Math.toIntExact(bytes));
        out.putShort(VERSION).putInt(0).putInt(entries.size());
        for (ProducerEntry entry : entries) {
            int count = entry.batches().size();
            Batch last = count == 0 ? new Batch(-1, -1, 0, -1) : entry.batches().get(count - 1);
            out.putLong(entry.producerId()).putShort(entry.epoch()).putInt(last.lastSequence());
            out.putLong(last.lastOffset()).putInt(last.offsetDelta()).putLong(entry.lastTimestampMs());
            out.putInt(entry.coordinatorEpoch()).putLong(entry.firstOffset());
        }
        out.putInt(MARK).putLong(table.maxProducerId());
        for (ProducerEntry entry : entries) {
            out.put((byte) entry.batches().size());
            for (Batch batch : entry.batches()) {
                out.putInt(batch.lastSequence()).putLong(batch.lastOffset());
                out.putInt(batch.offsetDelta()).putLong(batch.timestampMs());
            }
        }
        out.flip();
        return out.putInt(CRC_AT, crc(out));
    }

    /** @param offset end of the log that the snapshot was taken at */
    public static Read read(ByteBuffer in, long offset) throws Unreadable {
        int count = checkedCount(in);
        ByteBuffer body = in.slice(BODY_AT + 4, in.limit() - BODY_AT - 4);
        List<ProducerEntry> entries = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            entries.add(entry(body));
        }
        ProducerTable table = new ProducerTable();
        boolean complete = body.remaining() >= 12 && body.getInt(body.position()) == MARK;
        if (complete) {
            body.getInt();
            table.atLeast(body.getLong());
        }
        for (ProducerEntry entry : entries) {
            if (entry.firstOffset() >= offset) {
                throw new Unreadable("a transaction begins at " + entry.firstOffset() + ", above offset " + offset);
            }
            table.restore(complete ? withBatches(entry, body, offset) : entry);
        }
        table.restoredAt(offset);
        return new Read(table, complete);
    }

    private static int checkedCount(ByteBuffer in) throws Unreadable {
        if (in.limit() < BODY_AT + 4) {
            throw new Unreadable("it has only " + in.limit() + " bytes");
        }
        if (in.getShort(0) != VERSION) {
            throw new Unreadable("its version is " + in.getShort(0) + ", not " + VERSION);
        }
        if (in.getInt(CRC_AT) != crc(in)) {
            throw new Unreadable("its checksum does not fit its bytes");
        }
        int count = in.getInt(BODY_AT);
        if (count < 0 || (long) count * ENTRY_BYTES > in.limit() - BODY_AT - 4) {
            throw new Unreadable("it cannot hold " + count + " producers in " + in.limit() + " bytes");
        }
        return count;
    }

    private static ProducerEntry entry(ByteBuffer in) throws Unreadable {
        long producerId = in.getLong();
        short epoch = in.getShort();
        int lastSequence = in.getInt();
        long lastOffset = in.getLong();
        int delta = in.getInt();
        long timestampMs = in.getLong();
        int coordinatorEpoch = in.getInt();
        long first = Math.max(-1, in.getLong());
        if (producerId < 0 || delta < 0) {
            throw new Unreadable("producer id " + producerId + " or offset delta " + delta + " is negative");
        }
        List<Batch> batches =
                lastOffset < 0 ? List.of() : List.of(new Batch(lastSequence, lastOffset, delta, timestampMs));
        return new ProducerEntry(producerId, epoch, coordinatorEpoch, timestampMs, first, batches);
    }

    private static ProducerEntry withBatches(ProducerEntry entry, ByteBuffer in, long offset) throws Unreadable {
        int count = in.hasRemaining() ? in.get() : -1;
        if (count < 0 || count > ProducerEntry.BATCHES_MAX || in.remaining() < count * BATCH_BYTES) {
            throw new Unreadable("the batches of producer " + entry.producerId() + " are not all there");
        }
        List<Batch> batches = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            Batch batch = new Batch(in.getInt(), in.getLong(), in.getInt(), in.getLong());
            if (batch.lastOffset() >= offset) {
                throw new Unreadable("a batch ends at " + batch.lastOffset() + ", above offset " + offset);
            }
            batches.add(batch);
        }
        return new ProducerEntry(
                entry.producerId(),
                entry.epoch(),
                entry.coordinatorEpoch(),
                entry.lastTimestampMs(),
                entry.firstOffset(),
                List.copyOf(batches));
    }

    private static int crc(ByteBuffer bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes.slice(BODY_AT, bytes.limit() - BODY_AT));
        return (int) crc.getValue();
    }
}
