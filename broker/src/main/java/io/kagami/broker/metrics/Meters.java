package io.kagami.broker.metrics;

import io.kagami.broker.net.RequestObserver;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.PartitionLoops;
import io.kagami.broker.partition.PartitionTable;
import io.kagami.log.LogDirectory;
import io.kagami.protocol.Api;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.FileDescriptorMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.netty.buffer.ByteBufAllocator;
import io.netty.buffer.ByteBufAllocatorMetricProvider;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * The meters of the broker itself; the mirror engine registers its own in the same registry.
 *
 * <p>{@code kagami_requests_seconds{api}} time from the complete frame to the answer, long polls included;
 * {@code kagami_request_failures_total{api}}; {@code kagami_received_bytes_total}, {@code kagami_sent_bytes_total};
 * {@code kagami_connections}, {@code kagami_connections_refused_total}; {@code kagami_partitions{mode}}; {@code kagami_log_size_bytes};
 * {@code kagami_log_directory_logs{directory}}, {@code kagami_log_directory_logs_offline{directory}},
 * {@code kagami_log_directory_troubled{directory}} 1 when it cannot be opened or written; {@code kagami_partition_loop_queue};
 * {@code kagami_fetches_waiting}; JVM and process meters under Micrometer's names.
 */
public final class Meters implements RequestObserver {
    private final MeterRegistry registry;
    private final Map<Short, Timer> requests = new ConcurrentHashMap<>();
    private final Map<Short, Counter> failures = new ConcurrentHashMap<>();
    private final AtomicInteger connections = new AtomicInteger();
    private final Counter received;
    private final Counter sent;
    private final Counter refused;

    public Meters(MeterRegistry registry) {
        this.registry = registry;
        this.received = Counter.builder("kagami.received").baseUnit("bytes").register(registry);
        this.sent = Counter.builder("kagami.sent").baseUnit("bytes").register(registry);
        this.refused = Counter.builder("kagami.connections.refused").register(registry);
        Gauge.builder("kagami.connections", connections, AtomicInteger::get).register(registry);
        if (ByteBufAllocator.DEFAULT instanceof ByteBufAllocatorMetricProvider provider) {
            Gauge.builder("kagami.netty.direct", () -> provider.metric().usedDirectMemory())
                    .baseUnit("bytes")
                    .register(registry);
        }
        List<MeterBinder> process = List.of(
                new JvmMemoryMetrics(),
                new JvmThreadMetrics(),
                new ProcessorMetrics(),
                new FileDescriptorMetrics(),
                new UptimeMetrics());
        process.forEach(each -> each.bindTo(registry));
    }

    /** Adds what is known of the partitions. */
    public void partitions(PartitionTable table, PartitionLoops loops) {
        for (Partition.Mode mode : Partition.Mode.values()) {
            Gauge.builder("kagami.partitions", table, all -> count(all, mode))
                    .tag("mode", mode.name().toLowerCase(Locale.ROOT))
                    .register(registry);
        }
        Gauge.builder("kagami.log.size", table, Meters::logBytes)
                .baseUnit("bytes")
                .register(registry);
        Gauge.builder("kagami.fetches.waiting", table, PartitionTable::waiting).register(registry);
        Gauge.builder("kagami.partition.loop.queue", loops, PartitionLoops::queued)
                .register(registry);
    }

    /** Adds what is known of the data directories. */
    public void directories(LogDirectory logs) {
        for (LogDirectory.State each : logs.states()) {
            Path path = each.path();
            Gauge.builder("kagami.log.directory.logs", logs, all -> of(all, path)
                            .logs())
                    .tag("directory", path.toString())
                    .register(registry);
            Gauge.builder("kagami.log.directory.logs.offline", logs, all -> of(all, path)
                            .offline())
                    .tag("directory", path.toString())
                    .register(registry);
            Gauge.builder(
                            "kagami.log.directory.troubled",
                            logs,
                            all -> of(all, path).trouble().isPresent() ? 1 : 0)
                    .tag("directory", path.toString())
                    .register(registry);
        }
    }

    private static LogDirectory.State of(LogDirectory logs, Path path) {
        return logs.states().stream()
                .filter(each -> each.path().equals(path))
                .findFirst()
                .orElseThrow();
    }

    private static double count(PartitionTable table, Partition.Mode mode) {
        return table.all().stream().filter(each -> each.mode() == mode).count();
    }

    /** An offline partition may have no log to measure; the gauge of offline partitions tells. */
    private static double logBytes(PartitionTable table) {
        return table.all().stream()
                .filter(Partition::readable)
                .mapToDouble(each -> each.view().sizeInBytes())
                .sum();
    }

    @Override
    public void answered(Api api, long nanos) {
        requests.computeIfAbsent(api.key(), key -> Timer.builder("kagami.requests")
                        .tag("api", api.name())
                        .register(registry))
                .record(nanos, TimeUnit.NANOSECONDS);
    }

    @Override
    public void failed(Api api) {
        failures.computeIfAbsent(api.key(), key -> Counter.builder("kagami.request.failures")
                        .tag("api", api.name())
                        .register(registry))
                .increment();
    }

    @Override
    public void received(long bytes) {
        received.increment((double) bytes);
    }

    @Override
    public void sent(long bytes) {
        sent.increment((double) bytes);
    }

    @Override
    public void connections(int change) {
        connections.addAndGet(change);
    }

    @Override
    public void refusedConnection() {
        refused.increment();
    }
}
