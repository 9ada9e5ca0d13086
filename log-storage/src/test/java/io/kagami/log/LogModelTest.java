package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.Random;
import java.util.UUID;
import java.util.stream.Stream;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

class LogModelTest {
    private static final LogName NAME = new LogName("orders", 3);

    @Property(tries = 60, shrinking = ShrinkingMode.OFF)
    void kafka588_anySequenceOfChangesReadsLikeAListOfBatches(@ForAll long seed) throws IOException {
        Random random = new Random(seed);
        LogOptions options = new LogOptions(
                random.nextInt(300, 6000),
                random.nextBoolean() ? Long.MAX_VALUE : 5_000,
                random.nextInt(3) * 300,
                random.nextInt(3) == 0 ? 12 + random.nextInt(100) : 4096);
        Path dir = Files.createTempDirectory("model");
        try {
            new Run(dir, options, random).go(60);
        } finally {
            deleteAll(dir);
        }
    }

    private static final class Run {
        private final Path dir;
        private final LogOptions options;
        private final Random random;
        private final LogModel model = new LogModel();
        private LogDirectory directory;
        private PartitionLog log;
        private int epoch = 1;
        private long timestamp = 1_000;

        Run(Path dir, LogOptions options, Random random) {
            this.dir = dir;
            this.options = options;
            this.random = random;
        }

        void go(int steps) throws IOException {
            open();
            log = directory.create(NAME, UUID.randomUUID(), options);
            for (int i = 0; i < steps; i++) {
                step();
                assertThat(log.view().endOffset()).isEqualTo(model.end);
                reads();
            }
            model.check(log.view());
            directory.close();
        }

        private void open() {
            directory = FileLogDirectory.open(dir, name -> options, InstantSource.fixed(Instant.ofEpochMilli(5)));
        }

        private void step() throws IOException {
            int action = random.nextInt(20);
            if (action < 8) {
                mirrored();
            } else if (action < 13) {
                appended();
            } else if (action < 15) {
                truncate();
            } else if (action < 17) {
                long to = model.start + (long) (random.nextDouble() * (model.end - model.start + 1));
                log.advanceStart(to);
                model.start = Math.max(model.start, to);
            } else if (action == 17 && random.nextInt(3) == 0) {
                long to = random.nextInt(2000);
                log.restartAt(to);
                model.restartAt(to);
            } else if (action == 18) {
                directory.close();
                open();
                log = directory.get(NAME).orElseThrow();
                model.check(log.view());
            } else {
                log.force();
                directory.checkpoint();
                model.check(log.view());
            }
        }

        private void truncate() {
            long span = model.end - model.start;
            long to = model.end - (long) (random.nextDouble() * random.nextDouble() * span);
            log.truncateTo(to);
            if (to >= model.end) {
                return;
            }
            long end = model.batches.get(0).base() > model.start
                    ? model.start
                    : model.batches.get(0).base();
            while (!model.batches.isEmpty()
                    && model.batches.get(model.batches.size() - 1).last() >= to) {
                model.batches.remove(model.batches.size() - 1);
            }
            if (!model.batches.isEmpty()) {
                end = model.batches.get(model.batches.size() - 1).last() + 1;
            }
            // where the last batch of a segment goes, the segment's own base offset is the end
            model.end = Math.max(end, log.view().endOffset());
            assertThat(model.end).isLessThanOrEqualTo(to);
            if (end < model.start) {
                model.restartAt(model.start);
            }
        }

        private ByteBuffer some(long offset, boolean holes) {
            int count = random.nextInt(1, 5);
            ByteBuffer[] parts = new ByteBuffer[count];
            long next = offset;
            for (int i = 0; i < count; i++) {
                if (random.nextInt(6) == 0) {
                    epoch++;
                }
                int records = random.nextInt(1, 5);
                timestamp += random.nextInt(-300, 600);
                long max = Math.max(0, timestamp);
                next += holes && random.nextInt(4) == 0 ? random.nextInt(50) : 0;
                parts[i] = TestBatches.batch()
                        .offset(next)
                        .epoch(epoch)
                        .records(records)
                        .timestamps(max, max)
                        .valueBytes(random.nextInt(200))
                        .build();
                next += records;
            }
            return TestBatches.join(parts);
        }

        private void mirrored() {
            ByteBuffer bytes = some(model.end, true);
            ByteBuffer copy = TestBatches.join(bytes);
            Appended appended = log.appendMirrored(bytes);
            model.add(copy);
            assertThat(appended.endOffset()).isEqualTo(model.end);
            assertThat(appended.bytes()).isEqualTo(copy.limit());
        }

        private void appended() {
            ByteBuffer bytes = some(0, false);
            log.append(bytes, epoch);
            model.add(bytes.flip());
        }

        private void reads() throws IOException {
            LogView view = log.view();
            for (int i = 0; i < 4; i++) {
                long span = model.end - model.start;
                long offset = model.start + (long) (random.nextDouble() * (span + 1));
                long upper = random.nextInt(3) == 0
                        ? Long.MAX_VALUE
                        : model.start + (long) (random.nextDouble() * (span + 1));
                model.checkRead(view, offset, upper, random.nextInt(3000), random.nextBoolean());
            }
        }
    }

    static void deleteAll(Path dir) throws IOException {
        try (Stream<Path> files = Files.walk(dir)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }
}
