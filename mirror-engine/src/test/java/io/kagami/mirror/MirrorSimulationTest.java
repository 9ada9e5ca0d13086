package io.kagami.mirror;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.mirror.SimSource.Log;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.core.RetryPolicy;
import io.kagami.mirror.ports.LocalCluster.LocalTopic;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * A whole mirror against a scripted source, in one thread and with a clock that jumps: leaders move, epochs rise, logs are trimmed,
 * connections break, answers come late, the mirror crashes. Replay one with {@code -Dseed=N}; {@code -Dseeds=N} runs more.
 */
class MirrorSimulationTest {
    private static final EngineOptions OPTIONS =
            new EngineOptions(2000, 2, RetryPolicy.DEFAULT, 4 * 1024 * 1024, 128 * 1024 * 1024);

    private static final class World {
        final Sim sim;
        final SimSource source;
        final SimBroker broker;
        final FlightBudget budget = new FlightBudget(OPTIONS.inFlightBytesMax());
        Sim.SimTurns turns;
        SimClient client;
        Mirror mirror;
        final Map<MirrorPartition, Long> ends = new HashMap<>();

        World(long seed) {
            sim = new Sim(seed);
            source = new SimSource(sim, 3);
            broker = new SimBroker(sim, source);
        }

        void startMirror() {
            turns = sim.new SimTurns();
            client = new SimClient(sim, source);
            MirrorConfig config = MirrorConfig.parse(Map.of(
                    "bootstrap.servers", "host1:9092",
                    "topics.include", "t.*",
                    "fetch.max.bytes", "1024",
                    "fetch.response.max.bytes", "4096"));
            MirrorContext context = new MirrorContext(
                    "m",
                    config,
                    OPTIONS,
                    turns,
                    broker,
                    broker,
                    broker,
                    budget,
                    new MirrorMeters(new SimpleMeterRegistry(), "m", turns));
            Mirror made = new Mirror(context, client, broker.pinned);
            mirror = made;
            Sim.SimTurns own = turns;
            broker.onChange = () -> own.post(made::reconcile);
            turns.post(made::begin);
        }

        void crash() {
            turns.crash();
            client.close();
            if (sim.chance(0.5)) {
                broker.loseTails();
            }
            ends.clear();
            startMirror();
        }

        void check() {
            broker.logs.forEach((id, log) -> {
                // an empty log may be put where its first batch begins, below the source's log start
                long before = log.start == log.end ? 0 : ends.getOrDefault(id, 0L);
                broker.require(log.end >= before, "the end of " + id + " fell from " + before + " to " + log.end);
                ends.put(id, log.end);
            });
        }

        void run(long ms) {
            sim.run(ms, this::check);
        }

        CompletableFuture<List<TopicResult>> command(Desired to, String... words) {
            CompletableFuture<List<TopicResult>> answer = new CompletableFuture<>();
            MirrorCommands commands = mirror.commands();
            turns.post(() -> {
                switch (to) {
                    case MIRRORING -> commands.resume(List.of(words), List.of(), answer);
                    case PAUSED -> commands.pause(List.of(words), List.of(), answer);
                    case STOPPED -> commands.stop(List.of(words), List.of(), answer);
                }
            });
            return answer;
        }

        CompletableFuture<List<TopicResult>> start(String... words) {
            CompletableFuture<List<TopicResult>> answer = new CompletableFuture<>();
            MirrorCommands commands = mirror.commands();
            turns.post(() -> commands.start(List.of(words), List.of(), answer));
            return answer;
        }

        void trouble() {
            Log log = source.randomLog();
            switch (sim.random.nextInt(14)) {
                case 0, 1, 2, 3, 4, 5 -> {
                    for (int i = sim.random.nextInt(12); i >= 0; i--) {
                        source.produce(log);
                    }
                }
                case 6 -> source.elect(log);
                case 7 -> client.disconnect(1 + sim.random.nextInt(3));
                case 8 -> {
                    int node = 1 + sim.random.nextInt(3);
                    if (!source.down.remove(node)) {
                        source.down.add(node);
                        client.disconnect(node);
                    }
                }
                case 9 -> log.start += log.end == log.start ? 0 : sim.random.nextInt((int) (log.end - log.start) + 1);
                case 10 -> crash();
                case 11 -> command(Desired.PAUSED, "t0");
                case 12 -> command(Desired.MIRRORING, "t0");
                default -> {
                    if (source.topics.size() < 4) {
                        source.create("t" + source.topics.size(), 1 + sim.random.nextInt(3));
                    } else if (sim.chance(0.2)) {
                        source.addPartition(source.topics.get("t1"));
                    }
                }
            }
        }

        void heal() {
            source.down.clear();
            source.old = null;
            source.topics
                    .values()
                    .forEach(topic -> topic.partitions.forEach(log -> {
                        if (source.down.contains(log.leader)) {
                            source.elect(log);
                        }
                    }));
        }

        void assertEqual(String... except) {
            for (Map.Entry<String, SimSource.SimTopic> e : source.topics.entrySet()) {
                if (List.of(except).contains(e.getKey())) {
                    continue;
                }
                for (int p = 0; p < e.getValue().partitions.size(); p++) {
                    Log there = e.getValue().partitions.get(p);
                    MirrorPartition id = new MirrorPartition("m", e.getKey(), e.getValue().id, p);
                    String what = id + ", state " + broker.states.get(id) + ", seed " + sim.seed;
                    assertThat(broker.states.get(id)).as(what).isNotNull();
                    assertThat(broker.states.get(id).phase()).as(what).isEqualTo(Phase.MIRRORING);
                    assertThat(broker.logs.get(id).end)
                            .as("end of " + what)
                            .isEqualTo(endOf(there, broker.logs.get(id)));
                    assertThat(broker.logs.get(id).start)
                            .as("start of " + what)
                            .isEqualTo(Math.min(there.start, broker.logs.get(id).end));
                }
            }
        }

        /** A hole at the very end of the source is not visible in its batches. */
        private static long endOf(Log there, SimBroker.SimLog here) {
            return there.history.isEmpty() || there.start >= there.end
                    ? here.end
                    : Math.max(there.start, there.history.lastEntry().getValue().next());
        }
    }

    private static List<Long> seeds(int standard) {
        String one = System.getProperty("seed");
        if (one != null) {
            return List.of(Long.parseLong(one));
        }
        long first = System.nanoTime();
        List<Long> seeds = new ArrayList<>();
        for (int i = 0; i < Integer.getInteger("seeds", standard); i++) {
            seeds.add(first + i);
        }
        System.out.println(
                "simulation seeds " + first + " to " + (first + seeds.size() - 1) + "; replay with -Dseed=N");
        return seeds;
    }

    @Test
    void theMirrorEndsEqualToTheSourceWhateverHappensOnTheWay() {
        int appends = 0;
        for (long seed : seeds(150)) {
            World world = new World(seed);
            try {
                world.source.fetchVersion = List.of(10, 12, 17).get(world.sim.random.nextInt(3));
                world.source.create("t0", 2);
                world.source.create("t1", 1);
                world.startMirror();
                for (int i = 0; i < 60; i++) {
                    world.run(world.sim.random.nextInt(400));
                    world.trouble();
                }
                world.heal();
                world.run(1000);
                world.command(Desired.MIRRORING, "t0");
                world.run(60_000);
                world.assertEqual();
            } catch (RuntimeException | AssertionError e) {
                throw new AssertionError("seed " + seed + ": " + e.getMessage(), e);
            }
            appends += world.broker.appends;
        }
        assertThat(appends).isPositive();
    }

    @Test
    void everyAnswerIsClosedAndTheBudgetComesBackWhenTheMirrorCloses() {
        for (long seed : seeds(20)) {
            World world = new World(seed);
            world.source.create("t0", 3);
            world.startMirror();
            for (int i = 0; i < 30; i++) {
                world.run(200);
                world.source.produce(world.source.randomLog());
            }
            world.turns.post(world.mirror::close);
            world.run(10_000);
            assertThat(world.client.open).as("open answers, seed " + seed).isEmpty();
            assertThat(world.budget.used()).as("bytes in flight, seed " + seed).isZero();
        }
    }

    @Test
    void aStopEndsFromAnyPointWithTheSourceDeadAndNothingIsAppendedAfterIt() {
        for (long seed : seeds(60)) {
            World world = new World(seed);
            world.source.create("t0", 2);
            world.startMirror();
            for (int i = 0; i < world.sim.random.nextInt(20); i++) {
                world.run(world.sim.random.nextInt(200));
                world.source.produce(world.source.randomLog());
            }
            world.run(world.sim.random.nextInt(1500));
            if (world.broker.topics.isEmpty()) {
                continue; // not discovered yet
            }
            CompletableFuture<List<TopicResult>> stopped = world.command(Desired.STOPPED, "t0");
            world.run(world.sim.random.nextInt(30));
            for (int node = 1; node <= 3; node++) {
                world.source.down.add(node);
                world.client.disconnect(node);
            }
            if (world.sim.chance(0.5)) {
                world.crash();
                world.run(20_000);
                stopped = world.command(Desired.STOPPED, "t0"); // a repeat is a success
            }
            world.run(20_000);
            assertThat(stopped).as("seed " + seed).isCompleted();
            assertThat(stopped.join()).allMatch(result -> result.errorCode() == 0);
            world.broker.logs.forEach((id, log) -> {
                assertThat(world.broker.states.get(id).phase())
                        .as("seed " + seed)
                        .isEqualTo(Phase.STOPPED);
                assertThat(log.writable).as("seed " + seed).isTrue();
                log.batches.values().forEach(b -> assertThat(log.leaderEpoch).isGreaterThan(b.epoch()));
            });
        }
    }

    @Test
    void aStoppedTopicIsLeftAloneUntilItIsStartedByName() {
        World world = new World(42);
        world.source.create("t0", 1);
        world.startMirror();
        world.run(5000);
        world.command(Desired.STOPPED, "t0");
        world.run(10_000);
        world.source.produce(world.source.randomLog());
        world.start("all");
        world.run(10_000);
        LocalTopic topic = world.broker.topics.get("t0");
        assertThat(topic.desired()).isEqualTo(Desired.STOPPED);
        CompletableFuture<List<TopicResult>> started = world.start("t0");
        world.run(10_000);
        assertThat(started.join()).allMatch(result -> result.errorCode() == 0);
        world.assertEqual();
    }

    @Test
    void anotherClusterAtTheSameAddressFailsEveryPartitionAndNothingOfItIsAppended() {
        World world = new World(7);
        world.source.create("t0", 2);
        world.startMirror();
        world.run(5000);
        world.source.produce(world.source.randomLog());
        world.run(5000);
        world.source.clusterId = "another-cluster";
        for (int node = 1; node <= 3; node++) {
            world.client.disconnect(node);
        }
        world.source.produce(world.source.randomLog());
        world.run(10_000);
        world.broker.states.values().forEach(state -> {
            assertThat(state.phase()).isEqualTo(Phase.FAILED);
            assertThat(state.retryAttempt()).isEqualTo(-1);
            assertThat(state.errorMessage()).contains("another-cluster").contains(SimSource.CLUSTER_ID);
        });
    }

    @Test
    void aMirrorOfTheClusterItselfIsRefusedAndTakesNoTopic() {
        World world = new World(9);
        world.source.create("t0", 1);
        world.source.clusterId = world.broker.clusterId();
        world.startMirror();
        CompletableFuture<List<TopicResult>> started = world.start("t0");
        world.run(10_000);
        assertThat(started).isCompletedExceptionally();
        assertThatThrownBy(started::join).hasMessageContaining("this very cluster");
        assertThat(world.broker.topic("t0")).isEmpty();
    }

    @Test
    void aTopicCreatedAnewAtTheSourceIsNeverAppendedToTheOldLog() {
        World world = new World(8);
        world.source.create("t0", 1);
        world.startMirror();
        world.source.produce(world.source.randomLog());
        world.run(5000);
        world.source.topics.clear();
        world.source.create("t0", 1);
        world.source.produce(world.source.randomLog());
        world.run(20_000);
        assertThat(world.broker.states).hasSize(1);
        world.broker.states.values().forEach(state -> {
            assertThat(state.phase()).isEqualTo(Phase.FAILED);
            assertThat(state.errorMessage()).contains("created anew");
        });
    }

    @Test
    void aTopicDeletedAtTheSourceFailsForGoodAfterTwoLooksAndKeepsItsRecords() {
        World world = new World(9);
        world.source.create("t0", 1);
        world.source.create("t1", 1);
        world.startMirror();
        world.source.produce(world.source.topics.get("t0").partitions.get(0));
        world.run(5000);
        world.source.topics.remove("t0");
        world.run(20_000);
        world.broker.states.forEach((id, state) -> {
            if (id.topic().equals("t0")) {
                assertThat(state.phase()).isEqualTo(Phase.FAILED);
                assertThat(state.retryAttempt()).isEqualTo(-1);
                assertThat(world.broker.logs.get(id).end).isPositive();
            } else {
                assertThat(state.phase()).isEqualTo(Phase.MIRRORING);
            }
        });
    }

    @Test
    void kafka7897_kafka7959_anUncleanElectionAtTheSourceFailsThePartitionAndCutsNothing() {
        World world = new World(10);
        world.source.create("t0", 1);
        world.startMirror();
        Log log = world.source.topics.get("t0").partitions.get(0);
        for (int i = 0; i < 10; i++) {
            world.source.produce(log);
        }
        world.run(5000);
        long end = log.end;
        // the new leader has only the first half
        long cut = log.history.floorKey(end / 2);
        log.history.tailMap(cut, true).clear();
        log.end = cut;
        world.source.elect(log);
        world.source.produce(log);
        world.run(10_000);
        world.broker.states.values().forEach(state -> {
            assertThat(state.phase()).isEqualTo(Phase.FAILED);
            assertThat(state.retryAttempt()).isEqualTo(-1);
            assertThat(state.errorMessage()).contains("diverge").contains("[" + cut + ", " + end + ")");
        });
        world.broker.logs.values().forEach(here -> assertThat(here.end).isEqualTo(end));
    }

    @Test
    void kafka8722_kafka4384_kafka765_aDamagedBatchIsNotAppendedAndFailsItsPartitionAlone() {
        World world = new World(11);
        world.source.create("t0", 2);
        world.startMirror();
        List<Log> logs = world.source.topics.get("t0").partitions;
        for (Log log : logs) {
            for (int i = 0; i < 10; i++) {
                world.source.produce(log);
            }
        }
        world.run(5000);
        long before = logs.get(0).end;
        logs.forEach(world.source::produce);
        long damaged = logs.get(0).history.lastKey();
        byte[] bytes = logs.get(0).history.get(damaged).bytes();
        bytes[bytes.length - 1] ^= 1;
        for (int i = 0; i < 10; i++) {
            logs.forEach(world.source::produce);
        }
        world.run(60_000);
        world.broker.states.forEach((id, state) -> assertThat(state.phase() == Phase.MIRRORING)
                .as("%s is %s", id, state)
                .isEqualTo(id.partition() == 1));
        world.broker.logs.forEach((id, here) -> assertThat(here.end)
                .as("%s", id)
                .isBetween(
                        id.partition() == 1 ? logs.get(1).end : before,
                        id.partition() == 1 ? logs.get(1).end : damaged));
    }
}
