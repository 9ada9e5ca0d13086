package io.kagami.mirror;

import io.kagami.mirror.core.Phase;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Tags;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The meters of one mirror. Counters are changed on the loop; gauges are read by scrapes and hold numbers that the loop publishes.
 * Topic tags are bounded: topics above the limit are counted together as {@code (other)}.
 */
public final class MirrorMeters {
    private static final int TOPIC_TAGS_MAX = 500;
    private static final int ERROR_TAGS_MAX = 100;

    private final MeterRegistry registry;
    private final Tags tags;
    private final List<Meter> meters = new ArrayList<>();
    private final Map<String, TopicCounters> topics = new HashMap<>();
    private final Map<String, Counter> errors = new HashMap<>();
    private final Counter gaps;
    private final Counter gapRecords;
    private final Map<Phase, AtomicLong> phases = new EnumMap<>(Phase.class);
    private final AtomicLong lag = new AtomicLong(-1);
    private final AtomicLong lagUnknown = new AtomicLong();
    private final AtomicLong refreshedAtMs = new AtomicLong(-1);

    private record TopicCounters(Counter bytes, Counter records, Counter batches) {}

    MirrorMeters(MeterRegistry registry, String mirror, Turns turns) {
        this.registry = registry;
        this.tags = Tags.of("mirror", mirror);
        this.gaps = counter("kagami.mirror.retention.gaps", tags, "retention gaps that were skipped");
        this.gapRecords = counter("kagami.mirror.retention.gap.offsets", tags, "offsets lost in retention gaps");
        for (Phase phase : Phase.values()) {
            AtomicLong count = new AtomicLong();
            phases.put(phase, count);
            meters.add(Gauge.builder("kagami.mirror.partitions", count, AtomicLong::get)
                    .description("partitions by state")
                    .tags(tags.and("state", phase.name()))
                    .register(registry));
        }
        meters.add(Gauge.builder("kagami.mirror.lag", lag, l -> l.get() < 0 ? Double.NaN : (double) l.get())
                .description("offsets behind the source, over partitions whose lag is known; NaN when none is")
                .tags(tags)
                .register(registry));
        meters.add(Gauge.builder("kagami.mirror.lag.unknown.partitions", lagUnknown, AtomicLong::get)
                .description("mirroring partitions whose lag is not known")
                .tags(tags)
                .register(registry));
        meters.add(Gauge.builder(
                        "kagami.mirror.refresh.age.seconds",
                        refreshedAtMs,
                        at -> at.get() < 0 ? Double.NaN : (turns.nowMs() - at.get()) / 1000.0)
                .description("age of the last successful refresh of the source's metadata")
                .tags(tags)
                .register(registry));
    }

    void appended(String topic, long bytes, long records, int batches) {
        TopicCounters counters = topics.get(topic);
        if (counters == null) {
            String name = topics.size() < TOPIC_TAGS_MAX ? topic : "(other)";
            counters = topics.computeIfAbsent(name, this::topicCounters);
        }
        counters.bytes().increment((double) bytes);
        counters.records().increment((double) records);
        counters.batches().increment(batches);
    }

    private TopicCounters topicCounters(String topic) {
        Tags t = tags.and("topic", topic);
        return new TopicCounters(
                counter("kagami.mirror.bytes", t, "bytes appended by the mirror"),
                counter("kagami.mirror.records", t, "records appended by the mirror"),
                counter("kagami.mirror.batches", t, "batches appended by the mirror"));
    }

    void fetchError(String error) {
        String name = errors.containsKey(error) || errors.size() < ERROR_TAGS_MAX ? error : "(other)";
        errors.computeIfAbsent(name, e -> counter("kagami.mirror.fetch.errors", tags.and("error", e), "failed fetches"))
                .increment();
    }

    void retentionGap(long offsets) {
        gaps.increment();
        gapRecords.increment((double) offsets);
    }

    void moved(Phase from, Phase to) {
        if (from != null) {
            phases.get(from).decrementAndGet();
        }
        if (to != null) {
            phases.get(to).incrementAndGet();
        }
    }

    /** @param sum -1 when no lag is known */
    void lag(long sum, long unknownPartitions) {
        lag.set(sum);
        lagUnknown.set(unknownPartitions);
    }

    void refreshed(long atMs) {
        refreshedAtMs.set(atMs);
    }

    void close() {
        meters.forEach(registry::remove);
    }

    private Counter counter(String name, Tags t, String text) {
        Counter counter = Counter.builder(name).description(text).tags(t).register(registry);
        meters.add(counter);
        return counter;
    }
}
