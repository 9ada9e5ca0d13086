package io.kagami.broker.partition;

import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.partition.Partition.Mode;
import io.kagami.log.LogDirectory;
import io.kagami.log.LogDirectory.NewLog;
import io.kagami.log.LogName;
import io.kagami.log.LogOptions;
import io.kagami.log.PartitionLog;
import io.kagami.log.StorageFault;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.MirrorPartition;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import java.util.function.Function;
import org.apache.kafka.common.Uuid;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The partitions of this broker as the cluster image wants them. {@link #follow} is called for every change of the image, on one thread,
 * and returns when every log that the image names exists durably and every mode and epoch is set: so a topic that Metadata shows can be
 * written to, and one that is mirrored cannot.
 */
public final class PartitionTable implements Partitions {
    private static final Logger LOG = LoggerFactory.getLogger(PartitionTable.class);

    private record Key(Uuid topicId, int partition) {}

    /** Copy on write. */
    private record Tables(Map<LogName, LocalPartition> byName, Map<Key, LocalPartition> byId) {}

    private final LogDirectory directory;
    private final PartitionLoops loops;
    private final Function<Map<String, String>, LogOptions> logOptions;
    private final Map<String, String> topicDefaults;
    private volatile Tables tables = new Tables(Map.of(), Map.of());
    private volatile ClusterImage image;
    private boolean first = true;
    private boolean closed;

    /**
     * @param logOptions from the overrides of a topic
     * @param topicDefaults this broker's defaults of topic keys
     */
    public PartitionTable(
            LogDirectory directory,
            PartitionLoops loops,
            Function<Map<String, String>, LogOptions> logOptions,
            Map<String, String> topicDefaults) {
        this.directory = directory;
        this.loops = loops;
        this.logOptions = logOptions;
        this.topicDefaults = topicDefaults;
    }

    @Override
    public Optional<Partition> get(String topic, int partition) {
        return Optional.ofNullable(tables.byName.get(new LogName(topic, partition)));
    }

    @Override
    public Optional<Partition> get(Uuid topicId, int partition) {
        return Optional.ofNullable(tables.byId.get(new Key(topicId, partition)));
    }

    @Override
    public Collection<Partition> all() {
        return List.copyOf(tables.byName.values());
    }

    /** Fetches that wait, over all partitions. */
    public int waiting() {
        int sum = 0;
        for (LocalPartition each : tables.byName.values()) {
            sum += each.waiting();
        }
        return sum;
    }

    /** The listener of the cluster; blocks its thread while logs are created. */
    public synchronized void follow(ClusterImage before, ClusterImage after) {
        if (closed) {
            return;
        }
        image = after;
        boolean starting = first;
        if (first) {
            first = false;
            setAsideStrangers(after);
        }
        Map<LogName, LocalPartition> byName = new HashMap<>(tables.byName);
        List<CompletableFuture<Void>> work = new ArrayList<>();
        List<LocalPartition> gone = new ArrayList<>();
        for (TopicImage old : before.topics().values()) {
            TopicImage now = after.topics().get(old.name());
            if (now == null || !now.id().equals(old.id())) {
                remove(old, byName, gone);
            }
        }
        if (!gone.isEmpty()) {
            publish(byName);
            gone.forEach(each -> work.add(onLoop(each, () -> delete(each))));
            await(work);
            work.clear();
        }
        createTogether(before, after, starting);
        Map<LogName, LocalPartition> made = new java.util.concurrent.ConcurrentHashMap<>();
        for (TopicImage topic : after.topics().values()) {
            TopicImage old = before.topics().get(topic.name());
            boolean same = old != null && old.id().equals(topic.id());
            boolean phases = topic.mirror() != null && !topic.mirrored();
            if (!same || !old.equals(topic) || phases) {
                adapt(topic, same ? old : null, before, after, starting, made, work);
            }
        }
        await(work);
        if (!made.isEmpty()) {
            byName.putAll(made);
            publish(byName);
        }
    }

    /** Logs of new topics share what creating costs, and no partition loop waits for the disk. What fails here is tried again alone. */
    private void createTogether(ClusterImage before, ClusterImage after, boolean starting) {
        if (before.topics() == after.topics()
                || (starting && directory.incomplete().isPresent())) {
            return;
        }
        List<NewLog> wanted = new ArrayList<>();
        for (TopicImage topic : after.topics().values()) {
            if (topic.equals(before.topics().get(topic.name()))) {
                continue;
            }
            LogOptions options = logOptions.apply(topic.configs());
            for (int i = 0; i < topic.partitions(); i++) {
                LogName name = new LogName(topic.name(), i);
                if (!tables.byName.containsKey(name) && directory.get(name).isEmpty()) {
                    wanted.add(new NewLog(name, toJava(topic.id()), options));
                }
            }
        }
        if (!wanted.isEmpty()) {
            directory.createAll(wanted);
        }
    }

    private void publish(Map<LogName, LocalPartition> byName) {
        Map<Key, LocalPartition> byId = new HashMap<>();
        byName.values().forEach(each -> byId.put(new Key(each.topicId(), each.partition()), each));
        tables = new Tables(Map.copyOf(byName), Map.copyOf(byId));
    }

    private static void remove(TopicImage old, Map<LogName, LocalPartition> byName, List<LocalPartition> gone) {
        for (int i = 0; i < old.partitions(); i++) {
            LocalPartition partition = byName.remove(new LogName(old.name(), i));
            if (partition != null) {
                gone.add(partition);
            }
        }
    }

    private void delete(LocalPartition partition) {
        partition.markDeleted();
        try {
            directory.delete(new LogName(partition.topic(), partition.partition()));
            LOG.info("deleted the log of {}", partition);
        } catch (StorageFault e) {
            LOG.error("the log of the deleted partition {} cannot be removed: {}", partition, e.getMessage(), e);
        }
    }

    /**
     * Follows no further change, and waits for the one that is being followed; the partitions stay. To be called before the loops end: what
     * the metadata takes up later is followed at the next start.
     */
    public synchronized void close() {
        closed = true;
    }

    /** Creates what is missing and tells what exists. {@code old} is null when the topic (this incarnation of it) is new here. */
    private void adapt(
            TopicImage topic,
            TopicImage old,
            ClusterImage before,
            ClusterImage after,
            boolean starting,
            Map<LogName, LocalPartition> made,
            List<CompletableFuture<Void>> work) {
        TopicRules rules = TopicRules.of(topic.configs(), topicDefaults);
        boolean reconfigured = old == null || !old.configs().equals(topic.configs());
        for (int i = 0; i < topic.partitions(); i++) {
            int number = i;
            Mode mode = modeOf(topic, number, after);
            LocalPartition existing = tables.byName.get(new LogName(topic.name(), number));
            if (existing == null) {
                PartitionLoop loop = loops.assign();
                work.add(run(loop, () -> {
                    LocalPartition created = open(topic, number, loop, mode, rules, starting);
                    made.put(new LogName(topic.name(), number), created);
                }));
                continue;
            }
            Mode modeBefore = old == null || number >= old.partitions() ? null : modeOf(old, number, before);
            Mode change = mode == modeBefore ? null : mode;
            int epoch = topic.leaderEpochs().get(number);
            // the stop sequence asks for this at every change of any mirror state: most say nothing new
            if (change != null || epoch != existing.leaderEpoch() || !topic.equals(old)) {
                work.add(onLoop(existing, () -> {
                    existing.follow(change, topic.mirror(), epoch, rules);
                    if (reconfigured) {
                        existing.upkeep(log -> log.reconfigure(logOptions.apply(topic.configs())));
                    }
                }));
            }
        }
    }

    /**
     * On the loop of the new partition.
     *
     * @param starting whether the log may have been made by an earlier broker
     */
    private LocalPartition open(
            TopicImage topic, int number, PartitionLoop loop, Mode mode, TopicRules rules, boolean starting) {
        LogName name = new LogName(topic.name(), number);
        PartitionLog log = null;
        try {
            UUID id = toJava(topic.id());
            LogOptions options = logOptions.apply(topic.configs());
            Optional<PartitionLog> found = directory.get(name);
            if (found.isPresent() && found.get().offline()) {
                // what it holds could not be read, not even whose it is: an operator's case, an earlier line says why
                return partition(topic, number, loop, found.get(), mode, rules);
            }
            Optional<String> incomplete = directory.incomplete();
            if (found.isEmpty() && starting && incomplete.isPresent()) {
                LOG.error("{} is offline: its log may be in a directory that is: {}", name, incomplete.get());
                return partition(topic, number, loop, null, mode, rules);
            }
            if (found.isPresent() && !found.get().topicId().equals(id)) {
                setAside(
                        name,
                        "belongs to another topic id, " + fromJava(found.get().topicId()));
                found = Optional.empty();
            }
            log = found.isPresent() ? found.get() : directory.create(name, id, options);
            log.reconfigure(options);
        } catch (StorageFault e) {
            LOG.error("{} is offline: its log cannot be opened: {}", name, e.getMessage(), e);
            log = null;
        }
        return partition(topic, number, loop, log, mode, rules);
    }

    private static LocalPartition partition(
            TopicImage topic, int number, PartitionLoop loop, PartitionLog log, Mode mode, TopicRules rules) {
        return new LocalPartition(
                topic.name(),
                topic.id(),
                number,
                loop,
                log,
                mode,
                topic.mirror(),
                topic.leaderEpochs().get(number),
                rules);
    }

    /**
     * A mirror topic is writable again when its mirror is gone, or when the stop has ended for this partition: until then the durable
     * state is not STOPPED, and the stop sequence itself opens the partition when it is.
     */
    static Mode modeOf(TopicImage topic, int number, ClusterImage image) {
        if (topic.mirror() == null || !image.mirrors().containsKey(topic.mirror())) {
            return Mode.WRITABLE;
        }
        if (topic.mirrored()) {
            return Mode.MIRRORED;
        }
        PartitionState state =
                image.mirrorStates().get(new MirrorPartition(topic.mirror(), topic.name(), topic.id(), number));
        return state != null && state.phase() == Phase.STOPPED ? Mode.WRITABLE : Mode.MIRRORED;
    }

    /** Logs that the metadata does not know are kept, under another name: deleting is for topics that were deleted. */
    private void setAsideStrangers(ClusterImage image) {
        Set<LogName> known = new HashSet<>();
        for (TopicImage topic : image.topics().values()) {
            for (int i = 0; i < topic.partitions(); i++) {
                known.add(new LogName(topic.name(), i));
            }
        }
        for (PartitionLog log : List.copyOf(directory.logs())) {
            if (!known.contains(log.name()) && !log.offline()) {
                try {
                    setAside(log.name(), "is of no topic that the metadata knows");
                } catch (StorageFault e) {
                    LOG.error("the unknown log {} cannot be set aside: {}", log.name(), e.getMessage(), e);
                }
            }
        }
    }

    private void setAside(LogName name, String why) {
        LOG.warn("the log directory {} {}; it is renamed to *-stray and not used", name, why);
        directory.setAside(name);
    }

    private static CompletableFuture<Void> onLoop(LocalPartition partition, Runnable task) {
        return run(partition.owner(), task);
    }

    private static CompletableFuture<Void> run(PartitionLoop loop, Runnable task) {
        CompletableFuture<Void> done = new CompletableFuture<>();
        try {
            loop.execute(() -> {
                try {
                    task.run();
                    done.complete(null);
                } catch (RuntimeException | Error e) {
                    done.completeExceptionally(e);
                    throw e;
                }
            });
        } catch (RejectedExecutionException e) {
            done.completeExceptionally(e);
        }
        return done;
    }

    private static void await(List<CompletableFuture<Void>> work) {
        CompletableFuture.allOf(work.toArray(new CompletableFuture<?>[0])).join();
    }

    /**
     * Brings partitions and logs together again: one whose log failed while nobody used it goes offline, one whose log was opened anew comes
     * back, and one whose log is nowhere, now that all directories are there, gets an empty one. From the housekeeping thread.
     */
    public void reconcile() {
        boolean complete = directory.incomplete().isEmpty();
        for (LocalPartition each : tables.byName.values()) {
            PartitionLog found =
                    directory.get(new LogName(each.topic(), each.partition())).orElse(null);
            boolean lost = found == null && each.mode() == Mode.OFFLINE && complete;
            if (lost || each.outOfStep(found)) {
                try {
                    each.owner().execute(() -> bringTogether(each, lost));
                } catch (RejectedExecutionException e) {
                    LOG.debug("no look at {}: {}", each, e.getMessage());
                }
            }
        }
    }

    private void bringTogether(LocalPartition partition, boolean lost) {
        LogName name = new LogName(partition.topic(), partition.partition());
        if (tables.byName.get(name) != partition) {
            return;
        }
        TopicImage topic = image.topics().get(partition.topic());
        LogOptions options = logOptions.apply(topic == null ? Map.of() : topic.configs());
        PartitionLog found = directory.get(name).orElse(null);
        if (found == null && lost) {
            try {
                found = directory.create(name, toJava(partition.topicId()), options);
                LOG.warn("{} begins anew: its log is in none of the data directories", partition);
            } catch (StorageFault e) {
                LOG.warn("{} stays offline: {}", partition, e.getMessage());
            }
        }
        if (found != null && !found.offline() && !found.topicId().equals(toJava(partition.topicId()))) {
            try {
                setAside(name, "belongs to another topic id, " + fromJava(found.topicId()));
            } catch (StorageFault e) {
                LOG.error("{} stays offline: {}", partition, e.getMessage());
            }
            return;
        }
        partition.fallIn(found, options);
    }

    /** Asks every loop to roll what is due; from the housekeeping thread. */
    public void rollDue(long nowMs) {
        upkeep(log -> log.rollIfDue(nowMs));
    }

    /** Lets every partition forget producers that have been idle for too long. */
    public void expireProducers(long nowMs) {
        upkeep(log -> log.expireProducers(nowMs));
    }

    /** Lets every partition delete segments that are too old or too many. */
    public void retain(long nowMs) {
        for (LocalPartition each : tables.byName.values()) {
            onOwner(each, log -> log.retain(nowMs, each.cleanBound(mirroring(each))));
        }
    }

    /** Partitions whose logs can be compacted; which of them need it, they say themselves. */
    public List<Cleanable> cleanables() {
        List<Cleanable> all = new ArrayList<>();
        for (LocalPartition each : tables.byName.values()) {
            PartitionLog log = each.log();
            if (log != null && !log.offline() && each.mode() != Mode.OFFLINE) {
                all.add(new Cleanable(
                        each.toString(),
                        log,
                        () -> each.cleanBound(mirroring(each)),
                        each.owner(),
                        () -> onOwner(each, PartitionTable::requireOnline)));
            }
        }
        return all;
    }

    private static void requireOnline(PartitionLog log) {
        if (log.offline()) {
            throw new StorageFault("log " + log.name() + " failed while it was compacted", null);
        }
    }

    /** Whether the durable state says that the partition is aligned with its source and follows it. */
    private boolean mirroring(LocalPartition partition) {
        ClusterImage now = image;
        TopicImage topic = now == null ? null : now.topics().get(partition.topic());
        if (topic == null || topic.mirror() == null || !topic.mirrored()) {
            return false;
        }
        PartitionState state = now.mirrorStates()
                .get(new MirrorPartition(topic.mirror(), topic.name(), topic.id(), partition.partition()));
        return state != null && state.phase() == Phase.MIRRORING;
    }

    private void upkeep(Consumer<PartitionLog> work) {
        for (LocalPartition each : tables.byName.values()) {
            onOwner(each, work);
        }
    }

    private static void onOwner(LocalPartition each, Consumer<PartitionLog> work) {
        try {
            each.owner().execute(() -> each.upkeep(work));
        } catch (RejectedExecutionException e) {
            LOG.debug("no upkeep of {}: {}", each, e.getMessage());
        }
    }

    private static UUID toJava(Uuid id) {
        return new UUID(id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    private static Uuid fromJava(UUID id) {
        return new Uuid(id.getMostSignificantBits(), id.getLeastSignificantBits());
    }
}
