package io.kagami.it.bench;

import io.kagami.cli.demo.ForkedKafka;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitionReassignment;
import org.apache.kafka.common.TopicPartition;

/** How fast a filled topic arrives: Kagami, MirrorMaker 2 with its destination broker, and a second broker that becomes a replica. */
record CatchUpRow(String codec, int partitions) implements Row {
    private static final int FOLLOWER_NODE = 2;
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final Duration SOON = Duration.ofMinutes(1);
    private static final Duration LOOK = Duration.ofMillis(20);

    @Override
    public String name() {
        return "catchup-" + codec + "-" + partitions;
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.MM2, Systems.FOLLOWER);
    }

    @Override
    public boolean ofTargets() {
        return codec.equals("none") || (codec.equals("zstd") && partitions == 6);
    }

    @Override
    public List<String> traits() {
        return List.of(codec, Integer.toString(partitions));
    }

    /** No target compares a follower on compressed data. */
    @Override
    public int runs(String system, int wanted) {
        return ofTargets() && !(system.equals(Systems.FOLLOWER) && !codec.equals("none")) ? wanted : 1;
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        String topic = lab.filled(codec, partitions);
        Machine.settle();
        return switch (system) {
            case Systems.KAGAMI -> kagami(topic, run, lab);
            case Systems.MM2 -> mirrorMaker(topic, lab);
            default -> follower(topic, lab);
        };
    }

    private Map<String, Double> kagami(String topic, int run, Lab lab) throws Exception {
        try (KagamiServer server = KagamiServer.start(lab.dir("kagami"), lab.options(), name() + "-" + run);
                RawClient client = new RawClient(server.port())) {
            long asked = System.nanoTime();
            server.mirror(lab.sourceBootstrap(), topic);
            return Copying.measure(
                    () -> client.count(topic, partitions),
                    whole(topic, lab.options().records(), lab),
                    asked,
                    List.of(server.pid()),
                    sourcePid(lab),
                    box(lab),
                    PATIENCE);
        }
    }

    private Map<String, Double> mirrorMaker(String topic, Lab lab) throws Exception {
        lab.source();
        try (ForkedKafka destination = lab.destination();
                RawClient client = new RawClient(destination.port(1))) {
            long asked = System.nanoTime();
            try (MirrorMaker mm2 = MirrorMaker.start(
                    lab.dir("mm2"), lab.sourceBootstrap(), destination.bootstrap(), topic, codec, true)) {
                return Copying.measure(
                        () -> {
                            mm2.requireAlive();
                            return client.count(topic, partitions);
                        },
                        whole(topic, lab.options().records(), lab),
                        asked,
                        List.of(mm2.pid(), destination.process(1).pid()),
                        sourcePid(lab),
                        box(lab),
                        PATIENCE);
            }
        } finally {
            Directories.remove(lab.dir("destination"));
        }
    }

    private Map<String, Double> follower(String topic, Lab lab) throws Exception {
        ForkedKafka source = lab.source();
        source.resume(FOLLOWER_NODE);
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", lab.sourceBootstrap()))) {
            long bytes = Directories.logBytes(source.dataOf(1), topic, partitions);
            Wait.until("the follower is in the cluster", SOON, LOOK, () -> nodes(admin) == FOLLOWER_NODE);
            // a run that was interrupted may have left a copy
            leave(admin, topic, source.dataOf(FOLLOWER_NODE));
            Machine.settle();
            long asked = System.nanoTime();
            assign(admin, topic, List.of(1, FOLLOWER_NODE));
            Map<String, Double> figures = Copying.measure(
                    () -> Directories.logBytes(source.dataOf(FOLLOWER_NODE), topic, partitions),
                    whole(topic, bytes, lab),
                    asked,
                    List.of(source.process(FOLLOWER_NODE).pid()),
                    sourcePid(lab),
                    box(lab),
                    PATIENCE);
            leave(admin, topic, source.dataOf(FOLLOWER_NODE));
            return figures;
        } finally {
            source.stop(FOLLOWER_NODE);
        }
    }

    /** Takes the follower's copy away: not before it is whole, for the controller would finish the joining after the leaving. */
    private void leave(Admin admin, String topic, Path data) throws Exception {
        Wait.until("the follower has joined", PATIENCE, LOOK, () -> reassignments(admin) == 0);
        assign(admin, topic, List.of(1));
        Wait.until(
                "the follower has removed its copy",
                SOON,
                LOOK,
                () -> reassignments(admin) == 0 && Directories.beginning(data, topic + "-") == 0);
    }

    private Copying.Whole whole(String topic, long total, Lab lab) throws Exception {
        return new Copying.Whole(
                total,
                lab.options().records(),
                lab.options().recordBytes(),
                Directories.logBytes(lab.source().dataOf(1), topic, partitions));
    }

    private static Duration box(Lab lab) {
        return Duration.ofSeconds(lab.options().boxSeconds());
    }

    private static long sourcePid(Lab lab) throws Exception {
        return lab.source().process(1).pid();
    }

    private void assign(Admin admin, String topic, List<Integer> replicas) throws Exception {
        Map<TopicPartition, Optional<NewPartitionReassignment>> wanted = new HashMap<>();
        for (int p = 0; p < partitions; p++) {
            wanted.put(new TopicPartition(topic, p), Optional.of(new NewPartitionReassignment(replicas)));
        }
        admin.alterPartitionReassignments(wanted).all().get();
    }

    private static int reassignments(Admin admin) {
        return await(admin.listPartitionReassignments().reassignments()).size();
    }

    private static int nodes(Admin admin) {
        return await(admin.describeCluster().nodes()).size();
    }

    private static <T> T await(org.apache.kafka.common.KafkaFuture<T> future) {
        try {
            return future.get();
        } catch (ExecutionException e) {
            throw new IllegalStateException("the source does not answer", e.getCause());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }
}
