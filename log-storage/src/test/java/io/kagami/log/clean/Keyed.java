package io.kagami.log.clean;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/** A v2 batch with keys and values, or without values, under construction. */
public final class Keyed {
    private record Entry(ByteBuffer key, ByteBuffer value) {}

    private final List<Entry> entries = new ArrayList<>();
    private long offset;
    private int epoch;
    private long timestampMs = 1_000;
    private int attributes;
    private long producerId = -1;
    private int producerEpoch = -1;
    private int sequence = -1;

    public static Keyed batch() {
        return new Keyed();
    }

    public Keyed offset(long value) {
        offset = value;
        return this;
    }

    public Keyed epoch(int value) {
        epoch = value;
        return this;
    }

    public Keyed at(long ms) {
        timestampMs = ms;
        return this;
    }

    public Keyed producer(long id, int idEpoch, int baseSequence) {
        producerId = id;
        producerEpoch = idEpoch;
        sequence = baseSequence;
        return this;
    }

    public Keyed transactional() {
        attributes |= 0x10;
        return this;
    }

    public Keyed put(String key, String value) {
        entries.add(new Entry(bytes(key), bytes(value)));
        return this;
    }

    public Keyed remove(String key) {
        entries.add(new Entry(bytes(key), null));
        return this;
    }

    private static ByteBuffer bytes(String text) {
        return text == null ? null : ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }

    /** A control batch: 0 abort, 1 commit, or another type. */
    public static ByteBuffer marker(long at, int epoch, long ms, long producerId, int producerEpoch, int type) {
        Keyed batch = batch().offset(at).epoch(epoch).at(ms).producer(producerId, producerEpoch, -1);
        batch.attributes = producerId < 0 ? 0x20 : 0x30;
        ByteBuffer key = ByteBuffer.allocate(4)
                .putShort((short) 0)
                .putShort((short) type)
                .flip();
        batch.entries.add(new Entry(key, ByteBuffer.allocate(6)));
        return batch.build();
    }

    public ByteBuffer build() {
        ByteBuffer body = ByteBuffer.allocate(1 << 16);
        for (int i = 0; i < entries.size(); i++) {
            ByteBuffer record = ByteBuffer.allocate(1 << 15);
            record.put((byte) 0);
            varlong(record, i);
            varlong(record, i);
            Entry entry = entries.get(i);
            for (ByteBuffer field : new ByteBuffer[] {entry.key(), entry.value()}) {
                varlong(record, field == null ? -1 : field.remaining());
                if (field != null) {
                    record.put(field.duplicate());
                }
            }
            varlong(record, 0);
            record.flip();
            varlong(body, record.remaining());
            body.put(record);
        }
        body.flip();
        int size = 61 + body.remaining();
        int count = entries.size();
        ByteBuffer out = ByteBuffer.allocate(size);
        out.putLong(offset).putInt(size - 12).putInt(epoch).put((byte) 2).putInt(0);
        out.putShort((short) attributes).putInt(count - 1).putLong(timestampMs).putLong(timestampMs + count - 1);
        out.putLong(producerId).putShort((short) producerEpoch).putInt(sequence);
        out.putInt(count).put(body).flip();
        CRC32C crc = new CRC32C();
        crc.update(out.slice(21, size - 21));
        return out.putInt(17, (int) crc.getValue());
    }

    /** A v1 message. */
    public static ByteBuffer message(long offset, long ms, String key, String value) {
        ByteBuffer k = bytes(key);
        ByteBuffer v = bytes(value);
        int size = 34 + (k == null ? 0 : k.remaining()) + (v == null ? 0 : v.remaining());
        ByteBuffer out = ByteBuffer.allocate(size);
        out.putLong(offset)
                .putInt(size - 12)
                .putInt(0)
                .put((byte) 1)
                .put((byte) 0)
                .putLong(ms);
        for (ByteBuffer field : new ByteBuffer[] {k, v}) {
            out.putInt(field == null ? -1 : field.remaining());
            if (field != null) {
                out.put(field);
            }
        }
        out.flip();
        CRC32 crc = new CRC32();
        crc.update(out.slice(16, size - 16));
        return out.putInt(12, (int) crc.getValue());
    }

    private static void varlong(ByteBuffer out, long value) {
        long zigzag = (value << 1) ^ (value >> 63);
        while ((zigzag & ~0x7FL) != 0) {
            out.put((byte) ((zigzag & 0x7F) | 0x80));
            zigzag >>>= 7;
        }
        out.put((byte) zigzag);
    }
}
