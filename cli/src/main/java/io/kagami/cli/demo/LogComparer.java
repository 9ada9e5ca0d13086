package io.kagami.cli.demo;

import io.kagami.cli.wire.Offsets;
import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import io.kagami.protocol.client.ClusterMetadata.Topic;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.function.Consumer;
import org.apache.kafka.common.TopicPartition;

/**
 * Fetches every batch of the same topics from two clusters and compares them byte for byte, log start and log end included. Blocks; for
 * one thread. Cleaners of both sides must be idle, or a batch that is rewritten meanwhile looks like a difference.
 */
public final class LogComparer {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    /**
     * What was found for one partition.
     *
     * @param batches compared and equal
     * @param records in them
     * @param bytes of them
     * @param difference the first difference as a sentence, null when identical
     */
    public record Compared(
            String topic,
            int partition,
            long startOffset,
            long endOffset,
            long batches,
            long records,
            long bytes,
            String difference) {
        public boolean identical() {
            return difference == null;
        }
    }

    private final Wire a;
    private final Wire b;
    private final boolean moving;

    private LogComparer(Wire a, Wire b, boolean moving) {
        this.a = a;
        this.b = b;
        this.moving = moving;
    }

    /** Both sides at rest: everything must be equal. Topics in their order, partitions ascending. */
    public static List<Compared> compare(ClusterClient a, ClusterClient b, List<String> topics) {
        return compare(a, b, topics, false, ignored -> {});
    }

    /**
     * @param a the one that was copied
     * @param moving records may be written to {@code a}, or removed from its start, meanwhile: what both hold must be equal, up to the end that
     *     {@code a} had when this began
     * @param progress is told of every partition when it is done
     */
    static List<Compared> compare(
            ClusterClient a, ClusterClient b, List<String> topics, boolean moving, Consumer<Compared> progress) {
        Wire left = new Wire(a, "the source", PATIENCE);
        Wire right = new Wire(b, "the mirror", PATIENCE);
        try {
            return new LogComparer(left, right, moving).compare(topics, progress);
        } finally {
            left.disconnect();
            right.disconnect();
        }
    }

    private List<Compared> compare(List<String> topics, Consumer<Compared> progress) {
        ClusterMetadata metadataA = a.metadata(topics);
        Side sideA = new Side(a, metadataA);
        Side sideB = new Side(b, b.metadata(topics));
        List<Compared> results = new ArrayList<>();
        for (String name : topics) {
            Topic topic = metadataA.topics().get(name);
            if (topic == null || topic.errorCode() != 0) {
                results.add(different(name, -1, "the source has no such topic"));
                continue;
            }
            TreeSet<Integer> partitions = new TreeSet<>(sideB.partitions(name));
            partitions.addAll(sideA.partitions(name));
            for (int partition : partitions) {
                Compared compared = compare(sideA, sideB, new TopicPartition(name, partition));
                progress.accept(compared);
                results.add(compared);
            }
        }
        return results;
    }

    private Compared compare(Side sideA, Side sideB, TopicPartition tp) {
        for (Side side : List.of(sideA, sideB)) {
            String missing = side.missing(tp);
            if (missing != null) {
                return different(tp.topic(), tp.partition(), missing);
            }
        }
        long startA = sideA.starts.get(tp);
        long startB = sideB.starts.get(tp);
        long endA = sideA.ends.get(tp);
        long endB = sideB.ends.get(tp);
        if (!moving && startA != startB) {
            return different(tp.topic(), tp.partition(), "the logs start at " + startA + " and " + startB);
        }
        if (moving ? endB < endA : endA != endB) {
            return different(tp.topic(), tp.partition(), "the logs end at " + endA + " and " + endB);
        }
        try {
            return compareBatches(sideA, sideB, tp, Math.max(startA, startB), endA);
        } catch (Refused | DemoFailed e) {
            return different(tp.topic(), tp.partition(), e.getMessage());
        }
    }

    private Compared compareBatches(Side sideA, Side sideB, TopicPartition tp, long start, long end) {
        RawLog logA = sideA.log(tp, start);
        RawLog logB = sideB.log(tp, start);
        long batches = 0;
        long records = 0;
        long bytes = 0;
        long next = start;
        String difference = null;
        while (next < end && difference == null) {
            ByteBuffer batchA = logA.next();
            ByteBuffer batchB = logB.next();
            if (batchA == null && batchB == null) {
                break;
            }
            difference = difference(batchA, batchB, next);
            if (difference == null) {
                batches++;
                records += RawLog.records(batchA);
                bytes += batchA.remaining();
                next = RawLog.lastOffset(batchA) + 1;
            }
        }
        return new Compared(tp.topic(), tp.partition(), start, end, batches, records, bytes, difference);
    }

    /** Null when equal. */
    private static String difference(ByteBuffer a, ByteBuffer b, long next) {
        if (a == null || b == null) {
            return "only " + (a == null ? "the mirror" : "the source") + " has a batch at offset "
                    + RawLog.baseOffset(a == null ? b : a) + " or after " + next;
        }
        int at = a.mismatch(b);
        if (at < 0) {
            return null;
        }
        return RawLog.baseOffset(a) == RawLog.baseOffset(b)
                ? "the batches at offset " + RawLog.baseOffset(a) + " (" + a.remaining() + " and " + b.remaining()
                        + " bytes) differ from byte " + at + " on"
                : "after offset " + next + " the source has a batch at " + RawLog.baseOffset(a) + ", the mirror at "
                        + RawLog.baseOffset(b);
    }

    private static Compared different(String topic, int partition, String difference) {
        return new Compared(topic, partition, -1, -1, 0, 0, 0, difference);
    }

    /** What one cluster said of all topics when the comparison began. */
    private static final class Side {
        private final Wire wire;
        private final ClusterMetadata metadata;
        private final Map<TopicPartition, Integer> leaders = new HashMap<>();
        private final Map<TopicPartition, Long> starts;
        private final Map<TopicPartition, Long> ends;

        Side(Wire wire, ClusterMetadata metadata) {
            this.wire = wire;
            this.metadata = metadata;
            metadata.topics().values().forEach(topic -> topic.partitions()
                    .forEach(p -> leaders.put(new TopicPartition(topic.name(), p.partition()), p.leader())));
            Offsets offsets = new Offsets(wire);
            // the end first: when records arrive meanwhile, the start must not pass it
            this.ends = offsets.ends(metadata);
            this.starts = offsets.starts(metadata);
        }

        List<Integer> partitions(String topic) {
            Topic known = metadata.topics().get(topic);
            return known == null
                    ? List.of()
                    : known.partitions().stream()
                            .map(PartitionInfo::partition)
                            .sorted(Comparator.naturalOrder())
                            .toList();
        }

        String missing(TopicPartition tp) {
            if (!leaders.containsKey(tp)) {
                return wire.address() + " has no such partition";
            }
            if (leaders.get(tp) < 0) {
                return "the partition has no leader at " + wire.address();
            }
            return starts.containsKey(tp) && ends.containsKey(tp)
                    ? null
                    : wire.address() + " does not tell where the log starts and ends";
        }

        RawLog log(TopicPartition tp, long from) {
            return new RawLog(wire, leaders.get(tp), tp.topic(), tp.partition(), from);
        }
    }
}
