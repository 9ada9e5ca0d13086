package io.kagami.broker.clean;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.broker.api.TopicConfigs;
import io.kagami.broker.partition.Cleanable;
import io.kagami.log.FileLogDirectory;
import io.kagami.log.LogDirectory;
import io.kagami.log.LogName;
import io.kagami.log.LogOptions;
import io.kagami.log.PartitionLog;
import io.kagami.log.clean.BatchRewriter;
import io.kagami.log.clean.Compactor;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CleanerLoopTest {
    private static final LogOptions OPTIONS = new LogOptions(2_000, Long.MAX_VALUE, 0, 1 << 12)
            .with(new LogOptions.Compaction(true, 1_000, 0, Long.MAX_VALUE, 0.01));

    @TempDir
    Path root;

    private final AtomicLong nowMs = new AtomicLong(1_000_000);
    private final MeterRegistry registry = new SimpleMeterRegistry();
    private final List<Cleanable> cleanables = new ArrayList<>();
    private volatile String poisoned = "";
    private LogDirectory directory;
    private CleanerLoop cleaner;

    @BeforeEach
    void open() {
        InstantSource clock = () -> Instant.ofEpochMilli(nowMs.get());
        directory = FileLogDirectory.open(root, name -> OPTIONS, clock);
        Compactor.Limits limits = new Compactor.Limits(1 << 16, 0.9, 4096, 1 << 20);
        RecordRewriter real = new RecordRewriter(1 << 20);
        BatchRewriter rewriter = new BatchRewriter() {
            @Override
            public void read(ByteBuffer batch, Sink sink) throws Unreadable {
                real.read(batch, (offset, key, hasValue) -> {
                    if (StandardCharsets.UTF_8
                            .decode(key.duplicate())
                            .toString()
                            .equals(poisoned)) {
                        throw new IllegalStateException("a bug");
                    }
                    sink.onRecord(offset, key, hasValue);
                });
            }

            @Override
            public ByteBuffer rewrite(ByteBuffer batch, BitSet kept, long horizonMs) throws Unreadable {
                return real.rewrite(batch, kept, horizonMs);
            }
        };
        cleaner = new CleanerLoop(
                () -> List.copyOf(cleanables),
                rewriter,
                new CleanerLoop.Settings(1, Double.MAX_VALUE, 20, limits),
                new CleanerMeters(registry),
                clock);
    }

    @AfterEach
    void close() {
        cleaner.close();
        directory.close();
    }

    private PartitionLog log(String topic) {
        PartitionLog log = directory.create(new LogName(topic, 0), UUID.randomUUID(), OPTIONS);
        for (int i = 0; i < 200; i++) {
            byte[] key = (topic + i % 5).getBytes(StandardCharsets.UTF_8);
            log.append(
                    new BatchBuilder(Codec.NONE)
                            .append(nowMs.get(), key, new byte[50])
                            .build(),
                    0);
        }
        cleanables.add(new Cleanable(topic + "-0", log, () -> Long.MAX_VALUE, Runnable::run, () -> {}));
        return log;
    }

    private double count(String meter) {
        return registry.get(meter).counter().count();
    }

    @Test
    void kafka3894_aLogThatCannotBeCompactedNeitherEndsTheThreadNorHoldsUpTheOthers() {
        PartitionLog bad = log("bad");
        PartitionLog good = log("good");
        long before = good.view().sizeInBytes();
        long badBefore = bad.view().sizeInBytes();
        poisoned = "bad3";
        cleaner.start();
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            assertThat(good.view().sizeInBytes()).isLessThan(before / 3);
            assertThat(cleaner.state().failures()).containsOnlyKeys(bad.name());
        });
        assertThat(bad.view().sizeInBytes()).isEqualTo(badBefore);
        assertThat(count("kagami.cleaner.failures")).isOne();
        assertThat(registry.get("kagami.cleaner.failed.logs").gauge().value()).isOne();
        assertThat(registry.get("kagami.cleaner.dirty.max").gauge().value()).isEqualTo(100);

        poisoned = "";
        nowMs.addAndGet(3_600_000); // later it is tried again
        Awaitility.await().atMost(Duration.ofSeconds(20)).untilAsserted(() -> {
            assertThat(bad.view().sizeInBytes()).isLessThan(before / 3);
            assertThat(cleaner.state().failures()).isEmpty();
        });
    }

    @Test
    void kafka19895_aFailedLogIsTriedAtOnceWhenItsConfigurationChanges() {
        PartitionLog log = log("bad");
        poisoned = "bad3";
        assertThat(cleaner.step()).isTrue();
        assertThat(cleaner.step()).as("it waits").isFalse();
        poisoned = "";
        log.reconfigure(OPTIONS.with(new LogOptions.Compaction(true, 5, 0, Long.MAX_VALUE, 0.01)));
        assertThat(cleaner.step()).isTrue();
        assertThat(cleaner.state().failures()).isEmpty();
        assertThat(count("kagami.cleaner.runs")).isOne();
        assertThat(count("kagami.cleaner.after")).isLessThan(count("kagami.cleaner.before"));
        assertThat(cleaner.step()).as("all is clean").isFalse();
    }

    @Test
    void theDirtiestLogComesFirstAndOnesThatMayNotBeCompactedNever() {
        PartitionLog first = log("first");
        assertThat(cleaner.step()).isTrue();
        for (int i = 0; i < 40; i++) {
            first.append(
                    new BatchBuilder(Codec.NONE)
                            .append(nowMs.get(), new byte[] {1}, new byte[50])
                            .build(),
                    0);
        }
        PartitionLog second = log("second");
        PartitionLog third = log("third");
        third.reconfigure(OPTIONS.with(LogOptions.Compaction.NONE));
        long before = second.view().sizeInBytes();
        long thirdBefore = third.view().sizeInBytes();
        assertThat(cleaner.step()).isTrue();
        assertThat(second.view().sizeInBytes()).isLessThan(before);
        assertThat(cleaner.step()).isTrue();
        assertThat(cleaner.step()).isFalse();
        assertThat(third.view().sizeInBytes()).isEqualTo(thirdBefore);
    }

    @Test
    void kafka9254_anOverrideOfATopicHoldsWhateverTheDefaultOfTheBrokerIs() {
        Map<String, String> compact = Map.of("cleanup.policy", "compact", "min.cleanable.dirty.ratio", "0.2");
        for (Map<String, String> defaults :
                List.of(Map.<String, String>of(), Map.of("cleanup.policy", "delete", "retention.ms", "1"))) {
            LogOptions options = TopicConfigs.logOptions(compact, defaults);
            assertThat(options.retention().enabled()).isFalse();
            assertThat(options.compaction().enabled()).isTrue();
            assertThat(options.compaction().minDirtyRatio()).isEqualTo(0.2);
        }
    }

    @Test
    void compactionKeepsToItsPaceAndEndsWhenItIsTold() throws Exception {
        IoPace pace = new IoPace(10_000_000, System::nanoTime);
        long begun = System.nanoTime();
        pace.spent(1_500_000);
        pace.spent(1_500_000);
        assertThat(System.nanoTime() - begun).isGreaterThan(190_000_000L);
        pace.stop();
        org.assertj.core.api.Assertions.assertThatThrownBy(() -> pace.spent(1))
                .isInstanceOf(io.kagami.log.clean.Pace.Stopped.class);
    }
}
