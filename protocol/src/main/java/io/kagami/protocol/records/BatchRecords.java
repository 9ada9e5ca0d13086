package io.kagami.protocol.records;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** Reads the records of a batch of format version 2. Every length is checked against the bytes that are there. */
final class BatchRecords {
    private static final int HEADER_BYTES = 61;
    private static final int BASE_TIMESTAMP_AT = 27;
    private static final int COUNT_AT = 57;
    private static final int RECORD_BYTES_MIN = 7;

    private final BatchView batch;
    private final ByteBuffer in;
    private final int recordBytesMax;

    private BatchRecords(BatchView batch, ByteBuffer in, int recordBytesMax) {
        this.batch = batch;
        this.in = in;
        this.recordBytesMax = recordBytesMax;
    }

    static void read(BatchView batch, BatchView.Budget budget, Consumer<RecordView> consumer) {
        ByteBuffer bytes = batch.bytes();
        int count = bytes.getInt(COUNT_AT);
        ByteBuffer payload = bytes.slice(HEADER_BYTES, bytes.limit() - HEADER_BYTES);
        ByteBuffer records = Inflater.inflate(batch, payload, budget.batchBytesMax());
        if (count < 0 || (long) count * RECORD_BYTES_MIN > records.remaining()) {
            throw new MalformedRecords(batch + " declares " + count + " records in " + records.remaining() + " bytes");
        }
        int recordBytesMax = batch.codec() == Codec.NONE ? Integer.MAX_VALUE : budget.recordBytesMax();
        new BatchRecords(batch, records, recordBytesMax).readAll(count, bytes.getLong(BASE_TIMESTAMP_AT), consumer);
    }

    private void readAll(int count, long baseTimestamp, Consumer<RecordView> consumer) {
        for (int i = 0; i < count; i++) {
            consumer.accept(record(baseTimestamp));
        }
        if (in.hasRemaining()) {
            throw new MalformedRecords(in.remaining() + " bytes follow the " + count + " records of " + batch);
        }
    }

    private RecordView record(long baseTimestamp) {
        int size = varint();
        int start = in.position();
        if (size > recordBytesMax) {
            throw new MalformedRecords("a record of " + batch + " has " + size
                    + " bytes before compression, and at most " + recordBytesMax + " are allowed");
        }
        need(size);
        in.get(); // attributes: none is in use
        long timestamp = baseTimestamp + varlong();
        int delta = varint();
        long offset = batch.baseOffset() + delta;
        if (delta < 0 || offset > batch.lastOffset()) {
            throw new MalformedRecords("a record of " + batch + " has offset delta " + delta);
        }
        ByteBuffer key = bytes();
        ByteBuffer value = bytes();
        List<RecordHeader> headers = headers();
        if (in.position() - start != size) {
            throw new MalformedRecords("the record at offset " + offset + " of " + batch + " declares " + size
                    + " bytes and has " + (in.position() - start));
        }
        return new RecordView(offset, batch.logAppendTime() ? batch.maxTimestamp() : timestamp, key, value, headers);
    }

    private List<RecordHeader> headers() {
        int count = varint();
        // a header takes two bytes at least
        if (count < 0 || count > in.remaining() / 2) {
            throw new MalformedRecords("a record of " + batch + " declares " + count + " headers");
        }
        if (count == 0) {
            return List.of();
        }
        List<RecordHeader> headers = new ArrayList<>(Math.min(count, 16));
        for (int i = 0; i < count; i++) {
            ByteBuffer key = bytes();
            if (key == null) {
                throw new MalformedRecords("a record header of " + batch + " has no key");
            }
            headers.add(new RecordHeader(StandardCharsets.UTF_8.decode(key).toString(), bytes()));
        }
        return headers;
    }

    private ByteBuffer bytes() {
        int length = varint();
        if (length < 0) {
            return null;
        }
        need(length);
        ByteBuffer view = in.slice(in.position(), length);
        in.position(in.position() + length);
        return view;
    }

    private int varint() {
        long value = varlong();
        if (value != (int) value) {
            throw new MalformedRecords("a record of " + batch + " has a number of more than 32 bits");
        }
        return (int) value;
    }

    private long varlong() {
        long raw = 0;
        for (int shift = 0; shift < Long.SIZE; shift += 7) {
            need(1);
            byte b = in.get();
            raw |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                return (raw >>> 1) ^ -(raw & 1);
            }
        }
        throw new MalformedRecords("a record of " + batch + " has a number of more than 64 bits");
    }

    private void need(int count) {
        if (count < 0 || count > in.remaining()) {
            throw new MalformedRecords(
                    "a record of " + batch + " needs " + count + " bytes where " + in.remaining() + " remain");
        }
    }
}
