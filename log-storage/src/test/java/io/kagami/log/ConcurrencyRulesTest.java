package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.kagami.log.FaultyDisk.Op;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.RepetitionInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What goes on at the same time in a log, each rule under the number of the bug report it comes from. */
class ConcurrencyRulesTest {
    private static final UUID ID = new UUID(1, 2);

    @TempDir
    Path root;

    private LogOptions options = new LogOptions(700, Long.MAX_VALUE, 0, 4096);
    private FileLogDirectory directory;
    private final AtomicReference<Throwable> failed = new AtomicReference<>();
    private final CountDownLatch over = new CountDownLatch(1);
    private final List<Thread> threads = new ArrayList<>();

    private PartitionLog open(Disk disk, int partition) {
        if (directory == null) {
            directory = FileLogDirectory.open(disk, root, name -> options, InstantSource.system());
        }
        LogName name = new LogName("t", partition);
        return directory.get(name).orElseGet(() -> directory.create(name, ID, options));
    }

    @AfterEach
    void end() throws InterruptedException {
        stop();
        CrashTest.abandon(directory);
    }

    private void stop() throws InterruptedException {
        over.countDown();
        for (Thread thread : threads) {
            thread.join(20_000);
            assertThat(thread.isAlive()).isFalse();
        }
        threads.clear();
        assertThat(failed.get()).isNull();
    }

    /** Something a thread does again and again until the test is over. */
    private interface Task {
        void run() throws Exception;
    }

    private void meanwhile(Task task) {
        Thread thread = new Thread(() -> {
            try {
                while (over.getCount() > 0) {
                    task.run();
                }
            } catch (Throwable e) {
                failed.compareAndSet(null, e);
            }
        });
        thread.setDaemon(true);
        thread.start();
        threads.add(thread);
    }

    private static ByteBuffer two(long offset) {
        return batch().offset(offset)
                .epoch(1)
                .records(2)
                .valueBytes(100)
                .producer(offset % 3, 0, (int) (offset / 3 * 2))
                .timestamps(1_000 + offset, 1_000 + offset)
                .build();
    }

    /** No clock: were anything to wait for the disk, this would not end. */
    @Test
    @Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
    void kafka15046_appendsRollsAndReadsGoOnWhileTheDiskForcesNothing() throws IOException {
        FaultyDisk disk = new FaultyDisk();
        PartitionLog log = open(disk, 0);
        PartitionLog other = open(disk, 1);
        log.appendMirrored(two(0));
        log.appendMirrored(two(2));
        log.appendMirrored(two(4)); // a roll, and a snapshot that the force writes first
        disk.hanging = (op, path) -> op == Op.FORCE || op == Op.FORCE_DIRECTORY;
        var stuck = log.forceSoon();
        await().until(() -> disk.hung.getCount() == 0);
        Thread housekeeping = new Thread(() -> directory.checkpoint());
        housekeeping.start();
        for (int i = 0; i < 50; i++) {
            other.appendMirrored(two(other.view().endOffset()));
            log.appendMirrored(two(log.view().endOffset()));
            log.rollIfDue(1_000);
            long last = log.view().endOffset() - 2;
            try (LogSlice slice =
                    log.view().read(last, Long.MAX_VALUE, 10, true).orElseThrow()) {
                assertThat(slice.firstBatchOffset()).isEqualTo(last);
            }
            directory.flushDue(i);
            directory.removeDeleted();
        }
        assertThat(((SegmentedView) log.view()).segments().count()).isGreaterThan(20);
        assertThat(LogModel.offsets(other.view())).hasSize(50);
        assertThat(stuck).isNotDone();
        assertThat(housekeeping.isAlive()).isTrue();
        disk.released.countDown();
        await().untilAsserted(() -> assertThat(stuck).isCompleted());
        await().until(() -> !housekeeping.isAlive());
        log.force();
        assertThat(((SegmentedLog) log).recoveryPoint()).isEqualTo(log.view().endOffset());
    }

    @RepeatedTest(6)
    void kafka6624_forcingAndDeletingMeetInEveryOrder(RepetitionInfo turn) throws Exception {
        Random random = new Random(turn.getCurrentRepetition());
        options = options.with(new LogOptions.Retention(true, -1, 2_000, 0));
        PartitionLog log = open(new FileDisk(), 0);
        LogModel model = new LogModel();
        meanwhile(log::force);
        meanwhile(() -> log.forceSoon().toCompletableFuture().join());
        meanwhile(() -> {
            directory.checkpoint();
            directory.removeDeleted();
            directory.flushDue(0);
        });
        for (int i = 0; i < 200; i++) {
            switch (random.nextInt(8)) {
                case 0 -> {
                    long to = model.start + random.nextLong(model.end - model.start + 1);
                    log.truncateTo(to);
                    model.batches.removeIf(each -> each.last() >= to);
                    model.end = log.view().endOffset();
                    model.start = log.view().startOffset();
                }
                case 1 -> {
                    model.start += random.nextLong(model.end - model.start + 1);
                    log.advanceStart(model.start);
                }
                case 2 -> {
                    log.retain(2_000, random.nextLong(model.end + 1));
                    model.start = log.view().startOffset();
                }
                case 3 -> {
                    if (random.nextInt(6) == 0) {
                        model.restartAt(random.nextLong(50));
                        log.restartAt(model.start);
                    }
                }
                default -> {
                    ByteBuffer next = two(model.end);
                    model.add(next.duplicate());
                    log.appendMirrored(next);
                }
            }
        }
        model.batches.removeIf(each -> each.last() < model.start);
        model.check(log.view());
        if (turn.getCurrentRepetition() % 3 == 0) {
            directory.delete(log.name());
            await().until(() -> failed.get() != null); // whoever forces is told, and not by anything else
            assertThat(failed.getAndSet(null)).hasMessageContaining("it was deleted");
            over.countDown();
            for (Thread thread : threads) {
                thread.join(20_000);
            }
            failed.set(null);
            assertThat(root.resolve("t-0")).doesNotExist();
            return;
        }
        stop();
        directory.close();
        assertThat(root.resolve(FileLogDirectory.CLEAN)).exists();
        for (int start = 0; start < 2; start++) {
            directory = null;
            model.check(open(new FileDisk(), 0).view());
            directory.close();
            Files.delete(root.resolve(FileLogDirectory.CLEAN));
        }
    }

    /** Readers that take whatever view there is, beside a writer that rolls and makes new indexes all the time. */
    @Test
    void kafka3510_kafka9156_kafka9196_kafka9835_readersSeeWholeBatchesBelowTheirLimitWhileSegmentsRoll()
            throws Exception {
        options = new LogOptions(2_000, Long.MAX_VALUE, 0, 60); // a few entries, then the next segment
        PartitionLog log = open(new FileDisk(), 0);
        for (int i = 0; i < 2; i++) {
            Random random = new Random(i);
            meanwhile(() -> readSomewhere(log.view(), random));
        }
        while (log.view().endOffset() < 1_000 && failed.get() == null) {
            log.appendMirrored(
                    TestBatches.join(two(log.view().endOffset()), two(log.view().endOffset() + 2)));
        }
        stop();
    }

    private static void readSomewhere(LogView view, Random random) throws IOException {
        long end = view.endOffset();
        if (end == 0) {
            return;
        }
        long offset = random.nextBoolean() ? end - 1 - random.nextInt(4) : random.nextLong(end);
        long upper = random.nextBoolean() ? end : offset + random.nextLong(end - offset + 1);
        Optional<LogSlice> slice = view.read(Math.max(0, offset), upper, 1 + random.nextInt(4_000), true);
        assertThat(slice.isPresent()).isEqualTo(Math.max(0, offset) < Math.min(upper, end));
        if (slice.isPresent()) {
            try (LogSlice bytes = slice.get()) {
                long next = Math.max(0, offset) / 2 * 2;
                for (LogModel.Entry entry : LogModel.entries(bytes)) {
                    assertThat(entry.base()).isEqualTo(next).isLessThan(Math.min(upper, end));
                    assertThat(BatchHeader.crcValid(entry.bytes(), 0)).isTrue();
                    next = entry.last() + 1;
                }
            }
        }
        try (LogSlice byTime = view.batchAtOrAfter(1_000 + Math.max(0, offset)).orElseThrow()) {
            assertThat(byTime.firstBatchOffset()).isEqualTo((Math.max(0, offset) + 1) / 2 * 2);
        } catch (java.util.NoSuchElementException none) {
            assertThat(Math.max(0, offset)).isGreaterThan(end - 2);
        }
    }
}
