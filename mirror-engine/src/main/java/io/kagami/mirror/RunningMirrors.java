package io.kagami.mirror;

import io.kagami.mirror.ports.LocalCluster;
import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.mirror.ports.LocalPartitions;
import io.kagami.mirror.ports.MirrorJournal;
import io.kagami.protocol.MirrorError;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.Transports;
import io.kagami.protocol.client.ClientOptions;
import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.NettyClusterClient;
import io.micrometer.core.instrument.MeterRegistry;
import io.netty.channel.EventLoopGroup;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** All mirrors of this broker, one {@link MirrorLoop} each. */
public final class RunningMirrors implements MirrorEngine {
    private static final Logger LOG = LoggerFactory.getLogger(RunningMirrors.class);
    private static final long CLOSE_WAIT_MS = 5000;
    private static final Duration CONNECT_TIMEOUT = Duration.ofSeconds(10);

    private final LocalPartitions local;
    private final LocalCluster cluster;
    private final MirrorJournal journal;
    private final EngineOptions options;
    private final InstantSource clock;
    private final MeterRegistry registry;
    private final EventLoopGroup group;
    private final Function<ClientOptions, ClusterClient> clients;
    private final FlightBudget budget;
    private final Map<String, Entry> mirrors = new ConcurrentHashMap<>();
    private boolean closed;

    /** @param pending a look at the metadata is posted already: many changes in a row cost one */
    private record Entry(
            MirrorSpec spec, MirrorContext context, MirrorLoop loop, Mirror mirror, AtomicBoolean pending) {
        void reconcileSoon() {
            if (pending.compareAndSet(false, true)) {
                loop.post(() -> {
                    pending.set(false);
                    mirror.reconcile();
                });
            }
        }
    }

    public RunningMirrors(
            LocalPartitions local,
            LocalCluster cluster,
            MirrorJournal journal,
            EngineOptions options,
            InstantSource clock,
            MeterRegistry registry) {
        this.local = local;
        this.cluster = cluster;
        this.journal = journal;
        this.options = options;
        this.clock = clock;
        this.registry = registry;
        this.group = Transports.newGroup(1, "mirror-io");
        this.clients = clientOptions -> new NettyClusterClient(clientOptions, group);
        this.budget = new FlightBudget(options.inFlightBytesMax());
    }

    @Override
    public void check(String mirror, Map<String, String> configs) {
        MirrorConfig.parse(configs);
    }

    /** Keys of a configuration that are kept but that this version does not act on. */
    public static List<String> withoutEffect(Map<String, String> configs) {
        return MirrorConfig.parse(configs).withoutEffect();
    }

    @Override
    public synchronized void apply(Collection<MirrorSpec> specs) {
        if (closed) {
            return;
        }
        Set<String> wanted = new HashSet<>();
        for (MirrorSpec spec : specs) {
            wanted.add(spec.name());
            Entry running = mirrors.get(spec.name());
            if (running != null && !sameConnection(running.spec(), spec)) {
                end(running);
                running = null;
            }
            if (running == null) {
                begin(spec);
            } else {
                running.reconcileSoon();
            }
        }
        for (String name : mirrors.keySet()) {
            if (!wanted.contains(name)) {
                end(mirrors.get(name));
            }
        }
    }

    private static boolean sameConnection(MirrorSpec before, MirrorSpec after) {
        // pinning is our own doing and no reason to start anew; any other pin is
        return before.configs().equals(after.configs())
                && (before.sourceClusterId() == null
                        || Objects.equals(before.sourceClusterId(), after.sourceClusterId()));
    }

    private void begin(MirrorSpec spec) {
        MirrorConfig config;
        try {
            config = MirrorConfig.parse(spec.configs());
        } catch (Refused e) {
            // an older or newer version stored what this one does not take: the others go on
            LOG.atError()
                    .addKeyValue("mirror", spec.name())
                    .addKeyValue("reason", e.getMessage())
                    .log("A stored mirror configuration is not valid; the mirror does not run");
            return;
        }
        MirrorLoop loop = new MirrorLoop(spec.name(), clock);
        MirrorContext context = new MirrorContext(
                spec.name(),
                config,
                options,
                loop,
                local,
                cluster,
                journal,
                budget,
                new MirrorMeters(registry, spec.name(), loop));
        ClusterClient client = clients.apply(new ClientOptions(
                config.bootstrapServers(),
                "kagami-mirror-" + spec.name(),
                Duration.ofMillis(config.requestTimeoutMs()),
                CONNECT_TIMEOUT,
                config.receiveBufferBytes(),
                options.frameBytesMax()));
        Mirror mirror = new Mirror(context, client, spec.sourceClusterId());
        mirrors.put(spec.name(), new Entry(spec, context, loop, mirror, new AtomicBoolean()));
        loop.post(mirror::begin);
    }

    /** Does not wait: what is still on its way is fenced by the log end it expects. */
    private CompletableFuture<Void> end(Entry entry) {
        mirrors.remove(entry.spec().name(), entry);
        CompletableFuture<Void> done = new CompletableFuture<>();
        entry.loop().post(() -> {
            entry.mirror().close();
            entry.loop().shutdown();
            done.complete(null);
        });
        return done;
    }

    private interface Command {
        void run(MirrorCommands commands, CompletableFuture<List<TopicResult>> answer);
    }

    private CompletionStage<List<TopicResult>> command(String name, Command command) {
        return onLoop(name, (entry, answer) -> command.run(entry.mirror().commands(), answer));
    }

    private <T> CompletionStage<T> onLoop(String name, BiConsumer<Entry, CompletableFuture<T>> work) {
        CompletableFuture<T> answer = new CompletableFuture<>();
        Entry entry = mirrors.get(name);
        if (entry == null) {
            answer.completeExceptionally(
                    new Refused(MirrorError.UNKNOWN_CLUSTER_MIRROR.code(), "There is no mirror \"" + name + "\"."));
            return answer;
        }
        entry.loop().post(() -> {
            try {
                work.accept(entry, answer);
            } catch (Refused e) {
                answer.completeExceptionally(e);
            } catch (RuntimeException e) {
                answer.completeExceptionally(
                        new Refused(Errors.UNKNOWN_SERVER_ERROR.code(), "the mirror engine failed: " + e));
                throw e; // the loop logs it
            }
        });
        return answer;
    }

    @Override
    public CompletionStage<List<TopicResult>> start(String mirror, List<String> topics, List<String> exclude) {
        return command(mirror, (commands, answer) -> commands.start(topics, exclude, answer));
    }

    @Override
    public CompletionStage<List<TopicResult>> pause(String mirror, List<String> topics, List<String> exclude) {
        return command(mirror, (commands, answer) -> commands.pause(topics, exclude, answer));
    }

    @Override
    public CompletionStage<List<TopicResult>> resume(String mirror, List<String> topics, List<String> exclude) {
        return command(mirror, (commands, answer) -> commands.resume(topics, exclude, answer));
    }

    @Override
    public CompletionStage<List<TopicResult>> stop(String mirror, List<String> topics, List<String> exclude) {
        return command(mirror, (commands, answer) -> commands.stop(topics, exclude, answer));
    }

    @Override
    public CompletionStage<MirrorDescription> describe(String mirror) {
        return onLoop(mirror, (entry, answer) -> answer.complete(Descriptions.of(entry.context(), entry.mirror())));
    }

    @Override
    public void close() {
        List<Entry> ending;
        synchronized (this) {
            closed = true;
            ending = List.copyOf(mirrors.values());
        }
        for (Entry entry : ending) {
            end(entry)
                    .completeOnTimeout(null, CLOSE_WAIT_MS, TimeUnit.MILLISECONDS)
                    .join();
            entry.loop().close();
        }
        group.shutdownGracefully(0, 2, TimeUnit.SECONDS).awaitUninterruptibly(5, TimeUnit.SECONDS);
    }
}
