package io.kagami.protocol.codec;

import io.netty.buffer.ByteBuf;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.Unpooled;
import io.netty.util.ReferenceCountUtil;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageSizeAccumulator;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.protocol.Writable;
import org.apache.kafka.common.record.internal.BaseRecords;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * Writes one frame as a list of parts in wire order: buffers with everything that is not records, and between them the records as
 * they are, file ranges as file regions and memory as a view. Sizes are computed once, so the frame length comes first and each
 * buffer is allocated at its exact size.
 */
public final class PartWritable implements Writable {
    private final ByteBuf buf;
    private final List<Object> parts = new ArrayList<>(1);
    private int recordBytes;

    private PartWritable(ByteBuf buf) {
        this.buf = buf;
    }

    /**
     * Encodes length, header and body. When this throws, every file range of the body has been released and nothing leaks;
     * otherwise the parts own them.
     *
     * @throws RuntimeException when a field cannot be expressed in that version
     */
    public static Parts encode(
            ByteBufAllocator allocator, ApiMessage header, short headerVersion, ApiMessage body, short version) {
        PartWritable out = null;
        try {
            ObjectSerializationCache cache = new ObjectSerializationCache();
            MessageSizeAccumulator size = new MessageSizeAccumulator();
            header.addSize(size, cache, headerVersion);
            body.addSize(size, cache, version);
            int total = size.totalSize();
            out = new PartWritable(allocator.ioBuffer(Integer.BYTES + size.sizeExcludingZeroCopy()));
            out.writeInt(total);
            header.write(out, cache, headerVersion);
            body.write(out, cache, version);
            return out.finish(Integer.BYTES + total);
        } catch (RuntimeException e) {
            if (out != null) {
                out.abandon();
            }
            SliceRecords.releaseAll(body);
            throw e;
        }
    }

    private Parts finish(int expected) {
        int length = buf.writerIndex() + recordBytes;
        if (length != expected) {
            throw new IllegalStateException("frame of " + length + " bytes, computed " + expected);
        }
        cut();
        buf.release();
        return new Parts(List.copyOf(parts), expected);
    }

    private void abandon() {
        parts.forEach(ReferenceCountUtil::release);
        buf.release();
    }

    /** Bytes written since the last cut become a part of their own. */
    private void cut() {
        if (buf.isReadable()) {
            parts.add(buf.readRetainedSlice(buf.readableBytes()));
        }
    }

    @Override
    public void writeRecords(BaseRecords records) {
        int size = records.sizeInBytes();
        recordBytes += size;
        if (records instanceof SliceRecords slice) {
            if (size == 0) {
                slice.release();
                return;
            }
            cut();
            parts.add(new SliceRegion(slice));
        } else if (records instanceof MemoryRecords memory) {
            if (size > 0) {
                cut();
                parts.add(Unpooled.wrappedBuffer(memory.buffer().duplicate()));
            }
        } else {
            throw new IllegalArgumentException("records of " + records.getClass());
        }
    }

    @Override
    public void writeByte(byte value) {
        buf.writeByte(value);
    }

    @Override
    public void writeShort(short value) {
        buf.writeShort(value);
    }

    @Override
    public void writeInt(int value) {
        buf.writeInt(value);
    }

    @Override
    public void writeLong(long value) {
        buf.writeLong(value);
    }

    @Override
    public void writeDouble(double value) {
        buf.writeDouble(value);
    }

    @Override
    public void writeByteArray(byte[] value) {
        buf.writeBytes(value);
    }

    @Override
    public void writeUnsignedVarint(int value) {
        int rest = value;
        while ((rest & ~0x7f) != 0) {
            buf.writeByte((rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        buf.writeByte(rest);
    }

    @Override
    public void writeByteBuffer(ByteBuffer value) {
        buf.writeBytes(value.duplicate());
    }

    @Override
    public void writeVarint(int value) {
        writeUnsignedVarint((value << 1) ^ (value >> 31));
    }

    @Override
    public void writeVarlong(long value) {
        long rest = (value << 1) ^ (value >> 63);
        while ((rest & ~0x7fL) != 0) {
            buf.writeByte((int) (rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        buf.writeByte((int) rest);
    }
}
