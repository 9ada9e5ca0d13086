package io.kagami.broker.api;

import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.coordinator.GroupCoordinator;
import io.kagami.broker.partition.Partitions;
import java.time.InstantSource;
import java.util.Map;
import org.apache.kafka.common.protocol.ApiKeys;

/** The group family, wired: who answers which api key. */
public final class GroupApis implements AutoCloseable {
    private final GroupCoordinator coordinator;
    private final Map<Short, Handler> handlers;

    private GroupApis(GroupCoordinator coordinator, Map<Short, Handler> handlers) {
        this.coordinator = coordinator;
        this.handlers = handlers;
    }

    /** Starts to load what is there. */
    public static GroupApis start(Cluster cluster, Partitions partitions, GroupOptions options, InstantSource clock) {
        GroupCoordinator coordinator = GroupCoordinator.start(
                cluster, partitions, options.topic(), options.limits(), options.expiryMs(), clock);
        GroupHandler groups = new GroupHandler(coordinator);
        CommitHandler commits = new CommitHandler(cluster, coordinator);
        FindCoordinatorHandler find = new FindCoordinatorHandler(cluster, coordinator, options.advertised());
        return new GroupApis(
                coordinator,
                Map.ofEntries(
                        Map.entry(ApiKeys.FIND_COORDINATOR.id, find),
                        Map.entry(ApiKeys.JOIN_GROUP.id, groups::join),
                        Map.entry(ApiKeys.SYNC_GROUP.id, groups::sync),
                        Map.entry(ApiKeys.HEARTBEAT.id, groups::heartbeat),
                        Map.entry(ApiKeys.LEAVE_GROUP.id, groups::leave),
                        Map.entry(ApiKeys.LIST_GROUPS.id, groups::list),
                        Map.entry(ApiKeys.DESCRIBE_GROUPS.id, groups::describe),
                        Map.entry(ApiKeys.DELETE_GROUPS.id, groups::delete),
                        Map.entry(ApiKeys.OFFSET_COMMIT.id, commits::commit),
                        Map.entry(ApiKeys.OFFSET_FETCH.id, commits::fetch),
                        Map.entry(ApiKeys.OFFSET_DELETE.id, commits::delete)));
    }

    /** For a broker that lives as long as the process: see {@link #start}. */
    public static Map<Short, Handler> handlers(
            Cluster cluster, Partitions partitions, GroupOptions options, InstantSource clock) {
        return start(cluster, partitions, options, clock).handlers();
    }

    public Map<Short, Handler> handlers() {
        return handlers;
    }

    /** Before the partitions close. */
    @Override
    public void close() {
        coordinator.close();
    }
}
