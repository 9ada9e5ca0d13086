package io.kagami.log;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;

/** Batches written by hand, byte for byte as the format tables say. */
public final class TestBatches {
    private TestBatches() {}

    /** A batch under construction; every field has a plain default. */
    public static final class Builder {
        private long baseOffset;
        private int leaderEpoch;
        private int attributes;
        private int records = 1;
        private int lastOffsetDelta = -1;
        private long baseTimestamp = 1_000;
        private long maxTimestamp = 1_000;
        private long producerId = -1;
        private int producerEpoch = -1;
        private int baseSequence = -1;
        private int valueBytes = 10;
        private byte[] controlKey;
        private int coordinatorEpoch;

        public Builder offset(long value) {
            baseOffset = value;
            return this;
        }

        public Builder epoch(int value) {
            leaderEpoch = value;
            return this;
        }

        public Builder records(int value) {
            records = value;
            return this;
        }

        public Builder lastOffsetDelta(int value) {
            lastOffsetDelta = value;
            return this;
        }

        public Builder timestamps(long base, long max) {
            baseTimestamp = base;
            maxTimestamp = max;
            return this;
        }

        public Builder producer(long id, int epoch, int sequence) {
            producerId = id;
            producerEpoch = epoch;
            baseSequence = sequence;
            return this;
        }

        public Builder transactional() {
            attributes |= 0x10;
            return this;
        }

        /** A control batch with one record whose key is version 0 and the type (0 abort, 1 commit). */
        public Builder control(int type) {
            attributes |= 0x20;
            records = 1;
            controlKey = ByteBuffer.allocate(4)
                    .putShort((short) 0)
                    .putShort((short) type)
                    .array();
            return this;
        }

        /** Of a marker. */
        public Builder coordinatorEpoch(int value) {
            coordinatorEpoch = value;
            return this;
        }

        public Builder valueBytes(int value) {
            valueBytes = value;
            return this;
        }

        public ByteBuffer build() {
            ByteBuffer body = ByteBuffer.allocate(64 + records * (valueBytes + 40));
            for (int i = 0; i < records; i++) {
                byte[] key = controlKey != null ? controlKey : ("k" + i).getBytes(StandardCharsets.UTF_8);
                byte[] value = controlKey != null
                        ? ByteBuffer.allocate(6).putInt(2, coordinatorEpoch).array()
                        : new byte[valueBytes];
                putRecord(body, i, i == records - 1 ? maxTimestamp - baseTimestamp : 0, key, value);
            }
            body.flip();
            int size = 61 + body.remaining();
            ByteBuffer out = ByteBuffer.allocate(size);
            out.putLong(baseOffset)
                    .putInt(size - 12)
                    .putInt(leaderEpoch)
                    .put((byte) 2)
                    .putInt(0);
            out.putShort((short) attributes).putInt(lastOffsetDelta >= 0 ? lastOffsetDelta : Math.max(0, records - 1));
            out.putLong(baseTimestamp).putLong(maxTimestamp).putLong(producerId).putShort((short) producerEpoch);
            out.putInt(baseSequence).putInt(records).put(body).flip();
            CRC32C crc = new CRC32C();
            crc.update(out.slice(21, size - 21));
            return out.putInt(17, (int) crc.getValue());
        }
    }

    public static Builder batch() {
        return new Builder();
    }

    /** A v2 batch of some records at an offset. */
    public static ByteBuffer batch(long offset, int epoch, int records) {
        return batch().offset(offset).epoch(epoch).records(records).build();
    }

    /** One v0 or v1 message; with compression it stands for a wrapper, so the offset is the last of its records. */
    public static ByteBuffer message(int magic, long offset, long timestamp, int compression, int valueBytes) {
        int size = (magic == 1 ? 34 : 26) + valueBytes;
        ByteBuffer out = ByteBuffer.allocate(size);
        out.putLong(offset).putInt(size - 12).putInt(0).put((byte) magic).put((byte) compression);
        if (magic == 1) {
            out.putLong(timestamp);
        }
        out.putInt(-1).putInt(valueBytes).put(new byte[valueBytes]).flip();
        CRC32 crc = new CRC32();
        crc.update(out.slice(16, size - 16));
        return out.putInt(12, (int) crc.getValue());
    }

    public static ByteBuffer join(ByteBuffer... parts) {
        int size = 0;
        for (ByteBuffer part : parts) {
            size += part.remaining();
        }
        ByteBuffer out = ByteBuffer.allocate(size);
        for (ByteBuffer part : parts) {
            out.put(part.duplicate());
        }
        return out.flip();
    }

    private static void putRecord(ByteBuffer out, int delta, long timestampDelta, byte[] key, byte[] value) {
        ByteBuffer record = ByteBuffer.allocate(40 + key.length + value.length);
        record.put((byte) 0);
        putVarlong(record, timestampDelta);
        putVarlong(record, delta);
        putVarlong(record, key.length);
        record.put(key);
        putVarlong(record, value.length);
        record.put(value);
        putVarlong(record, 0);
        record.flip();
        putVarlong(out, record.remaining());
        out.put(record);
    }

    private static void putVarlong(ByteBuffer out, long value) {
        long zigzag = (value << 1) ^ (value >> 63);
        while ((zigzag & ~0x7FL) != 0) {
            out.put((byte) ((zigzag & 0x7F) | 0x80));
            zigzag >>>= 7;
        }
        out.put((byte) zigzag);
    }
}
