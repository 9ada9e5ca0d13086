package io.kagami.broker.partition;

import io.kagami.log.PartitionLog;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/**
 * A partition as compaction sees it.
 *
 * @param name topic and number
 * @param bound offset that compaction may not reach beyond, as it is now; any thread
 * @param loop of the partition
 * @param look has the partition find out whether its storage still works
 */
public record Cleanable(String name, PartitionLog log, LongSupplier bound, Executor loop, Runnable look) {}
