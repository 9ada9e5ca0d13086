package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.ShrinkingMode;

/**
 * With {@code flush.messages} = 1 a batch counts as acknowledged when its force is done. Whatever a power cut does to the rest, such batches
 * are there afterwards, bytes and offsets, of idempotent and of transactional producers alike, and a retry of the last one is known.
 */
class ForcedAppendsTest {
    private static final LogName NAME = new LogName("t", 0);
    private static final LogOptions OPTIONS =
            new LogOptions(600, Long.MAX_VALUE, 100, 4096).with(new LogOptions.Flush(1, Long.MAX_VALUE));
    private static final long NOW_MS = 1_000;

    /** What was acknowledged, by offset, and how far each producer is. */
    private static final class World {
        private final Map<Long, ByteBuffer> acknowledged = new HashMap<>();
        private final Map<Long, Integer> nextSequence = new HashMap<>();
        private ByteBuffer last;
        private long lastOffset = -1;
        private boolean created;
    }

    @Property(tries = 120, shrinking = ShrinkingMode.OFF)
    void everyAcknowledgedBatchIsThereAfterAPowerCut(@ForAll long drawn) throws IOException {
        long seed = Long.getLong("seed", drawn);
        Random random = new Random(seed);
        Path parent = Files.createTempDirectory("forced");
        try {
            World world = new World();
            Path root = Files.createDirectory(parent.resolve("0"));
            for (int round = 1; round <= 4; round++) {
                Path next = Files.createDirectory(parent.resolve(Integer.toString(round)));
                run(root, next, random, world);
                root = next;
            }
        } catch (Exception | AssertionError e) {
            throw new AssertionError("seed " + seed + " (replay with -Dseed=" + seed + "): " + e.getMessage(), e);
        } finally {
            LogModelTest.deleteAll(parent);
        }
    }

    private static void run(Path root, Path next, Random random, World world) throws IOException {
        SimDisk disk = new SimDisk(root, random);
        disk.cutAfter(random.nextInt(150));
        FileLogDirectory directory = null;
        try {
            directory = FileLogDirectory.open(
                    disk, root, name -> OPTIONS, InstantSource.fixed(Instant.ofEpochMilli(NOW_MS)));
            PartitionLog log = directory.get(NAME).orElse(null);
            if (log == null) {
                assertThat(world.created).as("a created log is gone").isFalse();
                log = directory.create(NAME, new UUID(1, 2), OPTIONS);
                world.created = true;
            }
            check(log, world);
            for (int i = 0; i < 40; i++) {
                append(log, random, world);
                if (random.nextInt(8) == 0) {
                    directory.checkpoint();
                }
            }
        } catch (SimDisk.PowerCut expected) {
            // that is the end of this process
        }
        disk.crash(next);
        if (directory != null) {
            CrashTest.abandon(directory);
        }
    }

    private static void append(PartitionLog log, Random random, World world) {
        long producer = random.nextInt(3);
        int sequence = world.nextSequence.getOrDefault(producer, 0);
        TestBatches.Builder builder = TestBatches.batch()
                .records(2)
                .timestamps(NOW_MS, NOW_MS)
                .valueBytes(random.nextInt(80))
                .producer(producer, 0, sequence);
        ByteBuffer batch = (producer == 2 ? builder.transactional() : builder).build();
        world.nextSequence.put(producer, sequence + 2); // the client goes on, whatever becomes of this one
        Appended appended = log.append(batch, 1);
        assertThat(log.flushDue()).isTrue();
        try {
            log.forceSoon().toCompletableFuture().join();
        } catch (CompletionException e) {
            if (e.getCause() instanceof SimDisk.PowerCut cut) {
                throw cut;
            }
            throw e;
        }
        world.acknowledged.put(appended.baseOffset(), batch.rewind());
        world.last = batch;
        world.lastOffset = appended.baseOffset();
    }

    private static void check(PartitionLog log, World world) throws IOException {
        assertThat(log.fault()).isEmpty();
        LogView view = log.view();
        Map<Long, ByteBuffer> found = new HashMap<>();
        for (long offset = view.startOffset(); offset < view.endOffset(); ) {
            Optional<LogSlice> slice = view.read(offset, Long.MAX_VALUE, 10_000, true);
            if (slice.isEmpty()) {
                break;
            }
            for (LogModel.Entry entry : LogModel.entries(slice.get())) {
                found.put(entry.base(), entry.bytes());
                offset = entry.last() + 1;
            }
            slice.get().close();
        }
        assertThat(found).containsAllEntriesOf(world.acknowledged);
        if (world.last != null) {
            ByteBuffer again = ByteBuffer.allocate(world.last.remaining());
            again.put(world.last.duplicate()).flip();
            Appended retried = log.append(again, 1);
            assertThat(retried.duplicate()).isTrue();
            assertThat(retried.baseOffset()).isEqualTo(world.lastOffset);
        }
        world.nextSequence.clear();
        found.values()
                .forEach(batch -> world.nextSequence.merge(
                        batch.getLong(43), batch.getInt(53) + 2, (one, other) -> Math.max(one, other)));
    }
}
