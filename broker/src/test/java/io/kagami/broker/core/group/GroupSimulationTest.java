package io.kagami.broker.core.group;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.apache.kafka.common.message.DeleteGroupsResponseData.DeletableGroupResult;
import org.apache.kafka.common.message.JoinGroupRequestData;
import org.apache.kafka.common.message.JoinGroupResponseData;
import org.apache.kafka.common.message.SyncGroupResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Clients without manners against a shard, with a clock of their own. {@code -Dseed=} replays one run. */
class GroupSimulationTest {
    private static final int STEPS = 400;
    private static final int RUNS = 150;
    private static final String[] GROUPS = {"a", "b"};

    private final ShardDriver driver = new ShardDriver();
    private final List<String> ids = new ArrayList<>(List.of("", "ghost"));
    private final Set<Long> read = new HashSet<>();
    private boolean refusedBefore;

    static LongStream seeds() {
        Long fixed = Long.getLong("seed");
        return fixed != null ? LongStream.of(fixed) : new Random().longs(RUNS);
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("seeds")
    void theLogSaysWhatTheShardKnowsAndEveryRequestIsAnsweredOnce(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < STEPS; i++) {
            step(random);
            learn();
            checkLog(seed);
            checkTokens(seed);
        }
        driver.refuseAppends = Errors.NONE;
        silenceEndsEveryGroup(seed);
    }

    @ParameterizedTest(name = "seed {0}")
    @MethodSource("seeds")
    void goodClientsReachStabilityWhateverHappenedBefore(long seed) {
        Random random = new Random(seed);
        for (int i = 0; i < STEPS / 4; i++) {
            step(random);
            learn();
        }
        driver.refuseAppends = Errors.NONE;
        List<GoodClient> clients = List.of(new GoodClient(), new GoodClient(), new GoodClient());
        for (int i = 0; i < 800; i++) {
            clients.forEach(GoodClient::act);
            driver.advance(1_000);
        }
        assertThat(driver.phase("a")).as("seed %d", seed).isEqualTo(GroupPhase.STABLE);
        assertThat(driver.shard.group("a").members())
                .as("seed %d", seed)
                .extracting(Member::id)
                .containsExactlyInAnyOrderElementsOf(
                        clients.stream().map(c -> c.id).toList());
    }

    @Test
    void theChecksOfThisTestSeeALostAnswer() {
        String id = driver.newId("a");
        driver.sendJoin(ShardDriver.join("a", id), 9);
        driver.shard.group("a").member(id).joinToken = Member.NO_TOKEN;
        assertThat(parked()).isNotEqualTo(driver.open);
    }

    private void step(Random random) {
        String group = GROUPS[random.nextInt(GROUPS.length)];
        String id = ids.get(random.nextInt(ids.size()));
        int generation = random.nextInt(4) == 0 ? random.nextInt(5) - 1 : currentGeneration(group);
        switch (random.nextInt(14)) {
            case 0, 1, 2 -> driver.sendJoin(randomJoin(random, group, id), random.nextInt(10));
            case 3 ->
                driver.sendJoin(
                        randomJoin(random, group, random.nextBoolean() ? "" : id)
                                .setGroupInstanceId("i" + random.nextInt(2)),
                        5 + random.nextInt(5));
            case 4, 5, 6 -> driver.sendSync(group, id, generation, ids.toArray(String[]::new));
            case 7 -> driver.heartbeat(group, id, generation);
            case 8 -> driver.leave(group, id, random.nextInt(4) == 0 ? "i0" : null);
            case 9 ->
                driver.askCommit(
                        ShardDriver.commit(group, random.nextInt(3) == 0 ? "" : id, generation, random.nextInt(99)), 9);
            case 10, 11 -> driver.advance(random.nextInt(random.nextInt(5) == 0 ? 70_000 : 4_000));
            case 12 -> rareEvents(random, group);
            case 13 -> {
                boolean refuse = random.nextInt(6) == 0;
                refusedBefore |= refuse;
                driver.refuseAppends = refuse ? Errors.KAFKA_STORAGE_ERROR : Errors.NONE;
            }
            default -> throw new AssertionError();
        }
    }

    private void rareEvents(Random random, String group) {
        switch (random.nextInt(6)) {
            case 0 -> driver.restart();
            case 1 -> driver.ask(DeletableGroupResult.class, (s, token, now) -> s.onDeleteGroup(token, group, now));
            case 2 -> driver.carryOut(driver.shard.onTopicDeleted("t", driver.nowMs));
            case 3 -> driver.advance(24L * 3_600_000 * random.nextInt(9));
            default -> driver.carryOut(driver.shard.onExpiry(group, driver.nowMs));
        }
    }

    private static JoinGroupRequestData randomJoin(Random random, String group, String id) {
        String[] protocols = {"range", "sticky", "roundrobin"};
        int from = random.nextInt(3);
        int to = from + 1 + random.nextInt(3 - from);
        return ShardDriver.join(group, id, Arrays.copyOfRange(protocols, random.nextInt(3) == 0 ? from : 0, to))
                .setRebalanceTimeoutMs(random.nextInt(3) == 0 ? 0 : 5_000 * random.nextInt(10));
    }

    private int currentGeneration(String groupId) {
        ClassicGroup group = driver.shard.group(groupId);
        return group == null ? -1 : group.generation();
    }

    /** Ids in answers become known to the clients; the oldest are forgotten. */
    private void learn() {
        for (Map.Entry<Long, Object> reply : driver.replies.entrySet()) {
            if (read.add(reply.getKey())
                    && reply.getValue() instanceof JoinGroupResponseData join
                    && !join.memberId().isEmpty()
                    && !ids.contains(join.memberId())) {
                ids.add(join.memberId());
            }
        }
        while (ids.size() > 9) {
            ids.remove(2);
        }
    }

    private void checkLog(long seed) {
        GroupShard again = driver.replayed();
        assertThat(ShardDriver.durable(again))
                .as("seed %d: offsets", seed)
                .isEqualTo(ShardDriver.durable(driver.shard));
        for (String groupId : GROUPS) {
            ClassicGroup live = driver.shard.group(groupId);
            GroupPhase phase = live == null ? GroupPhase.EMPTY : live.phase();
            if (phase == GroupPhase.STABLE || (phase == GroupPhase.EMPTY && !refusedBefore)) {
                assertThat(ShardDriver.resting(again.group(groupId)))
                        .as("seed %d: group %s", seed, groupId)
                        .isEqualTo(ShardDriver.resting(live));
            }
        }
    }

    private Set<Long> parked() {
        Set<Long> parked = new HashSet<>();
        for (String groupId : driver.shard.groupIds()) {
            for (Member member : driver.shard.group(groupId).members()) {
                for (long token : new long[] {member.joinToken, member.syncToken}) {
                    if (token != Member.NO_TOKEN) {
                        assertThat(parked.add(token)).isTrue();
                    }
                }
            }
        }
        return parked;
    }

    private void checkTokens(long seed) {
        assertThat(parked()).as("seed %d: requests without an answer", seed).isEqualTo(driver.open);
    }

    private void silenceEndsEveryGroup(long seed) {
        driver.advance(3 * 3_600_000);
        assertThat(driver.open).as("seed %d", seed).isEmpty();
        assertThat(driver.shard.timers()).as("seed %d", seed).isZero();
        for (String groupId : driver.shard.groupIds()) {
            assertThat(driver.phase(groupId)).as("seed %d", seed).isEqualTo(GroupPhase.EMPTY);
        }
    }

    /** Does what a consumer does: join, sync, heartbeat, join again when told to. */
    private final class GoodClient {
        String id = "";
        private int generation = -1;
        private long joining;
        private long syncing;

        void act() {
            if (joining != 0) {
                if (driver.replies.get(joining) instanceof JoinGroupResponseData reply) {
                    joining = 0;
                    onJoined(reply);
                }
            } else if (syncing != 0) {
                if (driver.replies.get(syncing) instanceof SyncGroupResponseData reply) {
                    syncing = 0;
                    if (reply.errorCode() != 0) {
                        lost(Errors.forCode(reply.errorCode()));
                    }
                }
            } else if (generation < 0) {
                joining = driver.sendJoin(ShardDriver.join("a", id), 9);
            } else {
                Errors error = driver.heartbeat("a", id, generation);
                if (error != Errors.NONE) {
                    lost(error);
                }
            }
        }

        private void onJoined(JoinGroupResponseData reply) {
            Errors error = Errors.forCode(reply.errorCode());
            if (error == Errors.NONE || error == Errors.MEMBER_ID_REQUIRED) {
                id = reply.memberId();
            }
            if (error == Errors.UNKNOWN_MEMBER_ID) {
                lost(error);
            }
            if (error == Errors.NONE) {
                generation = reply.generationId();
                syncing = driver.send((shard, token, now) -> shard.onSync(
                        token,
                        new org.apache.kafka.common.message.SyncGroupRequestData()
                                .setGroupId("a")
                                .setMemberId(id)
                                .setGenerationId(generation),
                        now));
            }
        }

        private void lost(Errors error) {
            generation = -1;
            if (error == Errors.UNKNOWN_MEMBER_ID) {
                id = "";
            }
        }
    }
}
