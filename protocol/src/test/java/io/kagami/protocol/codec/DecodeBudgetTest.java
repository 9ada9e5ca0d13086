package io.kagami.protocol.codec;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import io.kagami.protocol.Api;
import io.kagami.protocol.ApiTable;
import io.kagami.protocol.Messages;
import io.kagami.protocol.PrivateApi;
import io.kagami.protocol.Request;
import io.kagami.protocol.SampleMessages;
import io.netty.buffer.ByteBuf;
import io.netty.buffer.UnpooledByteBufAllocator;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.RequestHeaderData;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

class DecodeBudgetTest {
    /** Without leak detection, whose records would be measured too. */
    private static final UnpooledByteBufAllocator MEMORY = new UnpooledByteBufAllocator(true, true);

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    /** What one decode allocates whatever the frame: header, stack walk of the exception, message texts. */
    private static final int FIXED_BYTES = 24 << 10;

    static List<RoundTripTest.Row> everyApiAndVersion() {
        return RoundTripTest.everyApiAndVersion().toList();
    }

    @ParameterizedTest
    @MethodSource("everyApiAndVersion")
    void whatDecodingAllocatesIsForeseen(RoundTripTest.Row row) {
        short key = row.api().key();
        short headerVersion = Messages.requestHeaderVersion(key, row.version());
        ByteBuf frame = frame(row);
        decode(frame.duplicate()); // classes load and caches fill
        decode(frame.duplicate());
        long foreseen = Shapes.checkRequest(frame, key, row.version(), headerVersion);
        long allocated = allocated(() -> decode(frame.duplicate()));
        frame.release();
        assertThat(allocated).as("foreseen %d", foreseen).isLessThan(foreseen * 11 / 10 + FIXED_BYTES);
        // and not by far too much, or honest requests would be refused
        assertThat(foreseen).as("allocated %d", allocated).isLessThan(allocated * 3 / 2 + FIXED_BYTES);
    }

    private static ByteBuf frame(RoundTripTest.Row row) {
        short key = row.api().key();
        ByteBuf frame = RoundTripTest.theirs(
                header(key, row.version()),
                Messages.requestHeaderVersion(key, row.version()),
                new SampleMessages(1, 14).request(key, row.version()),
                row.version());
        ByteBuf direct = MEMORY.directBuffer(frame.readableBytes());
        direct.writeBytes(frame.skipBytes(Integer.BYTES));
        frame.release();
        return direct;
    }

    /** For each array of each request: as many of the cheapest elements as make a frame of about 256 KiB. */
    @ParameterizedTest
    @MethodSource("everyApiAndVersion")
    void theWorstFrameAllocatesAtMostEightTimesItsSizeAnd64KiB(RoundTripTest.Row row) {
        Shape.Struct shape = (Shape.Struct) Shapes.request(row.api().key(), row.version());
        int paths = arrays(shape);
        for (int wide = 0; wide < paths; wide++) {
            ByteBuf frame = MEMORY.directBuffer(1 << 19);
            head(frame, row);
            new Filler(frame, wide, 1 << 18).write(shape);
            int size = frame.readableBytes();
            Runnable attempt = () -> {
                try {
                    decode(frame.duplicate());
                } catch (MalformedFrame refused) {
                    assertThat(refused).hasMessageMatching(".*(memory|colliding keys).*");
                }
            };
            attempt.run();
            assertThat(allocated(attempt)).as("array %d of %s", wide, row).isLessThan(8L * size + (64 << 10));
            frame.release();
        }
    }

    @Test
    void countsThatNoBytesBackAreRefusedBeforeAnythingIsAllocated() {
        // Metadata v0: an array of int32 count first
        for (int count : new int[] {Integer.MAX_VALUE, 1_000_000, 65_536, -2, Integer.MIN_VALUE}) {
            refused((short) 3, (short) 0, "topics", buf -> buf.writeInt(count).writeZero(100));
        }
        // nested: one topic that declares 65536 partitions with no bytes behind them (OffsetFetch v1)
        refused((short) 9, (short) 1, "partition_indexes", buf -> {
            buf.writeShort(1)
                    .writeByte('g')
                    .writeInt(1)
                    .writeShort(1)
                    .writeByte('t')
                    .writeInt(65_536);
        });
        // compact length of five bytes that overflows 32 bits
        refused((short) 3, (short) 9, "longer than 32 bits", buf -> buf.writeInt(-1)
                .writeByte(0x7f));
        // 2^31 tagged fields
        refused((short) 3, (short) 9, "tagged fields", buf -> {
            buf.writeByte(0).writeByte(0).writeByte(0).writeByte(0); // null topics, three booleans
            varint(buf, Integer.MIN_VALUE);
        });
        // the same tag twice
        refused((short) 3, (short) 9, "after 7", buf -> {
            buf.writeByte(0).writeByte(0).writeByte(0).writeByte(0);
            buf.writeByte(2).writeByte(7).writeByte(0).writeByte(7).writeByte(0);
        });
        // a string longer than the frame
        refused((short) 3, (short) 0, "32767 bytes", buf -> buf.writeInt(1)
                .writeShort(Short.MAX_VALUE)
                .writeByte('x'));
        // null where it must not be
        refused((short) 9, (short) 1, "group_id", buf -> buf.writeShort(-1).writeInt(0));
        // bytes left over
        refused((short) 3, (short) 0, "left over", buf -> buf.writeInt(0).writeByte(0));
    }

    @Test
    void aKnownTagThatIsTooShortIsRefused() {
        // Fetch v12: tag 0 is the cluster id; it declares one byte and takes three
        refused((short) 1, (short) 12, "tag 0", buf -> {
            buf.writeInt(-1)
                    .writeInt(0)
                    .writeInt(0)
                    .writeInt(0)
                    .writeByte(0)
                    .writeInt(0)
                    .writeInt(-1);
            buf.writeByte(1).writeByte(1).writeByte(1);
            buf.writeByte(1)
                    .writeByte(0)
                    .writeByte(1)
                    .writeByte(3)
                    .writeByte('a')
                    .writeByte('b');
        });
    }

    @Test
    void unknownTagsAreSkippedNotKept() {
        ByteBuf frame = MEMORY.directBuffer();
        head(frame, (short) 3, (short) 9);
        frame.writeByte(0)
                .writeByte(0)
                .writeByte(0)
                .writeByte(0)
                .writeByte(1)
                .writeByte(40)
                .writeByte(2)
                .writeShort(7);
        Request request = ServerCodec.decode(frame, 0);
        assertThat(request.body().unknownTaggedFields()).isEmpty();
        request.release();
    }

    private static void refused(short key, short version, String words, java.util.function.Consumer<ByteBuf> body) {
        ByteBuf frame = MEMORY.directBuffer();
        head(frame, key, version);
        body.accept(frame);
        Runnable attempt = () -> assertThatThrownBy(() -> decode(frame.duplicate()))
                .isInstanceOf(MalformedFrame.class)
                .hasMessageContaining(words)
                .hasMessageContaining("version " + version);
        attempt.run();
        assertThat(allocated(() -> {
                    try {
                        decode(frame.duplicate());
                    } catch (MalformedFrame expected) {
                        assertThat(expected).isNotNull();
                    }
                }))
                .isLessThan(64 << 10);
        frame.release();
    }

    private static void decode(ByteBuf frame) {
        ServerCodec.decode(frame, 0);
    }

    private static long allocated(Runnable work) {
        long thread = Thread.currentThread().getId();
        long before = THREADS.getThreadAllocatedBytes(thread);
        work.run();
        return THREADS.getThreadAllocatedBytes(thread) - before;
    }

    private static void head(ByteBuf frame, RoundTripTest.Row row) {
        head(frame, row.api().key(), row.version());
    }

    private static void head(ByteBuf frame, short key, short version) {
        frame.writeShort(key).writeShort(version).writeInt(1).writeShort(-1);
        if (Messages.requestHeaderVersion(key, version) > 1) {
            frame.writeByte(0);
        }
    }

    private static RequestHeaderData header(short key, short version) {
        return new RequestHeaderData()
                .setRequestApiKey(key)
                .setRequestApiVersion(version)
                .setClientId("c");
    }

    private static void varint(ByteBuf buf, int value) {
        int rest = value;
        while ((rest & ~0x7f) != 0) {
            buf.writeByte((rest & 0x7f) | 0x80);
            rest >>>= 7;
        }
        buf.writeByte(rest);
    }

    private static int arrays(Shape shape) {
        int found = 0;
        if (shape instanceof Shape.Struct struct) {
            for (Shape field : struct.fields()) {
                found += arrays(field);
            }
        } else if (shape instanceof Shape.Array array) {
            found += 1 + arrays(array.element());
        } else if (shape instanceof Shape.Tags tags) {
            for (Shape known : tags.known().values()) {
                found += arrays(known);
            }
        }
        return Math.max(found, shape instanceof Shape.Struct ? 1 : 0);
    }

    /** Writes the smallest value of every shape, but fills one array, by its number in the walk, until the frame is large. */
    private static final class Filler {
        private final ByteBuf out;
        private final int wide;
        private final int bytes;
        private int seen;

        Filler(ByteBuf out, int wide, int bytes) {
            this.out = out;
            this.wide = wide;
            this.bytes = bytes;
        }

        void write(Shape shape) {
            if (shape instanceof Shape.Fixed fixed) {
                out.writeZero(fixed.sizeMin());
            } else if (shape instanceof Shape.Text text) {
                length(text.compact(), 0, Short.BYTES);
            } else if (shape instanceof Shape.Blob blob) {
                length(blob.compact(), 0, Integer.BYTES);
            } else if (shape instanceof Shape.Struct struct) {
                if (struct.nullable()) {
                    out.writeByte(1);
                }
                struct.fields().forEach(this::write);
            } else if (shape instanceof Shape.Array array) {
                array(array);
            } else if (shape instanceof Shape.Tags tags) {
                tags(tags);
            } else {
                throw new AssertionError(shape);
            }
        }

        private void length(boolean compact, int length, int width) {
            if (compact) {
                varint(out, length + 1);
            } else if (width == Short.BYTES) {
                out.writeShort(length);
            } else {
                out.writeInt(length);
            }
        }

        private void array(Shape.Array array) {
            boolean here = seen == wide;
            seen++;
            // one element on the way to the wide array, many in it
            int before = seen;
            ByteBuf one = MEMORY.buffer();
            Filler inner = new Filler(one, wide, bytes);
            inner.seen = before;
            inner.write(array.element());
            boolean onTheWay = before <= wide && wide < inner.seen;
            int count = here ? Math.min(1_000_000, bytes / Math.max(1, one.readableBytes())) : onTheWay ? 1 : 0;
            length(array.compact(), count, Integer.BYTES);
            for (int i = 0; i < count; i++) {
                out.writeBytes(one, 0, one.readableBytes());
            }
            seen = inner.seen;
            one.release();
        }

        private void tags(Shape.Tags tags) {
            List<Map.Entry<Integer, Shape>> known = new ArrayList<>(tags.known().entrySet());
            known.sort(Map.Entry.comparingByKey());
            varint(out, known.size());
            for (Map.Entry<Integer, Shape> entry : known) {
                ByteBuf value = MEMORY.buffer();
                Filler inner = new Filler(value, wide, bytes);
                inner.seen = seen;
                inner.write(entry.getValue());
                seen = inner.seen;
                varint(out, entry.getKey());
                varint(out, value.readableBytes());
                out.writeBytes(value);
                value.release();
            }
        }
    }

    @Test
    void everyApiIsCovered() {
        for (Api api : ApiTable.SUPPORTED) {
            if (PrivateApi.find(api.key()) == null) {
                assertThat(Shapes.request(api.key(), api.max()).sizeMin()).isNotNegative();
                assertThat(Shapes.response(api.key(), api.max()).sizeMin()).isPositive();
            }
        }
    }
}
