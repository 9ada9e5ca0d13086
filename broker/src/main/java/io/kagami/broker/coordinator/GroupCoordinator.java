package io.kagami.broker.coordinator;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.core.group.GroupLimits;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.Partitions;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shards of all partitions of {@code __consumer_offsets}: made when the topic is there, found by group id. Thread-safe, nothing
 * blocks. Closing it ends its timer thread; do so before the partitions close.
 */
public final class GroupCoordinator implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(GroupCoordinator.class);
    private static final long LOOK_FOR_PARTITIONS_MS = 250;

    private final Cluster cluster;
    private final Partitions partitions;
    private final OffsetsTopic topic;
    private final GroupLimits limits;
    private final InstantSource clock;
    private final CoordinatorTimerLoop timers = new CoordinatorTimerLoop();
    private final Map<Integer, ShardHost> hosts = new ConcurrentHashMap<>();
    private final AtomicReference<CompletableFuture<ClusterImage>> creating = new AtomicReference<>();

    private GroupCoordinator(
            Cluster cluster, Partitions partitions, OffsetsTopic topic, GroupLimits limits, InstantSource clock) {
        this.cluster = cluster;
        this.partitions = partitions;
        this.topic = topic;
        this.limits = limits;
        this.clock = clock;
    }

    /** @param expiryMs time between two looks for offsets and groups whose time is over */
    public static GroupCoordinator start(
            Cluster cluster,
            Partitions partitions,
            OffsetsTopic topic,
            GroupLimits limits,
            long expiryMs,
            InstantSource clock) {
        GroupCoordinator coordinator = new GroupCoordinator(cluster, partitions, topic, limits, clock);
        coordinator.timers.every(LOOK_FOR_PARTITIONS_MS, coordinator::openAll);
        coordinator.timers.every(expiryMs, () -> coordinator.hosts.values().forEach(ShardHost::expire));
        cluster.listen(coordinator::onImage);
        coordinator.openAll();
        return coordinator;
    }

    private void onImage(ClusterImage before, ClusterImage after) {
        if (before.topics() == after.topics()) {
            return;
        }
        for (TopicImage was : before.topics().values()) {
            if (after.topic(was.id()).isEmpty() && !after.topics().containsKey(was.name())) {
                hosts.values().forEach(host -> host.topicDeleted(was.name()));
            }
        }
    }

    /** Makes sure that the topic exists; completes when its metadata is there. */
    public CompletionStage<Void> ensureTopic() {
        if (cluster.image().topics().containsKey(OffsetsTopic.NAME)) {
            return CompletableFuture.completedFuture(null);
        }
        CompletableFuture<ClusterImage> mine = new CompletableFuture<>();
        CompletableFuture<ClusterImage> other = creating.compareAndExchange(null, mine);
        if (other != null) {
            return other.thenApply(image -> null);
        }
        LOG.atInfo().addKeyValue("partitions", topic.partitions()).log("Creating the topic " + OffsetsTopic.NAME);
        cluster.createTopic(
                        OffsetsTopic.NAME,
                        Uuid.ZERO_UUID,
                        Collections.nCopies(topic.partitions(), 0),
                        topic.configs(),
                        null,
                        Uuid.ZERO_UUID)
                .whenComplete((image, failure) -> {
                    creating.set(null);
                    if (failure == null || cluster.image().topics().containsKey(OffsetsTopic.NAME)) {
                        mine.complete(image);
                    } else {
                        LOG.atWarn()
                                .addKeyValue("reason", failure.toString())
                                .log("The topic " + OffsetsTopic.NAME + " could not be created");
                        mine.completeExceptionally(failure);
                    }
                });
        return mine.thenApply(image -> null);
    }

    /** Whether the shard of this group is on this broker. */
    public boolean hosts(String groupId) {
        return partitionFor(groupId).isPresent();
    }

    /** @throws ShardUnavailable when there is none, NOT_COORDINATOR or COORDINATOR_NOT_AVAILABLE */
    public ShardHost hostOf(String groupId) {
        return partitionFor(groupId)
                .map(this::host)
                .orElseThrow(() -> new ShardUnavailable(
                        Errors.COORDINATOR_NOT_AVAILABLE, OffsetsTopic.NAME + " is not there yet"));
    }

    /** The hosts of all partitions that are here. */
    public List<ShardHost> all() {
        List<ShardHost> list = new ArrayList<>();
        int count = count();
        for (int i = 0; i < count; i++) {
            partitions.get(OffsetsTopic.NAME, i).map(this::host).ifPresent(list::add);
        }
        return list;
    }

    private void openAll() {
        try {
            all();
        } catch (RuntimeException e) {
            // the periodic task must not end; requests meet the same trouble and show it to the client
            LOG.atWarn().setCause(e).log("Coordinator shards could not be opened");
        }
    }

    private Optional<Partition> partitionFor(String groupId) {
        int count = count();
        return count == 0
                ? Optional.empty()
                : partitions.get(OffsetsTopic.NAME, OffsetsTopic.partitionOf(groupId, count));
    }

    private int count() {
        TopicImage image = cluster.image().topics().get(OffsetsTopic.NAME);
        return image == null ? 0 : image.partitions();
    }

    /** A partition that was deleted and made again gets a new host. */
    private ShardHost host(Partition partition) {
        return hosts.compute(partition.partition(), (number, known) -> {
            if (known != null && known.partition().topicId().equals(partition.topicId())) {
                return known;
            }
            if (known != null) {
                known.close();
            }
            ShardHost fresh = new ShardHost(partition, limits, clock, timers);
            fresh.start();
            return fresh;
        });
    }

    @Override
    public void close() {
        timers.close();
        hosts.values().forEach(ShardHost::close);
    }
}
