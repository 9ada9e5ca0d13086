package io.kagami.broker;

import io.kagami.broker.BrokerConfig.Listener;
import io.kagami.broker.adopt.Adoption;
import io.kagami.broker.api.ApiVersionsHandler;
import io.kagami.broker.api.Apis;
import io.kagami.broker.api.FetchHandler;
import io.kagami.broker.api.GroupApis;
import io.kagami.broker.api.GroupOptions;
import io.kagami.broker.api.Handler;
import io.kagami.broker.api.HostPort;
import io.kagami.broker.api.InitProducerIdHandler;
import io.kagami.broker.api.MetadataApis;
import io.kagami.broker.api.MetadataOptions;
import io.kagami.broker.api.OffsetsHandler;
import io.kagami.broker.api.ProduceHandler;
import io.kagami.broker.api.TopicConfigs;
import io.kagami.broker.clean.CleanerLoop;
import io.kagami.broker.clean.CleanerMeters;
import io.kagami.broker.clean.RecordRewriter;
import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.cluster.RaftCluster;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.core.group.GroupLimits;
import io.kagami.broker.metrics.Meters;
import io.kagami.broker.metrics.ScrapeServer;
import io.kagami.broker.mirror.BrokerMirrors;
import io.kagami.broker.net.SocketOptions;
import io.kagami.broker.net.SocketServer;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.PartitionLoops;
import io.kagami.broker.partition.PartitionTable;
import io.kagami.log.LogDirectories;
import io.kagami.log.LogDirectory;
import io.kagami.log.LogName;
import io.kagami.log.LogOptions;
import io.kagami.log.clean.Compactor;
import io.kagami.mirror.EngineOptions;
import io.kagami.mirror.core.RetryPolicy;
import io.kagami.protocol.Transports;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultThreadFactory;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.InstantSource;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiConsumer;
import org.apache.kafka.common.protocol.ApiKeys;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The parts of a broker, built and started in order and stopped in reverse. Addresses are taken first, so that a port in use is known
 * before a log is touched; clients are accepted last, so that none meets half a broker.
 */
public final class Broker implements AutoCloseable {
    /** Name of the file in the data directory that holds the bound addresses, one {@code listener=host:port} a line. */
    public static final String PORTS_FILE = "kagami.ports";

    private static final Logger LOG = LoggerFactory.getLogger(Broker.class);
    private static final int TIMER_TICK_MS = 10;
    private static final int INFLATED_MIN = 16 << 20;
    private static final int INFLATED_MAX = 128 << 20;

    private record Part(String name, AutoCloseable closing) {}

    private final BrokerConfig config;
    private final InstantSource clock;
    private final BiConsumer<String, Throwable> fatal;
    private final Deque<Part> started = new ArrayDeque<>();
    private final Map<String, InetSocketAddress> bound = new LinkedHashMap<>();
    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Meters meters = new Meters(registry);
    private final AtomicReference<Apis> apis = new AtomicReference<>();
    private final AtomicReference<String> missing = new AtomicReference<>("starting");
    private SocketServer server;
    private InetSocketAddress metricsAddress;
    private Cluster cluster;
    private PartitionTable partitions;

    private Broker(BrokerConfig config, InstantSource clock, BiConsumer<String, Throwable> fatal) {
        this.config = config;
        this.clock = clock;
        this.fatal = fatal;
    }

    /**
     * Starts everything and returns when clients are served; blocks meanwhile.
     *
     * @param fatal told what broke when a loop has met a bug; the process should end at once, its logs are recovered at the next start
     * @throws IOException when an address or a directory cannot be used; nothing is left running then
     */
    public static Broker start(BrokerConfig config, InstantSource clock, BiConsumer<String, Throwable> fatal)
            throws IOException {
        Broker broker = new Broker(config, clock, fatal);
        try {
            broker.start();
            return broker;
        } catch (IOException | RuntimeException | Error e) {
            broker.close();
            throw e;
        }
    }

    private void start() throws IOException {
        config.warnings().forEach(LOG::warn);
        listen();
        missing.set("opening the metadata in " + config.metadataDir());
        if (config.logDirs().size() == 1) {
            Files.createDirectories(config.logDirs().get(0));
        }
        config.logDirs().forEach(Adoption::refuseUnfinished);
        refuseToForget();
        cluster = begun(
                "metadata",
                RaftCluster.start(
                        config.metadataDir(),
                        config.nodeId(),
                        config.clusterId(),
                        clock,
                        failure -> fatal.accept("the metadata log failed", failure)));
        missing.set("recovering the logs in " + config.logDirs());
        LogDirectory logs =
                begun("logs", LogDirectories.open(config.logDirs(), this::logOptions, clock, config.recoveryThreads()));
        begun("connections", server::closeConnections);
        PartitionLoops loops = begun("partition loops", new PartitionLoops(config.partitionLoops(), fatal));
        partitions = new PartitionTable(logs, loops, this::logOptions, config.topicDefaults());
        begun("partitions", partitions::close);
        cluster.listen(partitions::follow);
        meters.partitions(partitions, loops);
        meters.directories(logs);
        BrokerConfig.Cleaning cleaning = config.cleaning();
        begun("housekeeping", new HousekeepingLoop(partitions, logs, clock, cleaning.retentionEveryMs()))
                .start();
        if (cleaning.enabled()) {
            begun("cleaner", cleaner(cleaning)).start();
        }
        missing.set("starting the request handlers");
        apis.set(Apis.of(families()));
        writePorts();
        server.start();
        missing.set(null);
        LOG.info("ready: {}", describe());
    }

    private CleanerLoop cleaner(BrokerConfig.Cleaning wanted) {
        int batchBytesMax = inflatedBytesMax();
        Compactor.Limits limits =
                new Compactor.Limits(wanted.mapBytes(), wanted.mapLoadFactor(), wanted.bufferBytes(), batchBytesMax);
        return new CleanerLoop(
                () -> List.copyOf(partitions.cleanables()),
                new RecordRewriter(batchBytesMax),
                new CleanerLoop.Settings(wanted.threads(), wanted.bytesPerSecond(), wanted.backoffMs(), limits),
                new CleanerMeters(registry),
                clock);
    }

    private static int inflatedBytesMax() {
        return (int) Math.max(
                INFLATED_MIN, Math.min(INFLATED_MAX, Runtime.getRuntime().maxMemory() / 8));
    }

    private void listen() throws IOException {
        server = begun(
                "network",
                new SocketServer(
                        new SocketOptions(
                                config.requestBytesMax(),
                                config.connectionsMax(),
                                config.idleMs(),
                                config.sendBufferBytes(),
                                config.receiveBufferBytes()),
                        config.networkThreads(),
                        (request, session) -> apis.get().apply(request, session),
                        meters));
        for (Listener each : config.listeners()) {
            bound.put(
                    each.name(),
                    server.bind(
                            each.name(), each.address().host(), each.address().port()));
        }
        if (config.metricsListener() != null) {
            ScrapeServer scrape = begun("metrics", new ScrapeServer(registry::scrape, this::missing));
            metricsAddress = scrape.start(
                    server.io(),
                    config.metricsListener().host(),
                    config.metricsListener().port());
        }
    }

    private List<Map<Short, Handler>> families() {
        HashedWheelTimer timer = new HashedWheelTimer(
                new DefaultThreadFactory("fetch-timer", true), TIMER_TICK_MS, TimeUnit.MILLISECONDS);
        begun("timer", timer::stop);
        int inflatedBytesMax = inflatedBytesMax();
        FetchHandler fetch = new FetchHandler(
                partitions,
                timer,
                config.fetchBytesMax(),
                config.fetchSessions(),
                listener -> new FetchHandler.Here(
                        config.nodeId(),
                        advertised(listener).host(),
                        advertised(listener).port()),
                clock);
        OffsetsHandler offsets = new OffsetsHandler(partitions, inflatedBytesMax);
        List<Map<Short, Handler>> families = new ArrayList<>();
        families.add(Map.of(
                ApiKeys.API_VERSIONS.id,
                new ApiVersionsHandler(() -> cluster.image().clusterId(), config.nodeId()),
                ApiKeys.PRODUCE.id,
                new ProduceHandler(partitions, inflatedBytesMax, clock),
                ApiKeys.FETCH.id,
                fetch,
                ApiKeys.LIST_OFFSETS.id,
                (Handler) offsets::listOffsets,
                ApiKeys.OFFSET_FOR_LEADER_EPOCH.id,
                (Handler) offsets::offsetForLeaderEpoch,
                ApiKeys.INIT_PRODUCER_ID.id,
                new InitProducerIdHandler(cluster)));
        families.add(MetadataApis.handlers(
                cluster,
                new MetadataOptions(
                        this::advertised,
                        config.autoCreateTopics(),
                        config.numPartitions(),
                        config.replicationFactor(),
                        config.topicDefaults(),
                        config.shown()),
                (topic, partition) -> partitions
                        .get(topic, partition)
                        .map(Partition::readable)
                        .orElse(true)));
        GroupApis groups = begun("group coordinator", GroupApis.start(cluster, partitions, groupOptions(), clock));
        families.add(groups.handlers());
        BrokerMirrors mirrors = begun(
                "mirrors", BrokerMirrors.start(cluster, partitions, engineOptions(), clock, registry, Broker::problem));
        families.add(mirrors.handlers());
        // stopped first: what waits is answered while everything behind it still works
        begun("waiting fetches", fetch::stop);
        begun("listeners", server::stopAccepting);
        return families;
    }

    private static String problem(String key, String value) {
        return TopicConfigs.problem(Map.of(key, value)).orElse(null);
    }

    private EngineOptions engineOptions() {
        BrokerConfig.Mirroring wanted = config.mirroring();
        return new EngineOptions(
                wanted.refreshIntervalMs(),
                wanted.fetchersPerBroker(),
                new RetryPolicy(wanted.retryInitialMs(), wanted.retryMaxMs(), wanted.retryAttemptsMax()),
                wanted.inFlightBytesMax(),
                wanted.frameBytesMax());
    }

    private GroupOptions groupOptions() {
        BrokerConfig.Groups wanted = config.groups();
        GroupLimits usual = GroupLimits.DEFAULT;
        GroupLimits limits = new GroupLimits(
                wanted.sessionTimeoutMinMs(),
                wanted.sessionTimeoutMaxMs(),
                wanted.initialRebalanceDelayMs(),
                usual.newMemberMs(),
                usual.membersMax(),
                usual.memberBytesMax(),
                usual.groupBytesMax(),
                usual.groupsMax(),
                wanted.offsetMetadataBytesMax(),
                usual.offsetsRetentionMs());
        return GroupOptions.defaults(this::advertised).with(limits, wanted.offsetsPartitions());
    }

    private LogOptions logOptions(LogName name) {
        TopicImage topic = cluster.image().topics().get(name.topic());
        return logOptions(topic == null ? Map.of() : topic.configs());
    }

    private LogOptions logOptions(Map<String, String> overrides) {
        return TopicConfigs.logOptions(overrides, config.topicDefaults())
                .withProducerExpiryMs(config.producerExpiryMs());
    }

    /** What clients of a listener are told; a free port is known by now. */
    private HostPort advertised(String listener) {
        BrokerConfig.HostPort told = config.advertised().get(listener);
        InetSocketAddress address = bound.get(listener);
        if (told == null) {
            return new HostPort(hostOf(listener), address.getPort());
        }
        return new HostPort(told.host(), told.port() == 0 ? address.getPort() : told.port());
    }

    private String hostOf(String listener) {
        return config.listeners().stream()
                .filter(each -> each.name().equals(listener))
                .findFirst()
                .orElseThrow()
                .address()
                .host();
    }

    private <T extends AutoCloseable> T begun(String name, T part) {
        started.push(new Part(name, part));
        return part;
    }

    /** Empty when clients are served. */
    private List<String> missing() {
        String what = missing.get();
        return what == null ? List.of() : List.of(what);
    }

    /** Real addresses by listener name. */
    public Map<String, InetSocketAddress> addresses() {
        return Map.copyOf(bound);
    }

    /** Null when there is no metrics listener. */
    public InetSocketAddress metricsAddress() {
        return metricsAddress;
    }

    private void writePorts() {
        List<String> lines = new ArrayList<>();
        bound.forEach((name, address) -> lines.add(name + "=" + text(address)));
        if (metricsAddress != null) {
            lines.add("METRICS=" + text(metricsAddress));
        }
        for (Path directory : config.logDirs()) {
            Path fresh = directory.resolve(PORTS_FILE + ".tmp");
            try {
                Files.write(fresh, lines, StandardCharsets.UTF_8);
                Files.move(
                        fresh,
                        directory.resolve(PORTS_FILE),
                        StandardCopyOption.ATOMIC_MOVE,
                        StandardCopyOption.REPLACE_EXISTING);
                return;
            } catch (IOException e) {
                LOG.warn("{} cannot be written in {}: {}", PORTS_FILE, directory, e.toString());
            }
        }
    }

    /** Without its metadata a broker would take every log for a stranger's. */
    private void refuseToForget() throws IOException {
        if (Files.isDirectory(config.metadataDir())) {
            return;
        }
        for (Path directory : config.logDirs()) {
            if (LogDirectories.holdsLogs(directory)) {
                throw new IOException("there are logs in " + directory + ", but the metadata directory "
                        + config.metadataDir()
                        + " is missing: mount or restore it, or set metadata.log.dir. Logs of another"
                        + " broker are taken over with kagami storage adopt");
            }
        }
    }

    private String describe() {
        List<String> listeners = new ArrayList<>();
        bound.forEach((name, address) -> listeners.add(name + "://" + text(address)));
        String version = Broker.class.getPackage().getImplementationVersion();
        return "Kagami " + (version == null ? "(development)" : version) + ", node " + config.nodeId() + " of cluster "
                + cluster.image().clusterId() + ", listeners " + String.join(",", listeners)
                + (metricsAddress == null ? "" : ", metrics http://" + text(metricsAddress)) + ", transport "
                + Transports.name();
    }

    private static String text(InetSocketAddress address) {
        return new BrokerConfig.HostPort(address.getAddress().getHostAddress(), address.getPort()).toString();
    }

    /** Stops everything in reverse order; a part that fails to stop does not keep the others from it. */
    @Override
    public void close() {
        stop();
    }

    /** As {@link #close}; false when a part failed to stop, which is in the log. */
    boolean stop() {
        missing.set("stopping");
        boolean clean = true;
        while (!started.isEmpty()) {
            Part part = started.pop();
            try {
                part.closing().close();
            } catch (Exception | Error e) {
                clean = false;
                LOG.error("stopping the {} failed", part.name(), e);
            }
        }
        return clean;
    }
}
