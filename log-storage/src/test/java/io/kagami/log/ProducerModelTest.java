package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.ProducerFault;
import io.kagami.log.core.ProducerFault.Reason;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.FileNames;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/** Any mix of sending, sending again, gaps, transactions, mirroring, cuts, rolls and starts against a list that is walked for each answer. */
class ProducerModelTest {
    private static final LogName NAME = new LogName("orders", 3);
    private static final int MAX = Integer.MAX_VALUE;

    /** Also KAFKA-5283: sequences wrap; KAFKA-5376, 5522: what read_committed sees and where it ends. */
    @Property(tries = 40, shrinking = ShrinkingMode.OFF)
    void kafka5249_answersAreThoseOfAWalkOverTheWholeLogWhateverHappenedBefore(@ForAll long drawn) throws IOException {
        long seed = Long.getLong("seed", drawn);
        Path dir = Files.createTempDirectory("producers");
        try {
            new Run(dir, new Random(seed)).go(150);
        } catch (AssertionError e) {
            throw new AssertionError("seed " + seed + " (replay with -Dseed=" + seed + "): " + e.getMessage(), e);
        } finally {
            LogModelTest.deleteAll(dir);
        }
    }

    /** One batch or marker; {@code first} of a marker is its type. */
    private record Sent(
            long producer, int epoch, int first, int records, long base, boolean transactional, boolean marker) {
        boolean aborts() {
            return marker && first == ControlRecord.ABORT;
        }

        int last() {
            return (int) (((long) first + records - 1) % (1L << 31));
        }

        long end() {
            return base + records;
        }
    }

    /** {@code base} of a duplicate, {@code refused} of a refusal; neither when it is new. */
    private record Answer(Long base, Reason refused) {}

    private static final class Run {
        private final Path dir;
        private final Random random;
        private final LogOptions options;
        private final List<Sent> all = new ArrayList<>();
        private final List<List<Sent>> forgotten = new ArrayList<>();
        private FileLogDirectory directory;
        private SegmentedLog log;

        Run(Path dir, Random random) {
            this.dir = dir;
            this.random = random;
            this.options = new LogOptions(random.nextInt(250, 1500), Long.MAX_VALUE, random.nextInt(300), 4096);
        }

        void go(int steps) throws IOException {
            open();
            for (int i = 0; i < steps; i++) {
                int action = random.nextInt(40);
                if (action < 28) {
                    send(random.nextInt(4) > 0);
                } else if (action < 31) {
                    marker();
                } else if (action < 33) {
                    truncate();
                } else if (action < 35) {
                    log.force();
                } else if (action < 38) {
                    restart();
                } else if (random.nextInt(8) == 0) {
                    log.append(batch().control(ControlRecord.MIRROR_PID_RESET).build(), 0);
                    forgotten.add(List.copyOf(all));
                    all.clear();
                }
                assertThat(log.view().lastStableOffset()).isEqualTo(lastStable());
                if (i % 10 == 0) {
                    assertThat(readCommitted()).isEqualTo(committed());
                }
            }
            for (long producer : List.of(1L, 2L, 3L)) {
                for (int i = 0; i < 8; i++) {
                    send(true, producer, random.nextInt(3), random.nextInt(12));
                }
            }
            assertThat(log.offline()).isFalse();
            directory.close();
        }

        private void open() {
            directory = FileLogDirectory.open(
                    new FileDisk(), dir, name -> options, InstantSource.fixed(Instant.ofEpochMilli(2_000)));
            log = (SegmentedLog) directory.get(NAME).orElseGet(() -> directory.create(NAME, new UUID(1, 1), options));
        }

        private List<Sent> of(long producer) {
            return all.stream().filter(sent -> sent.producer() == producer).toList();
        }

        /** Data batches since the producer's last change of epoch. */
        private List<Sent> ofCurrentEpoch(long producer) {
            List<Sent> mine = of(producer);
            int from = mine.size();
            while (from > 0
                    && mine.get(from - 1).epoch() == mine.get(mine.size() - 1).epoch()) {
                from--;
            }
            return mine.subList(from, mine.size()).stream()
                    .filter(sent -> !sent.marker())
                    .toList();
        }

        private Sent openTransaction(long producer) {
            Sent open = null;
            for (Sent sent : of(producer)) {
                open = sent.marker() ? null : open == null && sent.transactional() ? sent : open;
            }
            return open;
        }

        private long lastStable() {
            long stable = log.view().endOffset();
            for (long producer : List.of(1L, 2L, 3L)) {
                Sent open = openTransaction(producer);
                stable = open == null ? stable : Math.min(stable, open.base());
            }
            return stable;
        }

        /** Base offsets of the data that no marker takes back, up to the first open transaction. */
        private List<Long> committed() {
            List<Long> offsets = new ArrayList<>();
            List<List<Sent>> lives = new ArrayList<>(forgotten);
            lives.add(all);
            for (List<Sent> life : lives) { // a reset ends every transaction without taking it back
                for (int i = 0; i < life.size(); i++) {
                    Sent sent = life.get(i);
                    if (!sent.marker() && sent.base() < lastStable() && !(sent.transactional() && isAborted(life, i))) {
                        offsets.add(sent.base());
                    }
                }
            }
            return offsets;
        }

        private static boolean isAborted(List<Sent> life, int at) {
            return life.subList(at, life.size()).stream()
                    .filter(later ->
                            later.marker() && later.producer() == life.get(at).producer())
                    .findFirst()
                    .map(Sent::aborts)
                    .orElse(false);
        }

        /** As a consumer does it: the list of aborted transactions beside the batches. */
        private List<Long> readCommitted() throws IOException {
            LogView view = log.view();
            long end = view.lastStableOffset();
            List<AbortedTxn> aborted = new ArrayList<>(view.abortedIn(view.startOffset(), end));
            aborted.sort(Comparator.comparingLong(AbortedTxn::firstOffset));
            Set<Long> skipped = new HashSet<>();
            List<Long> offsets = new ArrayList<>();
            for (long at = view.startOffset(); at < end; ) {
                Optional<LogSlice> slice = view.read(at, end, 1 << 20, true);
                if (slice.isEmpty()) {
                    break;
                }
                for (LogModel.Entry entry : LogModel.entries(slice.get())) {
                    long producer = BatchHeader.producerId(entry.bytes(), 0);
                    while (!aborted.isEmpty() && aborted.get(0).firstOffset() <= entry.last()) {
                        skipped.add(aborted.remove(0).producerId());
                    }
                    if (BatchHeader.control(entry.bytes(), 0)) {
                        ControlRecord control =
                                ControlRecord.of(entry.bytes(), 0, entry.bytes().limit());
                        if (control.type() == ControlRecord.ABORT) {
                            skipped.remove(producer);
                        }
                    } else if (!BatchHeader.transactional(entry.bytes(), 0) || !skipped.contains(producer)) {
                        offsets.add(entry.base());
                    }
                    at = entry.last() + 1;
                }
                slice.get().close();
            }
            return offsets;
        }

        private Answer expected(long producer, int epoch, int first, int records, boolean transactional) {
            List<Sent> mine = of(producer);
            if (mine.isEmpty()) {
                return new Answer(null, null);
            }
            int known = mine.get(mine.size() - 1).epoch();
            List<Sent> current = ofCurrentEpoch(producer);
            for (Sent sent : current.subList(Math.max(0, current.size() - 5), current.size())) {
                if (epoch == known && sent.first() == first && sent.records() == records) {
                    return new Answer(sent.base(), null);
                }
            }
            if (epoch < known) {
                return new Answer(null, Reason.INVALID_PRODUCER_EPOCH);
            }
            int last = current.isEmpty() || epoch > known
                    ? -1
                    : current.get(current.size() - 1).last();
            int due = last == MAX ? 0 : last + 1;
            if (first != due) {
                return new Answer(null, Reason.OUT_OF_ORDER_SEQUENCE);
            }
            boolean broken = openTransaction(producer) != null && !transactional;
            return new Answer(null, broken ? Reason.INVALID_TXN_STATE : null);
        }

        private void send(boolean produced) throws IOException {
            long producer = random.nextInt(1, 4);
            List<Sent> mine = of(producer);
            Sent last = mine.isEmpty() ? null : mine.get(mine.size() - 1);
            int epoch = last == null ? random.nextInt(3) : last.epoch();
            int first = last == null ? (random.nextBoolean() ? MAX - random.nextInt(3) : random.nextInt(3)) : 0;
            if (last != null && !last.marker()) {
                first = (int) ((last.last() + 1L) % (1L << 31));
            }
            int kind = random.nextInt(12);
            if (kind == 0) {
                first = random.nextInt(20);
            } else if (kind == 1) {
                epoch++;
                first = random.nextInt(3) == 0 ? 1 : 0;
            } else if (kind == 2 && epoch > 0) {
                epoch--;
            } else if (kind < 6 && last != null) { // once more
                Sent again = mine.get(Math.max(0, mine.size() - 1 - random.nextInt(8)));
                if (!again.marker()) {
                    sendOne(
                            produced,
                            again.producer(),
                            again.epoch(),
                            again.first(),
                            again.records(),
                            again.transactional());
                    return;
                }
            }
            send(produced, producer, epoch, first);
        }

        private void send(boolean produced, long producer, int epoch, int first) {
            boolean open = openTransaction(producer) != null;
            boolean transactional = open ? random.nextInt(8) > 0 : random.nextInt(8) == 0;
            sendOne(produced, producer, epoch, first, random.nextInt(1, 4), transactional);
        }

        private void sendOne(
                boolean produced, long producer, int epoch, int first, int records, boolean transactional) {
            TestBatches.Builder builder =
                    batch().producer(producer, epoch, first).records(records);
            builder = transactional ? builder.transactional() : builder;
            long end = log.view().endOffset();
            Sent sent = new Sent(producer, epoch, first, records, end, transactional, false);
            if (!produced) { // a mirror takes all
                log.appendMirrored(builder.offset(end).build());
                all.add(sent);
                return;
            }
            Answer expected = expected(producer, epoch, first, records, transactional);
            Answer got;
            try {
                Appended appended = log.append(builder.build(), 0);
                got = new Answer(appended.duplicate() ? appended.baseOffset() : null, null);
                if (!appended.duplicate()) {
                    assertThat(appended.baseOffset()).isEqualTo(end);
                    all.add(sent);
                }
            } catch (ProducerFault refused) {
                got = new Answer(null, refused.reason());
            }
            assertThat(got).as("%s behind %s", sent, of(producer)).isEqualTo(expected);
        }

        private void marker() {
            long producer = random.nextInt(1, 4);
            Sent open = openTransaction(producer);
            if (open == null) {
                return;
            }
            List<Sent> mine = of(producer);
            int epoch = mine.get(mine.size() - 1).epoch() + random.nextInt(2);
            long end = log.view().endOffset();
            int type = random.nextBoolean() ? ControlRecord.COMMIT : ControlRecord.ABORT;
            log.append(
                    batch().producer(producer, epoch, -1)
                            .transactional()
                            .control(type)
                            .build(),
                    0);
            all.add(new Sent(producer, epoch, type, 1, end, true, true));
            if (type == ControlRecord.ABORT) {
                assertThat(log.view().abortedIn(open.base(), end + 1))
                        .contains(new AbortedTxn(producer, open.base(), end));
            }
        }

        private void truncate() {
            if (all.isEmpty()) {
                return;
            }
            long floor = all.get(0).base();
            long end = log.view().endOffset();
            long to = end - (long) (random.nextDouble() * random.nextDouble() * (end - floor));
            log.truncateTo(to);
            all.removeIf(sent -> sent.end() > to);
        }

        private void restart() throws IOException {
            directory.close();
            int damage = random.nextInt(4);
            if (damage == 0) {
                Files.deleteIfExists(dir.resolve(FileLogDirectory.CLEAN));
            } else if (damage == 1) {
                try (Stream<Path> files = Files.list(dir.resolve(NAME.toString()))) {
                    for (Path file : files.toList()) {
                        boolean snapshot =
                                FileNames.baseOffset(file, FileNames.SNAPSHOT).isPresent();
                        if (snapshot && random.nextBoolean()) {
                            Files.write(file, new byte[random.nextInt(30)]);
                        }
                    }
                }
            }
            open();
        }
    }
}
