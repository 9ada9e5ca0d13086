package io.kagami.log.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.core.ProducerEntry.Batch;
import io.kagami.log.core.ProducerSnapshot.Unreadable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.zip.CRC32C;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;

class ProducerSnapshotTest {
    private static final long END = 1L << 40;

    private static ProducerTable table(Random random) {
        ProducerTable table = new ProducerTable();
        table.atLeast(random.nextInt(1000));
        int count = random.nextInt(20);
        for (int i = 0; i < count; i++) {
            List<Batch> batches = new ArrayList<>();
            for (int b = random.nextInt(ProducerEntry.BATCHES_MAX + 1); b > 0; b--) {
                batches.add(
                        new Batch(random.nextInt(), random.nextInt(1 << 30), random.nextInt(100), random.nextLong()));
            }
            table.restore(new ProducerEntry(
                    random.nextInt(1 << 30),
                    (short) random.nextInt(),
                    random.nextInt(),
                    random.nextLong(),
                    random.nextBoolean() ? -1 : random.nextInt(1 << 30),
                    List.copyOf(batches)));
        }
        return table;
    }

    @Property(tries = 300)
    void whatIsWrittenIsRead(@ForAll long seed) throws Unreadable {
        ProducerTable table = table(new Random(seed));
        ProducerSnapshot.Read read = ProducerSnapshot.read(ProducerSnapshot.write(table), END);
        assertThat(read.complete()).isTrue();
        assertThat(read.table()).isEqualTo(table);
        assertThat(read.table().open()).isEqualTo(table.open());
        assertThat(read.table().lastStableOffset(END)).isEqualTo(table.lastStableOffset(END));
    }

    @Property(tries = 300)
    void kafka5747_damageOfAnyKindIsUnreadableAndNothingElse(@ForAll long seed) {
        Random random = new Random(seed);
        byte[] good = ProducerSnapshot.write(table(random)).array();
        byte[] bad = good.clone();
        int at = random.nextInt(bad.length);
        if (random.nextBoolean()) {
            bad = Arrays.copyOf(bad, at); // cut, down to nothing: KAFKA-15312
        } else {
            bad[at] ^= (byte) (1 << random.nextInt(8));
        }
        ByteBuffer bytes = ByteBuffer.wrap(bad);
        assertThatThrownBy(() -> ProducerSnapshot.read(bytes, END)).isInstanceOf(Unreadable.class);
    }

    /** Byte for byte what kafka-storage 4.4.0 writes for one producer with sequences 3 to 5 and an open transaction. */
    @Example
    void theFormOfApacheKafkaIsRead() throws Unreadable {
        ByteBuffer bytes = ByteBuffer.allocate(56);
        bytes.putShort((short) 1).putInt(0).putInt(1);
        bytes.putLong(7)
                .putShort((short) 2)
                .putInt(5)
                .putLong(105)
                .putInt(2)
                .putLong(1234)
                .putInt(9)
                .putLong(100);
        CRC32C crc = new CRC32C();
        crc.update(bytes.slice(6, 50));
        bytes.putInt(2, (int) crc.getValue()).flip();
        ProducerSnapshot.Read read = ProducerSnapshot.read(bytes, 106);
        assertThat(read.complete()).isFalse();
        assertThat(read.table().entry(7))
                .isEqualTo(new ProducerEntry(7, (short) 2, 9, 1234, 100, List.of(new Batch(5, 105, 2, 1234))));
        assertThat(read.table().lastStableOffset(106)).isEqualTo(100);
        ByteBuffer ours = ProducerSnapshot.write(read.table());
        assertThat(ours.slice(6, 50)).isEqualTo(bytes.slice(6, 50));
    }

    @Example
    void aSnapshotOfTheFutureIsUnreadable() {
        ProducerTable table = new ProducerTable();
        table.restore(new ProducerEntry(1, (short) 0, -1, 5, -1, List.of(new Batch(0, 10, 0, 5))));
        ByteBuffer bytes = ProducerSnapshot.write(table);
        assertThatThrownBy(() -> ProducerSnapshot.read(bytes, 10))
                .isInstanceOf(Unreadable.class)
                .hasMessageContaining("above offset 10");
    }
}
