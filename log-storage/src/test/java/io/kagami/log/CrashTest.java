package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import net.jqwik.api.Example;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/** The power is cut at any write, force or rename, on a disk that keeps only what was forced. */
class CrashTest {
    private static final LogName NAME = new LogName("t", 0);
    private static final LogOptions OPTIONS = new LogOptions(700, Long.MAX_VALUE, 100, 4096);

    @Property(tries = 150, shrinking = ShrinkingMode.OFF)
    void whatWasForcedIsThereAndNothingElseThanAPrefixBehindIt(@ForAll long drawn) {
        long seed = Long.getLong("seed", drawn);
        try {
            replay(seed);
        } catch (Exception | AssertionError e) {
            throw new AssertionError("seed " + seed + " (replay with -Dseed=" + seed + "): " + e.getMessage(), e);
        }
    }

    /**
     * Forced batches were missing or removed ones came back: what recovery removed was not gone durably, or a recovery point stayed
     * above the end of a log. Two seeds (40944.., 69633..) show that an interrupted restart may lower the log start, which is right.
     */
    @Example
    void seedsThatOnceFoundAFaultStayGreen() throws IOException {
        for (long seed : new long[] {
            -4343734038048715302L,
            -3502566552263851198L,
            206112525064394600L,
            -177994426712367595L,
            -5265010612470694988L,
            -3290087768555782580L,
            9070587492826488163L,
            -146802642833278856L,
            4094477768756371192L,
            6963386588179877366L,
            -8412065011434420316L,
            -2491303502390187474L
        }) {
            replay(seed);
        }
    }

    static void replay(long seed) throws IOException {
        Random random = new Random(seed);
        Path parent = Files.createTempDirectory("crash");
        try {
            Path root = Files.createDirectory(parent.resolve("0"));
            History history = new History();
            for (int round = 1; round <= 4; round++) {
                Path next = Files.createDirectory(parent.resolve(Integer.toString(round)));
                run(root, next, random, history);
                root = next;
            }
        } finally {
            LogModelTest.deleteAll(parent);
        }
    }

    /** What was appended since the log was last emptied, and what of it must survive. */
    private static final class History {
        private LogModel now = new LogModel();
        private LogModel before = new LogModel();
        private boolean created;
        private long forcedEnd;
        private int epoch = 1;
    }

    private static LogModel copy(LogModel model) {
        LogModel copy = new LogModel();
        copy.batches.addAll(model.batches);
        copy.start = model.start;
        copy.end = model.end;
        return copy;
    }

    private static void run(Path root, Path next, Random random, History history) throws IOException {
        SimDisk disk = new SimDisk(root, random);
        disk.cutAfter(random.nextInt(120));
        FileLogDirectory directory = null;
        try {
            directory = open(disk, root);
            PartitionLog log = directory.get(NAME).orElse(null);
            if (log == null) {
                assertThat(history.created).as("a created log is gone").isFalse();
                log = directory.create(NAME, new UUID(1, 2), OPTIONS);
                history.created = true;
            }
            check(log, history);
            for (int i = 0; i < 60; i++) {
                history.before = copy(history.now);
                step(directory, log, random, history);
            }
            history.before = copy(history.now);
            directory.close();
            history.forcedEnd = history.now.end;
            directory = open(disk, root);
            assertThat(directory.get(NAME).orElseThrow().view().endOffset()).isEqualTo(history.now.end);
        } catch (SimDisk.PowerCut expected) {
            // that is the end of this process
        }
        disk.crash(next);
        if (directory != null) {
            abandon(directory);
        }
    }

    private static FileLogDirectory open(SimDisk disk, Path root) {
        return FileLogDirectory.open(disk, root, name -> OPTIONS, InstantSource.fixed(Instant.ofEpochMilli(0)));
    }

    /** Frees the files and mappings of the dead process without writing. */
    static void abandon(FileLogDirectory directory) {
        for (PartitionLog log : directory.logs()) {
            if (log instanceof SegmentedLog segmented) {
                segmented.release("the power was cut");
            }
        }
        directory.abandon(new StorageFault("the power was cut", null)); // deleted segments are still open
    }

    private static void step(LogDirectory directory, PartitionLog log, Random random, History history) {
        LogModel model = history.now;
        int action = random.nextInt(20);
        if (action < 12) {
            ByteBuffer[] parts = new ByteBuffer[random.nextInt(1, 4)];
            long offset = model.end;
            for (int i = 0; i < parts.length; i++) {
                history.epoch += random.nextInt(5) == 0 ? 1 : 0;
                offset += random.nextInt(5) == 0 ? random.nextInt(10) : 0;
                parts[i] = TestBatches.batch()
                        .offset(offset)
                        .epoch(history.epoch)
                        .records(2)
                        .timestamps(offset, offset)
                        .valueBytes(random.nextInt(60))
                        .build();
                offset += 2;
            }
            ByteBuffer bytes = TestBatches.join(parts);
            model.add(TestBatches.join(parts));
            log.appendMirrored(bytes);
        } else if (action < 15) {
            log.force();
            history.forcedEnd = model.end;
        } else if (action < 16) {
            directory.checkpoint();
        } else if (action < 18) {
            long to = model.end - (long) (random.nextDouble() * (model.end - model.start));
            history.forcedEnd = Math.min(history.forcedEnd, to);
            while (!model.batches.isEmpty()
                    && model.batches.get(model.batches.size() - 1).last() >= to) {
                model.batches.remove(model.batches.size() - 1);
            }
            log.truncateTo(to);
            model.end = log.view().endOffset();
            model.start = log.view().startOffset();
            history.forcedEnd = Math.min(history.forcedEnd, model.end); // the log may end before a hole
        } else if (action < 19) {
            long to = model.start + (long) (random.nextDouble() * (model.end - model.start));
            model.start = to;
            log.advanceStart(to);
        } else if (random.nextInt(4) == 0) {
            history.forcedEnd = 0;
            long to = random.nextInt(300);
            model.restartAt(to);
            log.restartAt(to);
        }
    }

    private static void check(PartitionLog log, History history) throws IOException {
        assertThat(log.offline()).isFalse();
        LogView view = log.view();
        LogModel found = new LogModel();
        found.start = view.startOffset();
        found.end = view.endOffset();
        long offset = view.startOffset();
        while (offset < view.endOffset()) {
            Optional<LogSlice> slice = view.read(offset, Long.MAX_VALUE, 10_000, true);
            if (slice.isEmpty()) {
                break;
            }
            found.batches.addAll(LogModel.entries(slice.get()));
            offset = found.batches.get(found.batches.size() - 1).last() + 1;
            slice.get().close();
        }
        found.check(view);
        boolean asNow = isPart(found, history.now, history.forcedEnd);
        assertThat(asNow || isPart(found, history.before, history.forcedEnd))
                .as(
                        "recovered %d..%d %s of %s, forced to %d",
                        found.start, found.end, offsets(found), offsets(history.now), history.forcedEnd)
                .isTrue();
        // batches below the log start stay in its first segment: a restart at a lower offset, cut short, may show them
        // again
        List<LogModel.Entry> hidden = (asNow ? history.now : history.before)
                .batches.stream().filter(entry -> entry.last() < found.start).toList();
        found.batches.addAll(0, hidden);
        history.now = found;
        history.before = copy(found);
        history.forcedEnd = 0;
    }

    private static List<Long> offsets(LogModel model) {
        List<Long> offsets = new ArrayList<>();
        model.batches.forEach(entry -> offsets.add(entry.base()));
        return offsets;
    }

    /** All that had to survive, and behind it only what was appended there. */
    private static boolean isPart(LogModel found, LogModel wanted, long forcedEnd) {
        List<LogModel.Entry> all = wanted.batches;
        List<LogModel.Entry> have = found.batches;
        int from = have.isEmpty() ? 0 : all.indexOf(have.get(0));
        if (from < 0 || from + have.size() > all.size()) {
            return false;
        }
        boolean same = all.subList(from, from + have.size()).equals(have);
        boolean startKept = from == 0 || all.get(from - 1).last() < wanted.start;
        long needed = all.stream()
                .filter(entry -> entry.last() < forcedEnd && entry.last() >= wanted.start)
                .count();
        long kept = have.stream()
                .filter(entry -> entry.last() < forcedEnd && entry.last() >= wanted.start)
                .count();
        return same && startKept && kept == needed;
    }
}
