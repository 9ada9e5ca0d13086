package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.CompactedView.Row;
import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Keyed;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.PlainRewriter;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.ProducerFault;
import io.kagami.log.disk.Disk;
import io.kagami.log.disk.FileDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * A log lives through everything at once: producers with retries, transactions, mirrored batches, cuts, rolls, retention, compaction,
 * clean stops and kills. After every step it is compared with {@link LifeModel}, which keeps all batches and compacts nothing. More
 * runs of each kind: {@code -Dlife.seeds=10000}; one run of each: {@code -Dseed=}.
 */
class LogLifeTest {
    private static final LogName NAME = new LogName("orders", 0);
    private static final Compactor.Limits LIMITS = new Compactor.Limits(1 << 14, 0.9, 4096, 1 << 20);

    @Property(tries = 200, shrinking = ShrinkingMode.OFF)
    void aLogThatIsKilledAtAnyTimeReadsLikeTheNaiveOne(@ForAll long drawn) throws IOException {
        several(drawn, 200, false);
    }

    @Property(tries = 100, shrinking = ShrinkingMode.OFF)
    void aLogWhosePowerIsCutAtAnyWriteReadsLikeTheNaiveOne(@ForAll long drawn) throws IOException {
        several(drawn, 100, true);
    }

    /** Seeds that found a fault once. */
    @ParameterizedTest
    @ValueSource(longs = {922536616186661867L, -3842280949460283010L, -3100722023545672730L, 8591601391645621228L})
    void powerCutsThatOnceLostSomethingLoseNothing(long seed) throws IOException {
        live(seed, true);
    }

    private static void several(long drawn, int tries, boolean power) throws IOException {
        Long fixed = Long.getLong("seed");
        int seeds = fixed != null ? 1 : Math.max(1, Integer.getInteger("life.seeds", 0) / tries);
        for (int i = 0; i < seeds; i++) {
            live(fixed != null ? fixed : drawn + i * 0x9E3779B97F4A7C15L, power);
        }
    }

    private static void live(long seed, boolean power) throws IOException {
        Path memory = Path.of("/dev/shm"); // what is forced there costs nothing
        Path parent = Files.isWritable(memory)
                ? Files.createTempDirectory(memory, "life")
                : Files.createTempDirectory("life");
        try {
            new Life(parent, new Random(seed), power).go();
        } catch (Exception | AssertionError e) {
            String again = "seed " + seed + " (replay with -Dseed=" + seed + "): " + e.getMessage();
            throw new AssertionError(again, e);
        } finally {
            LogModelTest.deleteAll(parent);
        }
    }

    private static final class Life {
        private final Path parent;
        private final Random random;
        private final boolean power;
        private final LogOptions options;
        private final LifeModel model = new LifeModel();
        private final List<String> told = new ArrayList<>();
        private Path root;
        private int lives;
        private long nowMs = 100_000;
        private Disk disk;
        private FileLogDirectory directory;
        private PartitionLog log;
        /** All records from here on must be there one by one; below it, what compaction leaves. */
        private long compacted;
        /** What was said to be safe, as a high watermark is; nothing below it is cut by anybody. */
        private long common;

        private long start;

        private long forced;
        /** Whether the memory of producers may have lost earlier batches than the last: compaction drops those. */
        private boolean forgetful;

        private int epoch;
        /** Given to the log, with offsets, but not answered: it may be there after a power cut. */
        private ByteBuffer inFlight;

        Life(Path parent, Random random, boolean power) throws IOException {
            this.parent = parent;
            this.random = random;
            this.power = power;
            this.root = Files.createDirectory(parent.resolve("0"));
            this.options = new LogOptions(
                            random.nextInt(250, 1500),
                            random.nextBoolean() ? Long.MAX_VALUE : 3_000,
                            random.nextInt(2) * 200,
                            random.nextInt(4) == 0 ? 12 + random.nextInt(60) : 4096)
                    .with(new LogOptions.Compaction(
                            random.nextInt(4) > 0, random.nextInt(3) * 500L, random.nextInt(2) * 300L, 5_000, 0.0))
                    .with(new LogOptions.Retention(
                            random.nextInt(3) == 0,
                            random.nextBoolean() ? -1 : 4_000,
                            random.nextBoolean() ? -1 : random.nextInt(4_000),
                            random.nextInt(2) * 100L));
        }

        void go() throws IOException {
            for (lives = 0; lives < 4; lives++) {
                SimDisk simulated = null;
                try {
                    if (power) {
                        simulated = new SimDisk(root, random);
                        simulated.cutAfter(random.nextInt(250));
                    }
                    disk = power ? simulated : new FileDisk();
                    oneLife();
                    if (!power) {
                        continue;
                    }
                } catch (SimDisk.PowerCut expected) {
                    told.add("power cut");
                } catch (CompletionException inCompaction) {
                    assertThat(inCompaction).hasCauseInstanceOf(SimDisk.PowerCut.class);
                    told.add("power cut while compacting");
                }
                if (simulated != null) {
                    Path next = Files.createDirectory(parent.resolve(Integer.toString(lives + 1)));
                    simulated.crash(next);
                    if (directory != null) {
                        CrashTest.abandon(directory);
                        directory = null;
                    }
                    root = next;
                }
            }
        }

        private void oneLife() throws IOException {
            open();
            for (int i = 0; i < 40; i++) {
                nowMs += random.nextInt(200);
                step();
                check();
            }
            if (random.nextBoolean()) {
                directory.close();
                forced = model.end;
            } else if (!power) {
                kill();
            }
        }

        private void open() throws IOException {
            InstantSource clock = () -> Instant.ofEpochMilli(nowMs);
            directory = FileLogDirectory.open(disk, root, name -> options, clock);
            log = directory.get(NAME).orElse(null);
            if (log == null) {
                assertThat(forced).as("a log with forced batches is gone").isZero();
                log = directory.create(NAME, new UUID(1, 2), options);
            }
            assertThat(log.offline()).isFalse();
            if (power) {
                long end = log.view().endOffset();
                if (end > model.end && inFlight != null) {
                    model.add(inFlight.rewind());
                }
                inFlight = null;
                assertThat(end).as("end after the cut, of %d", model.end).isBetween(forced, model.end);
                model.cutAt(end, end);
                forgetIfEmptied(); // the power may have gone while it was cut
                compacted = Math.min(compacted, end);
                common = Math.min(common, end);
                forgetful = true;
            }
            start = log.view().startOffset(); // after a kill perhaps as it was last written down
            told.add("open at " + log.view());
            check();
        }

        /** The process ends without a word; what it wrote is there. */
        private void kill() throws IOException {
            Path next = Files.createDirectory(parent.resolve("k" + told.size()));
            try (Stream<Path> files = Files.walk(root)) {
                for (Path file : files.filter(Files::isRegularFile).toList()) {
                    Path copy = next.resolve(root.relativize(file));
                    Files.createDirectories(copy.getParent());
                    Files.copy(file, copy);
                }
            }
            CrashTest.abandon(directory);
            root = next;
            told.add("killed");
        }

        private void step() throws IOException {
            int action = random.nextInt(30);
            if (action < 7) {
                idempotent(1 + random.nextInt(3));
            } else if (action < 11) {
                transactional(11 + random.nextInt(3));
            } else if (action < 14) {
                append(keyed(Keyed.batch().at(nowMs)));
            } else if (action < 17) {
                mirrored();
            } else if (action < 19) {
                retry(1 + random.nextInt(3));
            } else if (action < 20) {
                truncate();
            } else if (action < 22) {
                retain();
            } else if (action < 25) {
                compact();
            } else if (action < 26) {
                reset();
            } else if (action < 28) {
                log.force();
                forced = model.end;
                directory.checkpoint();
                told.add("forced to " + forced);
            } else if (action < 29 && !power) {
                if (random.nextBoolean()) {
                    directory.close();
                } else {
                    kill();
                    forgetful = true;
                }
                open();
            } else {
                log.rollIfDue(nowMs);
            }
        }

        private Keyed keyed(Keyed batch) {
            int records = random.nextInt(1, 4);
            for (int i = 0; i < records; i++) {
                String key = "k" + random.nextInt(6);
                if (random.nextInt(4) == 0) {
                    batch.remove(key);
                } else {
                    batch.put(key, "v" + random.nextInt(1000) + "x".repeat(random.nextInt(60)));
                }
            }
            return batch;
        }

        private void append(Keyed batch) {
            ByteBuffer bytes = batch.build();
            long before = model.end;
            inFlight = bytes;
            Appended appended = log.append(bytes, epoch);
            assertThat(appended.duplicate()).isFalse();
            assertThat(appended.baseOffset()).isEqualTo(before);
            model.add(bytes.flip());
            told.add("appended " + before + ".." + model.end + " of " + BatchHeader.producerId(bytes, 0)
                    + " from sequence " + BatchHeader.baseSequence(bytes, 0));
        }

        private int nextSequence(ByteBuffer last) {
            return last == null ? 0 : BatchHeader.baseSequence(last, 0) + BatchHeader.recordCount(last, 0);
        }

        private static short epochOf(ByteBuffer last) {
            return last == null ? 0 : BatchHeader.producerEpoch(last, 0);
        }

        private void idempotent(long id) {
            ByteBuffer last = model.lastOf(id);
            boolean bump = last != null && random.nextInt(8) == 0;
            short producerEpoch = (short) (epochOf(last) + (bump ? 1 : 0));
            append(keyed(Keyed.batch()
                    .at(nowMs)
                    .producer(id, producerEpoch, bump || last == null ? 0 : nextSequence(last))));
        }

        private void retry(long id) {
            List<ByteBuffer> known = model.remembered(id);
            if (known.isEmpty()) {
                return;
            }
            ByteBuffer last = known.get(0);
            known.removeIf(batch -> epochOf(batch) != epochOf(last));
            if (BatchHeader.lastOffset(last, 0) < log.view().startOffset() && forgetful) {
                return; // may be forgotten with its batches, or not
            }
            ByteBuffer again = known.get(forgetful ? 0 : random.nextInt(known.size()));
            ByteBuffer copy = TestBatches.join(again);
            BatchHeader.stampBaseOffset(copy, 0, 0);
            Appended answer = log.append(copy, epoch);
            assertThat(answer.duplicate()).as("retry of %s", again).isTrue();
            assertThat(answer.baseOffset()).isEqualTo(BatchHeader.baseOffset(again, 0));
            Keyed gap = keyed(Keyed.batch().at(nowMs).producer(id, epochOf(last), nextSequence(last) + 7));
            assertThatThrownBy(() -> log.append(gap.build(), epoch)).isInstanceOf(ProducerFault.class);
            if (epochOf(last) > 0) {
                Keyed old = keyed(Keyed.batch().at(nowMs).producer(id, epochOf(last) - 1, 0));
                assertThatThrownBy(() -> log.append(old.build(), epoch)).isInstanceOf(ProducerFault.class);
            }
            told.add("retried " + id);
        }

        private void transactional(long id) {
            ByteBuffer last = model.lastOf(id);
            if (model.open().contains(id) && random.nextInt(5) < 3) {
                int type = random.nextBoolean() ? ControlRecord.COMMIT : ControlRecord.ABORT;
                ByteBuffer marker = Keyed.marker(0, epoch, nowMs, id, epochOf(last), type);
                inFlight = marker;
                log.append(marker, epoch);
                model.add(marker.flip());
                told.add("marker " + type + " of " + id + " at " + (model.end - 1));
            } else {
                append(keyed(Keyed.batch()
                        .at(nowMs)
                        .transactional()
                        .producer(id, epochOf(last), last == null ? 0 : nextSequence(last))));
            }
        }

        private void mirrored() {
            epoch += random.nextInt(4) == 0 ? 1 : 0;
            long base = model.end + (random.nextInt(3) == 0 ? random.nextInt(40) : 0);
            ByteBuffer bytes =
                    keyed(Keyed.batch().at(nowMs).epoch(epoch).offset(base)).build();
            inFlight = bytes;
            log.appendMirrored(bytes);
            model.add(bytes.flip());
            told.add("mirrored " + base + ".." + model.end);
        }

        /** No batch that reaches below the bound is cut any more. */
        private void settled(long bound) {
            for (ByteBuffer batch : model.batches) {
                if (BatchHeader.baseOffset(batch, 0) < bound) {
                    common = Math.max(common, BatchHeader.lastOffset(batch, 0) + 1);
                }
            }
        }

        /** The log ends behind a whole batch, also when the offset is missing. */
        private long endOfBatchesBelow(long offset) {
            long kept = 0;
            for (ByteBuffer batch : model.batches) {
                long end = BatchHeader.lastOffset(batch, 0) + 1;
                kept = end <= offset ? end : kept;
            }
            return kept;
        }

        /** A log that was cut below its start was emptied, and with it what was known of transactions below its start. */
        private void forgetIfEmptied() {
            LogView view = log.view();
            if (view.sizeInBytes() == 0 && endOfBatchesBelow(view.endOffset()) < view.startOffset()) {
                model.batches.clear();
            }
        }

        /** What was compacted is known to be common with the source, and never cut. */
        private void truncate() {
            long lowest = Math.max(common, log.view().startOffset());
            long to = lowest + (long) (random.nextDouble() * (model.end - lowest + 1));
            long before = model.end;
            if (to < before) {
                forced = Math.min(forced, endOfBatchesBelow(to));
            }
            told.add("cutting at " + to);
            log.truncateTo(to);
            model.cutAt(to, log.view().endOffset());
            if (to < before) {
                forgetIfEmptied();
            }
            assertThat(model.end).isLessThanOrEqualTo(Math.max(to, lowest));
            forced = Math.min(forced, model.end);
            forgetful = true;
            told.add("cut at " + to + " to " + model.end);
        }

        private void retain() {
            if (random.nextBoolean()) {
                log.advanceStart(Math.min(log.view().startOffset() + random.nextInt(10), model.end));
            } else {
                long bound = log.view().startOffset()
                        + (long) (random.nextDouble() * (model.end - log.view().startOffset() + 1));
                told.add("retained below " + bound + ": " + log.retain(nowMs, bound));
                settled(bound);
                assertThat(log.retain(nowMs, bound).segments()).isZero();
                assertThat(log.view().startOffset()).isLessThanOrEqualTo(Math.max(start, bound));
            }
            assertThat(log.view().startOffset()).isGreaterThanOrEqualTo(start);
            start = log.view().startOffset();
            forgetful = true;
            told.add("start " + start);
        }

        private void compact() throws IOException {
            long bound = model.end - random.nextInt(3) * (long) random.nextInt(20);
            compacted = Math.max(compacted, Math.min(bound, model.lastStableOffset()));
            settled(bound);
            try {
                Compactor compactor = new Compactor(new PlainRewriter(), Pace.UNLIMITED, LIMITS);
                Cleaned done = log.compact(compactor, nowMs, () -> bound, Runnable::run);
                told.add("compacted below " + bound + ": " + done);
            } catch (CleaningFailed | Pace.Stopped e) {
                throw new AssertionError(e);
            }
            forgetful = true;
        }

        private void reset() {
            if (!model.open().isEmpty() || random.nextInt(3) > 0) {
                return;
            }
            ByteBuffer marker = Keyed.marker(0, epoch, nowMs, -1, -1, ControlRecord.MIRROR_PID_RESET);
            inFlight = marker;
            log.append(marker, epoch);
            model.add(marker.flip());
            told.add("producers reset");
        }

        private void check() throws IOException {
            LogView view = log.view();
            assertThat(view.endOffset()).isEqualTo(model.end);
            long open = Math.max(view.startOffset(), model.lastStableOffset());
            assertThat(view.lastStableOffset())
                    .as("last stable offset, after %s", told)
                    .isEqualTo(open);
            Map<Long, Row> all = model.all();
            List<Row> read = CompactedView.uncommitted(view);
            for (Row row : read) {
                assertThat(row).as("after %s", told).isEqualTo(all.get(row.offset()));
            }
            long exact = Math.max(view.startOffset(), compacted);
            long wanted =
                    all.keySet().stream().filter(offset -> offset >= exact).count();
            assertThat(read.stream().filter(row -> row.offset() >= exact).count())
                    .as("records from %d on, after %s", exact, told)
                    .isEqualTo(wanted);
            List<Row> committed = CompactedView.committed(view);
            List<Row> expected = model.committed(view.startOffset());
            if (!committed.isEmpty()) {
                assertThat(expected).as("after %s", told).containsSubsequence(committed);
            }
            assertThat(CompactedView.table(committed))
                    .as("last committed values, after %s", told)
                    .isEqualTo(CompactedView.table(expected));
        }
    }
}
