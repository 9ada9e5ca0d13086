package io.kagami.log.clean;

import io.kagami.log.core.BatchHeader;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.zip.CRC32C;

/** Opens v2 batches that are not compressed, and single v0/v1 messages; written anew from the format tables. */
public final class PlainRewriter implements BatchRewriter {
    /** One record as a reader sees it. */
    public record Seen(long offset, long timestampMs, ByteBuffer key, ByteBuffer value, ByteBuffer bytes) {}

    /** Records of one batch in order. */
    public static List<Seen> records(ByteBuffer batch) {
        int magic = BatchHeader.magic(batch, 0);
        List<Seen> records = new ArrayList<>();
        if (magic < 2) {
            ByteBuffer in = batch.duplicate().position(magic == 1 ? 26 : 18);
            ByteBuffer key = field(in, in.getInt());
            ByteBuffer value = field(in, in.getInt());
            records.add(new Seen(batch.getLong(0), BatchHeader.maxTimestamp(batch, 0), key, value, batch));
            return records;
        }
        ByteBuffer in = batch.duplicate().position(BatchHeader.V2_HEADER);
        for (int i = 0; i < BatchHeader.recordCount(batch, 0); i++) {
            int length = (int) varlong(in);
            int end = in.position() + length;
            ByteBuffer bytes = in.slice(in.position(), length);
            in.get();
            long timestamp = BatchHeader.baseTimestamp(batch, 0) + varlong(in);
            long offset = BatchHeader.baseOffset(batch, 0) + varlong(in);
            ByteBuffer key = field(in, (int) varlong(in));
            ByteBuffer value = field(in, (int) varlong(in));
            in.position(end);
            records.add(new Seen(offset, timestamp, key, value, bytes));
        }
        return records;
    }

    private static ByteBuffer field(ByteBuffer in, int length) {
        if (length < 0) {
            return null;
        }
        ByteBuffer view = in.slice(in.position(), length);
        in.position(in.position() + length);
        return view;
    }

    private static long varlong(ByteBuffer in) {
        long raw = 0;
        int shift = 0;
        byte b;
        do {
            b = in.get();
            raw |= (long) (b & 0x7F) << shift;
            shift += 7;
        } while (b < 0);
        return (raw >>> 1) ^ -(raw & 1);
    }

    private static void putVarlong(ByteBuffer out, long value) {
        long zigzag = (value << 1) ^ (value >> 63);
        while ((zigzag & ~0x7FL) != 0) {
            out.put((byte) ((zigzag & 0x7F) | 0x80));
            zigzag >>>= 7;
        }
        out.put((byte) zigzag);
    }

    @Override
    public void read(ByteBuffer batch, Sink sink) {
        records(batch.slice()).forEach(each -> sink.onRecord(each.offset(), each.key(), each.value() != null));
    }

    @Override
    public ByteBuffer rewrite(ByteBuffer original, BitSet kept, long deleteHorizonMs) {
        ByteBuffer batch = original.slice();
        if (BatchHeader.magic(batch, 0) < 2) {
            return batch;
        }
        List<Seen> all = records(batch);
        ByteBuffer out = ByteBuffer.allocate(batch.limit() + 16 * all.size());
        out.put(batch.slice(0, BatchHeader.V2_HEADER));
        long base = deleteHorizonMs >= 0 ? deleteHorizonMs : BatchHeader.baseTimestamp(batch, 0);
        if (deleteHorizonMs >= 0) {
            out.putShort(21, (short) (BatchHeader.attributes(batch, 0) | 0x40));
            out.putLong(27, base);
        }
        long max = -1;
        for (int i = kept.nextSetBit(0); i >= 0; i = kept.nextSetBit(i + 1)) {
            Seen each = all.get(i);
            max = Math.max(max, each.timestampMs());
            put(out, each, base, BatchHeader.baseOffset(batch, 0));
        }
        out.flip();
        out.putInt(8, out.limit() - BatchHeader.LOG_OVERHEAD).putLong(35, max).putInt(57, kept.cardinality());
        CRC32C crc = new CRC32C();
        crc.update(out.slice(21, out.limit() - 21));
        return out.putInt(17, (int) crc.getValue());
    }

    private static void put(ByteBuffer out, Seen each, long baseTimestamp, long baseOffset) {
        ByteBuffer record = ByteBuffer.allocate(each.bytes().limit() + 20);
        record.put((byte) 0);
        putVarlong(record, each.timestampMs() - baseTimestamp);
        putVarlong(record, each.offset() - baseOffset);
        for (ByteBuffer field : new ByteBuffer[] {each.key(), each.value()}) {
            putVarlong(record, field == null ? -1 : field.remaining());
            if (field != null) {
                record.put(field.duplicate());
            }
        }
        putVarlong(record, 0);
        record.flip();
        putVarlong(out, record.remaining());
        out.put(record);
    }
}
