package io.kagami.broker.mirror;

import io.kagami.broker.api.Handler;
import io.kagami.broker.api.MirrorHandler;
import io.kagami.broker.cluster.Cluster;
import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.partition.Partitions;
import io.kagami.mirror.EngineOptions;
import io.kagami.mirror.RunningMirrors;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.InstantSource;
import java.util.Map;
import java.util.function.BiFunction;

/** The mirror engine in this broker: its ports, its handler, and the ear at the metadata that tells it what changed. */
public final class BrokerMirrors implements AutoCloseable {
    private final Cluster cluster;
    private final RunningMirrors engine;
    private volatile boolean closed;

    private BrokerMirrors(Cluster cluster, RunningMirrors engine) {
        this.cluster = cluster;
        this.engine = engine;
    }

    /** As the other, accepting every topic override that the metadata accepts. */
    public static BrokerMirrors start(
            Cluster cluster,
            Partitions partitions,
            EngineOptions options,
            InstantSource clock,
            MeterRegistry registry) {
        return start(cluster, partitions, options, clock, registry, (key, value) -> null);
    }

    /**
     * Partitions must follow the cluster already: the engine is told of a topic after they are.
     *
     * @param configProblem of a topic key and value: null, or why a topic here can't have it
     */
    public static BrokerMirrors start(
            Cluster cluster,
            Partitions partitions,
            EngineOptions options,
            InstantSource clock,
            MeterRegistry registry,
            BiFunction<String, String, String> configProblem) {
        RunningMirrors engine = new RunningMirrors(
                new LocalBroker(cluster, partitions),
                new ClusterMetadataPort(cluster, configProblem),
                new ClusterJournal(cluster),
                options,
                clock,
                registry);
        BrokerMirrors mirrors = new BrokerMirrors(cluster, engine);
        cluster.listen(mirrors::onChange);
        return mirrors;
    }

    private void onChange(ClusterImage before, ClusterImage after) {
        boolean relevant = before.mirrors() != after.mirrors() || before.topics() != after.topics();
        if (relevant && !closed) {
            engine.apply(after.mirrors().values());
        }
    }

    /** Of the private mirror RPCs, by api key. */
    public Map<Short, Handler> handlers() {
        return new MirrorHandler(cluster, engine).handlers();
    }

    /** Ends fetching; what is on its way into the logs still gets there. */
    @Override
    public void close() {
        closed = true;
        engine.close();
    }
}
