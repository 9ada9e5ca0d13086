package io.kagami.broker;

import io.kagami.broker.partition.PartitionTable;
import io.kagami.log.LogDirectory;
import java.time.InstantSource;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The thread {@code housekeeping}: asks the partition loops to roll and delete old segments, and writes checkpoints. Touches no log itself. */
final class HousekeepingLoop implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(HousekeepingLoop.class);
    private static final long ROLL_EVERY_MS = 10_000;
    private static final long CHECKPOINT_EVERY_MS = 60_000;
    private static final long REMOVE_EVERY_MS = 1_000;
    private static final long EXPIRE_EVERY_MS = 600_000;
    private static final long FLUSH_EVERY_MS = 500;
    private static final long HEAL_EVERY_MS = 3_000;
    private static final long RECONCILE_EVERY_MS = 1_000;

    private final PartitionTable partitions;
    private final LogDirectory logs;
    private final InstantSource clock;
    private final long retentionEveryMs;
    private final ScheduledExecutorService thread;

    HousekeepingLoop(PartitionTable partitions, LogDirectory logs, InstantSource clock, long retentionEveryMs) {
        this.partitions = partitions;
        this.logs = logs;
        this.clock = clock;
        this.retentionEveryMs = retentionEveryMs;
        this.thread = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread made = new Thread(task, "housekeeping");
            made.setDaemon(true);
            return made;
        });
    }

    void start() {
        every(ROLL_EVERY_MS, "rolling segments", () -> partitions.rollDue(clock.millis()));
        every(EXPIRE_EVERY_MS, "forgetting idle producers", () -> partitions.expireProducers(clock.millis()));
        every(retentionEveryMs, "deleting old segments", () -> partitions.retain(clock.millis()));
        every(REMOVE_EVERY_MS, "removing files of deleted segments", logs::removeDeleted);
        every(CHECKPOINT_EVERY_MS, "writing checkpoints", logs::checkpoint);
        every(FLUSH_EVERY_MS, "forcing what is due by flush.ms", () -> logs.flushDue(clock.millis()));
        every(HEAL_EVERY_MS, "opening what is offline", () -> logs.heal(clock.millis()));
        every(RECONCILE_EVERY_MS, "looking for partitions that are back", partitions::reconcile);
    }

    /** A failure is told and tried again next time; it must not end the schedule. */
    private void every(long ms, String what, Runnable task) {
        thread.scheduleWithFixedDelay(
                () -> {
                    try {
                        task.run();
                    } catch (RuntimeException e) {
                        LOG.error("{} failed; it is tried again in {} s", what, ms / 1000, e);
                    }
                },
                ms,
                ms,
                TimeUnit.MILLISECONDS);
    }

    @Override
    public void close() {
        thread.shutdownNow();
        try {
            if (!thread.awaitTermination(5, TimeUnit.SECONDS)) {
                LOG.warn("housekeeping does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
