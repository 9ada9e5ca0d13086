package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.kafka.common.protocol.Readable;
import org.apache.kafka.common.protocol.types.RawTaggedField;

/**
 * A contiguous Netty buffer as Kafka's {@link Readable}. Record fields and {@link #readByteBuffer} are views of the buffer, not
 * copies: they are valid as long as the buffer is held. Every read is checked against the bytes that remain; what does not fit is a
 * {@link MalformedFrame}.
 */
public final class ByteBufReadable implements Readable {
    private static final int VARINT_BYTES_MAX = 5;
    private static final int VARLONG_BYTES_MAX = 10;

    private final ByteBuf buf;

    /** Reads from the buffer's reader index on and moves it. Takes no reference. */
    public ByteBufReadable(ByteBuf buf) {
        this.buf = buf;
    }

    @Override
    public byte readByte() {
        need(Byte.BYTES);
        return buf.readByte();
    }

    @Override
    public short readShort() {
        need(Short.BYTES);
        return buf.readShort();
    }

    @Override
    public int readInt() {
        need(Integer.BYTES);
        return buf.readInt();
    }

    @Override
    public long readLong() {
        need(Long.BYTES);
        return buf.readLong();
    }

    @Override
    public double readDouble() {
        need(Double.BYTES);
        return buf.readDouble();
    }

    @Override
    public byte[] readArray(int length) {
        need(length);
        byte[] bytes = new byte[length];
        buf.readBytes(bytes);
        return bytes;
    }

    @Override
    public String readString(int length) {
        need(length);
        if (length == 0) {
            return "";
        }
        String text = buf.toString(buf.readerIndex(), length, StandardCharsets.UTF_8);
        buf.skipBytes(length);
        return text;
    }

    @Override
    public int readUnsignedVarint() {
        int value = 0;
        for (int i = 0; i < VARINT_BYTES_MAX; i++) {
            byte b = readByte();
            value |= (b & 0x7f) << (7 * i);
            if (b >= 0) {
                if (i == VARINT_BYTES_MAX - 1 && b > 0x0f) {
                    break;
                }
                return value;
            }
        }
        throw new MalformedFrame("a variable-length number is longer than 32 bits, before byte " + buf.readerIndex());
    }

    @Override
    public int readVarint() {
        int raw = readUnsignedVarint();
        return (raw >>> 1) ^ -(raw & 1);
    }

    @Override
    public long readVarlong() {
        long raw = 0;
        for (int i = 0; i < VARLONG_BYTES_MAX; i++) {
            byte b = readByte();
            raw |= (long) (b & 0x7f) << (7 * i);
            if (b >= 0) {
                return (raw >>> 1) ^ -(raw & 1);
            }
        }
        throw new MalformedFrame("a variable-length number is longer than 64 bits, before byte " + buf.readerIndex());
    }

    @Override
    public ByteBuffer readByteBuffer(int length) {
        need(length);
        ByteBuffer view = buf.nioBuffer(buf.readerIndex(), length);
        if (view.position() != 0) {
            // record classes read at absolute positions
            view = view.slice();
        }
        buf.skipBytes(length);
        return view;
    }

    /** Unknown tagged fields are skipped, never kept. */
    @Override
    public List<RawTaggedField> readUnknownTaggedField(List<RawTaggedField> fields, int tag, int size) {
        need(size);
        buf.skipBytes(size);
        return fields;
    }

    @Override
    public int remaining() {
        return buf.readableBytes();
    }

    @Override
    public Readable slice() {
        return new ByteBufReadable(buf.slice());
    }

    private void need(int bytes) {
        if (bytes < 0) {
            throw new MalformedFrame("a length of " + bytes + " before byte " + buf.readerIndex());
        }
        if (bytes > buf.readableBytes()) {
            throw new MalformedFrame("a field of " + bytes + " bytes at byte " + buf.readerIndex() + ", where "
                    + buf.readableBytes() + " remain");
        }
    }
}
