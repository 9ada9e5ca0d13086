package io.kagami.protocol.records;

import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.utils.internals.BufferSupplier;

/** Inflates the records of a batch into memory that grows with what really comes out, up to a budget. */
final class Inflater {
    private static final int FIRST_STEP_BYTES = 16 << 10;
    private static final byte[] SNAPPY_MAGIC = {(byte) 0x82, 'S', 'N', 'A', 'P', 'P', 'Y', 0};
    private static final int SNAPPY_HEADER_BYTES = 16;

    private Inflater() {}

    /** The payload itself when it is not compressed. */
    static ByteBuffer inflate(BatchView batch, ByteBuffer payload, int bytesMax) {
        Codec codec = batch.codec();
        if (codec == Codec.NONE) {
            return payload;
        }
        if (codec == Codec.SNAPPY) {
            // its decoder allocates what a chunk declares before it reads the chunk
            checkSnappy(batch, payload.duplicate(), bytesMax);
        }
        try (InputStream in =
                codec.compression().wrapForInput(payload.duplicate(), batch.magic(), BufferSupplier.NO_CACHING)) {
            return readAll(batch, in, bytesMax);
        } catch (IOException | KafkaException | IllegalArgumentException e) {
            throw new MalformedRecords(batch + " cannot be decompressed as " + codec + ": " + e.getMessage(), e);
        }
    }

    private static ByteBuffer readAll(BatchView batch, InputStream in, int bytesMax) throws IOException {
        byte[] out = new byte[Math.max(1, Math.min(bytesMax, FIRST_STEP_BYTES))];
        int size = 0;
        while (true) {
            int read = in.read(out, size, out.length - size);
            if (read < 0) {
                return ByteBuffer.wrap(out, 0, size).slice();
            }
            size += read;
            if (size == out.length) {
                if (size >= bytesMax) {
                    if (in.read() < 0) {
                        return ByteBuffer.wrap(out, 0, size).slice();
                    }
                    throw tooLarge(batch, bytesMax);
                }
                out = Arrays.copyOf(out, (int) Math.min(bytesMax, 2L * size));
            }
        }
    }

    private static void checkSnappy(BatchView batch, ByteBuffer in, int bytesMax) {
        boolean framed = in.remaining() >= SNAPPY_HEADER_BYTES
                && in.slice(in.position(), SNAPPY_MAGIC.length).equals(ByteBuffer.wrap(SNAPPY_MAGIC));
        if (!framed) {
            checkSnappyChunk(batch, in, bytesMax);
            return;
        }
        in.position(in.position() + SNAPPY_HEADER_BYTES);
        while (in.remaining() >= Integer.BYTES) {
            int length = in.getInt();
            if (length < 0 || length > in.remaining()) {
                throw new MalformedRecords(
                        batch + " has a snappy chunk of " + length + " bytes where " + in.remaining() + " remain");
            }
            checkSnappyChunk(batch, in.slice(in.position(), length), bytesMax);
            in.position(in.position() + length);
        }
    }

    /** A chunk starts with its inflated size. */
    private static void checkSnappyChunk(BatchView batch, ByteBuffer chunk, int bytesMax) {
        long size = 0;
        for (int shift = 0; shift < Integer.SIZE && chunk.hasRemaining(); shift += 7) {
            byte b = chunk.get();
            size |= (long) (b & 0x7f) << shift;
            if (b >= 0) {
                break;
            }
        }
        if (size > bytesMax) {
            throw tooLarge(batch, bytesMax);
        }
    }

    private static MalformedRecords tooLarge(BatchView batch, int bytesMax) {
        return new MalformedRecords(batch + " of " + batch.sizeInBytes() + " bytes inflates to more than " + bytesMax
                + " bytes, which this process reads at most with its memory");
    }
}
