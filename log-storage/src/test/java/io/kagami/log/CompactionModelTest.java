package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.CompactedView.Row;
import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.Cleaned.Kind;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Keyed;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.PlainRewriter;
import io.kagami.log.clean.core.ProducerEnd;
import io.kagami.log.core.ProducerEntry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/** What a compaction may change and what not, for logs of every kind of batch: KAFKA-5490, 7385, 8351, 8764, 9133. */
class CompactionModelTest {
    private static final LogName NAME = new LogName("orders", 0);

    @Property(tries = 40, shrinking = ShrinkingMode.OFF)
    void compactionTakesNothingThatAReaderOrAProducerMisses(@ForAll long seed) throws IOException {
        Path dir = Files.createTempDirectory("compaction");
        try {
            new Run(dir, new Random(seed)).go();
        } finally {
            LogModelTest.deleteAll(dir);
        }
    }

    private static final class Run {
        private final Path dir;
        private final Random random;
        private final LogOptions options;
        private final boolean startMoves;
        private final boolean cuts;
        private final Map<Long, Integer> sequences = new HashMap<>();
        private final Map<Long, Integer> epochs = new HashMap<>();
        private final Set<Long> open = new HashSet<>();
        private long nowMs = 1_000_000;
        private int leaderEpoch;
        private LogDirectory directory;
        private PartitionLog log;

        Run(Path dir, Random random) {
            this.dir = dir;
            this.random = random;
            this.startMoves = random.nextInt(3) == 0;
            this.cuts = random.nextInt(3) == 0;
            this.options = new LogOptions(
                            random.nextInt(200, 3000),
                            Long.MAX_VALUE,
                            random.nextInt(2) * 200,
                            random.nextInt(4) == 0 ? 60 : 4096)
                    .with(new LogOptions.Compaction(true, random.nextInt(2_000), random.nextInt(2) * 500L, 5_000, 0.1));
        }

        void go() throws IOException {
            open(dir);
            log = directory.create(NAME, UUID.randomUUID(), options);
            for (int round = 0; round < 6; round++) {
                for (int i = random.nextInt(30); i > 0; i--) {
                    write(round);
                    nowMs += random.nextInt(60);
                }
                moves();
                compactAll();
            }
            rebuilt();
            directory.close();
        }

        private void open(Path root) {
            InstantSource clock = () -> Instant.ofEpochMilli(nowMs);
            directory = FileLogDirectory.open(root, name -> options, clock);
        }

        private void write(int round) {
            long offset = log.view().endOffset() + (random.nextInt(8) == 0 ? random.nextInt(5) : 0);
            leaderEpoch += random.nextInt(20) == 0 ? 1 : 0;
            int kind = random.nextInt(10);
            if (round == 0 && kind < 3) {
                log.appendMirrored(Keyed.message(offset, nowMs, key(), random.nextInt(3) == 0 ? null : "v" + offset));
            } else if (kind < 5) {
                log.appendMirrored(records(offset).build());
            } else if (kind < 7) {
                log.appendMirrored(by(random.nextLong(1, 4), records(offset)).build());
            } else if (kind < 9 || open.isEmpty()) {
                long id = random.nextLong(10, 13);
                open.add(id);
                log.appendMirrored(by(id, records(offset)).transactional().build());
            } else {
                long id = List.copyOf(open).get(random.nextInt(open.size()));
                open.remove(id);
                int bumped = epochs.getOrDefault(id, 0) + random.nextInt(2);
                if (bumped > epochs.getOrDefault(id, 0)) {
                    epochs.put(id, bumped);
                    sequences.put(id, 0);
                }
                log.appendMirrored(Keyed.marker(offset, leaderEpoch, nowMs, id, bumped, random.nextInt(2)));
            }
        }

        private Keyed by(long id, Keyed batch) {
            int sequence =
                    sequences.merge(id, 4, Integer::sum) - 4; // more than there are records: gaps do not matter here
            return batch.producer(id, epochs.getOrDefault(id, 0), sequence);
        }

        private Keyed records(long offset) {
            Keyed batch = Keyed.batch().offset(offset).epoch(leaderEpoch).at(nowMs);
            for (int i = random.nextInt(1, 5); i > 0; i--) {
                if (random.nextInt(6) == 0) {
                    batch.remove(key());
                } else {
                    batch.put(random.nextInt(20) == 0 ? null : key(), "v" + random.nextInt(1000));
                }
            }
            return batch;
        }

        private String key() {
            return "key-" + random.nextInt(12);
        }

        private void moves() {
            long start = log.view().startOffset();
            long end = log.view().endOffset();
            if (cuts && random.nextInt(3) == 0 && end > start) {
                log.truncateTo(end - random.nextLong(Math.max(1, (end - start) / 3)));
                open.clear();
                open.addAll(openNow());
            }
            if (startMoves && random.nextInt(3) == 0 && log.view().endOffset() > start) {
                log.advanceStart(start + random.nextLong(Math.max(1, (log.view().endOffset() - start) / 3)));
            }
            if (random.nextInt(4) == 0) {
                directory.close();
                open(dir);
                log = directory.get(NAME).orElseThrow();
            }
        }

        private Set<Long> openNow() {
            Set<Long> ids = new HashSet<>(open);
            if (log.view().lastStableOffset() == log.view().endOffset()) {
                ids.clear();
            }
            return ids;
        }

        private void compactAll() throws IOException {
            for (int pass = 0; ; pass++) {
                assertThat(pass).as("compactions until nothing is left").isLessThan(100);
                if (compactOnce().kind() != Kind.DONE) {
                    return;
                }
            }
        }

        private Cleaned compactOnce() throws IOException {
            LogView before = log.view();
            List<Row> committed = CompactedView.committed(before);
            List<Row> all = CompactedView.uncommitted(before);
            Compactor.Limits limits = new Compactor.Limits(24L * random.nextInt(4, 40), 0.7, 256, 1 << 20);
            Cleaned cleaned;
            try {
                cleaned = log.compact(
                        new Compactor(new PlainRewriter(), Pace.UNLIMITED, limits),
                        nowMs,
                        () -> Long.MAX_VALUE,
                        Runnable::run);
            } catch (CleaningFailed | Pace.Stopped e) {
                throw new AssertionError(e);
            }
            LogView after = log.view();
            assertThat(after.startOffset()).isEqualTo(before.startOffset());
            assertThat(after.endOffset()).isEqualTo(before.endOffset());
            assertThat(after.lastStableOffset()).isEqualTo(before.lastStableOffset());
            assertThat(after.lastEpoch()).isEqualTo(before.lastEpoch());
            List<Row> committedAfter = CompactedView.committed(after);
            List<Row> allAfter = CompactedView.uncommitted(after);
            long to = cleaned.kind() == Kind.DONE ? cleaned.cleanedTo() : before.startOffset();
            assertThat(to).isLessThanOrEqualTo(before.lastStableOffset());
            checkRows(committed, committedAfter, to);
            assertThat(all).containsAll(allAfter);
            assertThat(from(allAfter, to)).isEqualTo(from(all, to));
            if (cleaned.kind() == Kind.DONE) {
                Map<String, Row> keys = new HashMap<>();
                for (Row row : allAfter) {
                    Row earlier = row.offset() >= to || row.key() == null ? null : keys.put(row.key(), row);
                    assertThat(earlier).as("superseded below %d by %s", to, row).isNull();
                }
            }
            return cleaned;
        }

        private static void checkRows(List<Row> before, List<Row> after, long to) {
            assertThat(before).containsAll(after);
            assertThat(after).isSortedAccordingTo((a, b) -> Long.compare(a.offset(), b.offset()));
            assertThat(from(after, to)).isEqualTo(from(before, to));
            assertThat(CompactedView.table(withKey(after))).isEqualTo(CompactedView.table(withKey(before)));
        }

        private static List<Row> from(List<Row> rows, long offset) {
            return rows.stream().filter(row -> row.offset() >= offset).toList();
        }

        private static List<Row> withKey(List<Row> rows) {
            return rows.stream().filter(row -> row.key() != null).toList();
        }

        /** Where each producer stands, by what the log remembers. */
        private Map<Long, ProducerEnd> producerEnds() {
            Map<Long, ProducerEnd> ends = new HashMap<>();
            for (ProducerEntry each : ((SegmentedLog) log).producers().entries()) {
                int count = each.batches().size();
                long last = count == 0 ? -1 : each.batches().get(count - 1).lastOffset();
                ends.put(each.producerId(), new ProducerEnd(last, each.epoch()));
            }
            return ends;
        }

        /** The same log read from its batches alone. */
        private void rebuilt() throws IOException {
            LogView before = log.view();
            Map<Long, ProducerEnd> ends = producerEnds();
            List<Row> rows = CompactedView.committed(before);
            directory.close();
            try (Stream<Path> files = Files.walk(dir)) {
                for (Path file : files.toList()) {
                    String name = file.getFileName().toString();
                    if (name.endsWith(".snapshot") || name.endsWith("cleanshutdown") || name.endsWith("index")) {
                        Files.delete(file);
                    }
                }
            }
            open(dir);
            log = directory.get(NAME).orElseThrow();
            assertThat(log.view().endOffset()).isEqualTo(before.endOffset());
            // else batches that the table knew are not there any more: below the start, or superfluous as long as there
            // were those that were cut; snapshots keep the table right then
            boolean whole = before.startOffset() == 0 && !cuts;
            if (whole) {
                assertThat(log.view().lastStableOffset()).isEqualTo(before.lastStableOffset());
            }
            assertThat(CompactedView.committed(log.view())).containsAll(rows);
            Map<Long, ProducerEnd> found = producerEnds();
            ends.forEach((id, end) -> {
                if (whole) {
                    assertThat(found).containsEntry(id, end);
                }
            });
        }
    }
}
