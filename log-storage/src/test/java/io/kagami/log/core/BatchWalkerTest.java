package io.kagami.log.core;

import static io.kagami.log.TestBatches.batch;
import static io.kagami.log.TestBatches.join;
import static io.kagami.log.TestBatches.message;
import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import net.jqwik.api.constraints.Size;
import org.junit.jupiter.api.Test;

class BatchWalkerTest {
    @Test
    void readsEveryHeaderField() {
        ByteBuffer b = batch().offset(42)
                .epoch(7)
                .records(3)
                .timestamps(100, 250)
                .producer(9, 4, 5)
                .transactional()
                .build();
        assertThat(BatchHeader.baseOffset(b, 0)).isEqualTo(42);
        assertThat(BatchHeader.lastOffset(b, 0)).isEqualTo(44);
        assertThat(BatchHeader.sizeInBytes(b, 0)).isEqualTo(b.limit());
        assertThat(BatchHeader.leaderEpoch(b, 0)).isEqualTo(7);
        assertThat(BatchHeader.magic(b, 0)).isEqualTo((byte) 2);
        assertThat(BatchHeader.baseTimestamp(b, 0)).isEqualTo(100);
        assertThat(BatchHeader.maxTimestamp(b, 0)).isEqualTo(250);
        assertThat(BatchHeader.producerId(b, 0)).isEqualTo(9);
        assertThat(BatchHeader.producerEpoch(b, 0)).isEqualTo((short) 4);
        assertThat(BatchHeader.baseSequence(b, 0)).isEqualTo(5);
        assertThat(BatchHeader.recordCount(b, 0)).isEqualTo(3);
        assertThat(BatchHeader.transactional(b, 0)).isTrue();
        assertThat(BatchHeader.control(b, 0)).isFalse();
        assertThat(BatchHeader.crcValid(b, 0)).isTrue();
    }

    @Test
    void stampingOffsetAndEpochKeepsTheChecksum() {
        ByteBuffer b = batch(0, 0, 2);
        BatchHeader.stampBaseOffset(b, 0, 1L << 40);
        BatchHeader.stampLeaderEpoch(b, 0, 99);
        assertThat(BatchHeader.crcValid(b, 0)).isTrue();
        assertThat(BatchHeader.lastOffset(b, 0)).isEqualTo((1L << 40) + 1);
        assertThat(BatchHeader.leaderEpoch(b, 0)).isEqualTo(99);
    }

    @Test
    void walksAllFormatsAndHoles() {
        ByteBuffer all = join(message(0, 3, -1, 0, 5), message(1, 9, 500, 1, 50), batch(20, 1, 2), batch(30, 4, 1));
        BatchWalker.Walk walk = BatchWalker.walk(all, true);
        assertThat(walk).isEqualTo(new BatchWalker.Walk(4, all.limit(), 3, 31, -1, 4, 4, 5, null));
        assertThat(all.position()).isZero();
    }

    @Test
    void tornTailIsNoFault() {
        ByteBuffer first = batch(0, 1, 2);
        ByteBuffer all = join(first, batch(2, 1, 2));
        for (int limit = first.limit(); limit < all.limit(); limit++) {
            BatchWalker.Walk walk = BatchWalker.walk(all.duplicate().limit(limit), true);
            assertThat(walk.fault()).isNull();
            assertThat(walk.validBytes()).isEqualTo(first.limit());
            assertThat(walk.nextOffset()).isEqualTo(2);
        }
    }

    @Test
    void kafka8722_everyFlippedBitInTheChecksummedPartIsAFault() {
        ByteBuffer good = join(batch(0, 1, 1), batch(1, 1, 2));
        int second = BatchHeader.sizeInBytes(good, 0);
        for (int at = second + 16; at < good.limit(); at++) {
            for (int bit = 0; bit < 8; bit++) {
                ByteBuffer bad = join(good);
                bad.put(at, (byte) (bad.get(at) ^ (1 << bit)));
                BatchWalker.Walk walk = BatchWalker.walk(bad, true);
                assertThat(walk.fault()).as("byte %d bit %d", at, bit).contains("byte " + second);
                assertThat(walk.validBytes()).isEqualTo(second);
            }
        }
    }

    @Test
    void namesWhatIsWrong() {
        assertThat(BatchWalker.walk(join(batch(5, 0, 2), batch(6, 0, 1)), true).fault())
                .contains("base offset 6", "offsets must increase", "ends at 6");
        assertThat(BatchWalker.walk(join(batch(5, 3, 2), batch(7, 2, 1)), true).fault())
                .contains("leader epoch 2 is below epoch 3");
        ByteBuffer magic = batch(0, 0, 1).put(16, (byte) 3);
        assertThat(BatchWalker.walk(magic, true).fault()).contains("unknown magic 3");
        for (int length : new int[] {-1, 0, 13, Integer.MAX_VALUE, Integer.MIN_VALUE}) {
            assertThat(BatchWalker.walk(batch(0, 0, 1).putInt(8, length), true).fault())
                    .contains("impossible length field " + length);
        }
        assertThat(BatchWalker.walk(batch(Long.MAX_VALUE, 0, 1), true).fault()).contains("impossible offsets");
        assertThat(BatchWalker.walk(batch(-1, 0, 1), true).fault()).contains("impossible offsets");
        ByteBuffer small = batch(0, 0, 1).putInt(8, 40);
        assertThat(BatchWalker.walk(small, true).fault()).contains("less than the header");
    }

    @Property(tries = 2000)
    void garbageNeverThrowsAndNeverCountsBeyondTheBuffer(
            @ForAll @Size(max = 300) byte[] garbage, @ForAll @IntRange(min = 0, max = 20) int position) {
        ByteBuffer buf = ByteBuffer.wrap(garbage);
        buf.position(Math.min(position, buf.limit()));
        BatchWalker.Walk walk = BatchWalker.walk(buf, true);
        assertThat(walk.validBytes()).isBetween(0, buf.remaining());
    }

    @Property(tries = 2000)
    void aDamagedHeaderNeverThrows(
            @ForAll @IntRange(min = 0, max = 60) int at, @ForAll byte value, @ForAll boolean checkCrc) {
        ByteBuffer buf = join(batch(3, 1, 2), batch(5, 1, 2)).put(at, value);
        BatchWalker.Walk walk = BatchWalker.walk(buf, checkCrc);
        assertThat(walk.validBytes()).isBetween(0, buf.limit());
        if (walk.fault() == null && walk.batches() > 0) {
            assertThat(walk.nextOffset()).isGreaterThan(walk.firstOffset());
        }
    }
}
