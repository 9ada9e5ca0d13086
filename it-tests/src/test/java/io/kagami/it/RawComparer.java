package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/** Fetches every batch of a topic from two clusters and compares them as they came over the wire. */
final class RawComparer {
    private static final int FETCH_BYTES = 4 << 20;
    private static final int BATCH_OVERHEAD = 12;

    /**
     * What was found in one partition.
     *
     * @param start log start offset, equal on both sides unless {@code difference} says otherwise
     * @param end log end offset, exclusive
     * @param codecs compression of the batches seen, as the attributes name it: 0 none, 1 gzip, 2 snappy, 3 lz4, 4 zstd
     * @param difference null when all is equal, else the first difference as a sentence
     */
    record Partition(
            String topic,
            int partition,
            long start,
            long end,
            long batches,
            long bytes,
            Set<Integer> codecs,
            String difference) {}

    private RawComparer() {}

    /** Asserts that every partition of the topic has the same start, the same end and the same bytes on both sides. */
    static List<Partition> assertIdentical(String source, String mirror, String topic) {
        List<Partition> found = compare(source, mirror, topic);
        assertThat(found)
                .as("partitions of %s at %s and %s", topic, source, mirror)
                .isNotEmpty()
                .allSatisfy(p -> assertThat(p.difference())
                        .as("%s-%d", topic, p.partition())
                        .isNull());
        return found;
    }

    static List<Partition> compare(String source, String mirror, String topic) {
        try (RawKafka left = new RawKafka(source);
                RawKafka right = new RawKafka(mirror)) {
            Map<Integer, InetSocketAddress> leftLeaders = left.leaders(topic);
            Map<Integer, InetSocketAddress> rightLeaders = right.leaders(topic);
            assertThat(rightLeaders.keySet()).as("partitions of %s", topic).isEqualTo(leftLeaders.keySet());
            List<Partition> found = new ArrayList<>();
            leftLeaders.forEach((partition, leader) -> found.add(new Pair(
                            new Cursor(left, leader, topic, partition),
                            new Cursor(right, rightLeaders.get(partition), topic, partition))
                    .compare()));
            return found;
        }
    }

    /** Both sides of one partition. */
    private record Pair(Cursor left, Cursor right) {
        Partition compare() {
            long batches = 0;
            long bytes = 0;
            Set<Integer> codecs = new TreeSet<>();
            String difference = ends();
            while (difference == null && left.more()) {
                ByteBuffer a = left.next();
                ByteBuffer b = right.more() ? right.next() : ByteBuffer.allocate(0);
                if (!a.equals(b)) {
                    difference = String.format(
                            "batch %d of the partition differs from byte %d on: at the source offset %d with %d bytes, mirrored %d bytes%s",
                            batches,
                            a.mismatch(b),
                            a.getLong(a.position()),
                            a.remaining(),
                            b.remaining(),
                            b.hasRemaining() ? " with offset " + b.getLong(b.position()) : "");
                }
                batches++;
                codecs.add(a.get(16) >= 2 ? a.get(22) & 7 : -1);
                bytes += a.remaining();
            }
            if (difference == null && right.more()) {
                difference = "the mirror holds more batches than the source, from offset " + right.at + " on";
            }
            return new Partition(left.topic, left.partition, left.start, left.end, batches, bytes, codecs, difference);
        }

        private String ends() {
            return left.start == right.start && left.end == right.end
                    ? null
                    : String.format(
                            "the source has offsets %d to %d, the mirror %d to %d",
                            left.start, left.end, right.start, right.end);
        }
    }

    /** Walks the batches of one partition on one side. */
    private static final class Cursor {
        private final RawKafka kafka;
        private final InetSocketAddress leader;
        private final String topic;
        private final int partition;
        private final long start;
        private final long end;
        private long at;
        private ByteBuffer chunk = ByteBuffer.allocate(0);

        Cursor(RawKafka kafka, InetSocketAddress leader, String topic, int partition) {
            this.kafka = kafka;
            this.leader = leader;
            this.topic = topic;
            this.partition = partition;
            this.start = kafka.offset(leader, topic, partition, -2);
            this.end = kafka.offset(leader, topic, partition, -1);
            this.at = start;
        }

        boolean more() {
            return at < end;
        }

        /** The next whole batch; it may begin below the log start, as fetch answers do. */
        ByteBuffer next() {
            if (!wholeBatch()) {
                chunk = kafka.fetch(leader, topic, partition, at, FETCH_BYTES);
                if (!wholeBatch()) {
                    throw new AssertionError(topic + "-" + partition + " at " + leader + ": no whole batch at offset "
                            + at + ", " + chunk.remaining() + " bytes came, the log end is " + end);
                }
            }
            int size = BATCH_OVERHEAD + chunk.getInt(chunk.position() + 8);
            ByteBuffer batch = chunk.slice(chunk.position(), size);
            chunk.position(chunk.position() + size);
            // base offset + last offset delta (format v2); older formats carry their last offset in that place
            at = batch.getLong(0) + (batch.get(16) >= 2 ? batch.getInt(23) : 0) + 1;
            return batch;
        }

        private boolean wholeBatch() {
            return chunk.remaining() > BATCH_OVERHEAD
                    && chunk.remaining() >= BATCH_OVERHEAD + chunk.getInt(chunk.position() + 8);
        }
    }
}
