package io.kagami.protocol.records;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Reads messages of format versions 0 and 1: {@code offset int64, size int32, crc int32, magic int8, attributes int8, [timestamp
 * int64 from 1 on], key, value}. A compressed message wraps others in its value; in version 1 their offsets are relative, and the
 * last of them has the offset of the wrapper.
 */
final class LegacyRecords {
    private static final int SIZE_AT = 8;
    private static final int OVERHEAD = 12;
    private static final int MAGIC_AT = 16;
    private static final int ATTRIBUTES_AT = 17;
    private static final int TIMESTAMP_AT = 18;

    private LegacyRecords() {}

    static void read(BatchView batch, int inflatedBytesMax, Consumer<RecordView> consumer) {
        ByteBuffer bytes = batch.bytes();
        RecordView outer = message(batch, bytes, bytes.remaining());
        if (batch.codec() == Codec.NONE) {
            consumer.accept(outer);
            return;
        }
        if (outer.value() == null) {
            throw new MalformedRecords("the compressed message at offset " + outer.offset() + " wraps nothing");
        }
        ByteBuffer inner = Inflater.inflate(batch, outer.value(), inflatedBytesMax);
        List<RecordView> wrapped = new ArrayList<>();
        while (inner.hasRemaining()) {
            int size = inner.remaining() < OVERHEAD ? -1 : inner.getInt(inner.position() + SIZE_AT);
            if (size < 0 || size > inner.remaining() - OVERHEAD) {
                throw new MalformedRecords("a message inside " + batch + " declares " + size + " bytes where "
                        + (inner.remaining() - OVERHEAD) + " remain");
            }
            ByteBuffer one = inner.slice(inner.position(), OVERHEAD + size);
            inner.position(inner.position() + OVERHEAD + size);
            if (one.remaining() <= ATTRIBUTES_AT
                    || one.get(MAGIC_AT) != batch.magic()
                    || (one.get(ATTRIBUTES_AT) & 7) != 0) {
                throw new MalformedRecords("a message inside " + batch + " is of another format or compressed again");
            }
            wrapped.add(message(batch, one, one.remaining()));
        }
        if (wrapped.isEmpty()) {
            throw new MalformedRecords("the compressed message at offset " + outer.offset() + " wraps nothing");
        }
        long shift = batch.magic() == 0
                ? 0
                : outer.offset() - wrapped.get(wrapped.size() - 1).offset();
        for (RecordView view : wrapped) {
            long timestamp = batch.logAppendTime() ? outer.timestamp() : view.timestamp();
            consumer.accept(new RecordView(view.offset() + shift, timestamp, view.key(), view.value(), List.of()));
        }
    }

    private static RecordView message(BatchView batch, ByteBuffer bytes, int end) {
        boolean timed = batch.magic() > 0;
        int at = timed ? TIMESTAMP_AT + Long.BYTES : TIMESTAMP_AT;
        if (end < at + 2 * Integer.BYTES) {
            throw new MalformedRecords("a message of " + batch + " has " + end + " bytes");
        }
        ByteBuffer key = field(batch, bytes, at);
        at += Integer.BYTES + (key == null ? 0 : key.remaining());
        ByteBuffer value = field(batch, bytes, at);
        return new RecordView(bytes.getLong(0), timed ? bytes.getLong(TIMESTAMP_AT) : -1, key, value, List.of());
    }

    private static ByteBuffer field(BatchView batch, ByteBuffer bytes, int at) {
        int length = bytes.limit() - at < Integer.BYTES ? Integer.MAX_VALUE : bytes.getInt(at);
        if (length == -1) {
            return null;
        }
        if (length < 0 || length > bytes.limit() - at - Integer.BYTES) {
            throw new MalformedRecords("a message of " + batch + " has a field of " + length + " bytes");
        }
        return bytes.slice(at + Integer.BYTES, length);
    }
}
