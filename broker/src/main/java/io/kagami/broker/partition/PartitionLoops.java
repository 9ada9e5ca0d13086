package io.kagami.broker.partition;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/** The threads {@code partition-loop-N}; each partition belongs to one of them for good. */
public final class PartitionLoops implements AutoCloseable {
    private final List<PartitionLoop> loops = new ArrayList<>();
    private int next;

    /** @param fatal told once a task has thrown what it must not; expected to stop the process */
    public PartitionLoops(int count, BiConsumer<String, Throwable> fatal) {
        for (int i = 0; i < count; i++) {
            loops.add(new PartitionLoop("partition-loop-" + i, fatal));
        }
    }

    /** The loop of a new partition, in turn, so that the partitions of one topic spread. */
    synchronized PartitionLoop assign() {
        PartitionLoop loop = loops.get(next);
        next = (next + 1) % loops.size();
        return loop;
    }

    /** Tasks that wait, over all loops. */
    public int queued() {
        int sum = 0;
        for (PartitionLoop loop : loops) {
            sum += loop.queued();
        }
        return sum;
    }

    @Override
    public void close() {
        loops.forEach(PartitionLoop::close);
    }
}
