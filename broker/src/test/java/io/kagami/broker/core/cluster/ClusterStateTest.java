package io.kagami.broker.core.cluster;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.protocol.MirrorError;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;

class ClusterStateTest {
    private static final Uuid A = new Uuid(1, 1);
    private static final Uuid B = new Uuid(2, 2);
    private static final Uuid NONE = Uuid.ZERO_UUID;

    private ClusterState state = ClusterState.EMPTY;

    private static ClusterRecord topic(String name, Uuid id, String mirror, Uuid source) {
        return new ClusterRecord.TopicCreated(name, id, List.of(3, 4), Map.of(), mirror, source);
    }

    private void apply(ClusterRecord... records) {
        for (ClusterRecord record : records) {
            ClusterState.Applied applied = state.apply(state.index() + 1, record);
            assertThat(applied.refusal()).as("%s", record).isEmpty();
            state = applied.state();
        }
    }

    private void refused(short code, ClusterRecord record) {
        ClusterState.Applied applied = state.apply(state.index() + 1, record);
        assertThat(applied.refusal().map(Refusal::errorCode)).as("%s", record).contains(code);
        assertThat(applied.state().topics()).isEqualTo(state.topics());
        assertThat(applied.state().mirrors()).isEqualTo(state.mirrors());
        assertThat(applied.state().mirrorStates()).isEqualTo(state.mirrorStates());
        assertThat(applied.state().nextProducerId()).isEqualTo(state.nextProducerId());
    }

    private static PartitionState in(Phase phase) {
        return new PartitionState(phase, 0, null, 0, null);
    }

    @Test
    void topicNamesFollowKafkasRules() {
        apply(topic("a.b", A, null, NONE));
        for (String bad : Arrays.asList("", ".", "..", "a b", "ü", "x/y", "x".repeat(250))) {
            refused(Errors.INVALID_TOPIC_EXCEPTION.code(), topic(bad, B, null, NONE));
        }
        refused(Errors.TOPIC_ALREADY_EXISTS.code(), topic("a.b", B, null, NONE));
        refused(Errors.INVALID_TOPIC_EXCEPTION.code(), topic("a_b", B, null, NONE));
        refused(Errors.INCONSISTENT_TOPIC_ID.code(), topic("c", A, null, NONE));
        refused(Errors.INCONSISTENT_TOPIC_ID.code(), topic("c", NONE, null, NONE));
        refused(
                Errors.INVALID_PARTITIONS.code(),
                new ClusterRecord.TopicCreated("c", B, List.of(), Map.of(), null, NONE));
        apply(topic("x".repeat(249), B, null, NONE), new ClusterRecord.TopicDeleted(A));
        apply(topic("a_b", A, null, NONE));
    }

    @Test
    void aTopicCanBeAdoptedOnlyWhenItIsKnownToBeTheSourcesTopic() {
        apply(
                new ClusterRecord.MirrorCreated("m", Map.of()),
                new ClusterRecord.MirrorCreated("n", Map.of()),
                topic("t", A, null, NONE));
        refused(Errors.INCONSISTENT_TOPIC_ID.code(), new ClusterRecord.TopicAdopted(A, "m", B));
        refused(Errors.INCONSISTENT_TOPIC_ID.code(), new ClusterRecord.TopicAdopted(A, "m", NONE));
        refused(MirrorError.UNKNOWN_CLUSTER_MIRROR.code(), new ClusterRecord.TopicAdopted(A, "x", A));
        apply(new ClusterRecord.TopicAdopted(A, "m", A));
        assertThat(state.topics().get("t").mirrored()).isTrue();
        refused(MirrorError.TOPIC_ALREADY_IN_CLUSTER_MIRROR.code(), new ClusterRecord.TopicAdopted(A, "n", A));
        MirrorPartition partition = new MirrorPartition("m", "t", A, 0);
        apply(
                new ClusterRecord.MirrorStatePut(partition, in(Phase.STOPPED), 0),
                new ClusterRecord.DesiredSet("m", List.of("t"), Desired.STOPPED),
                new ClusterRecord.TopicAdopted(A, "n", A));
        assertThat(state.mirrorStates()).as("states under the old mirror").isEmpty();
    }

    @Test
    void aTopicOfASourceWithoutIdsIsTakenUpAgainByItsOwnMirrorOnly() {
        apply(
                new ClusterRecord.MirrorCreated("m", Map.of()),
                topic("t", A, "m", NONE),
                new ClusterRecord.DesiredSet("m", List.of("t"), Desired.STOPPED),
                new ClusterRecord.TopicAdopted(A, "m", NONE),
                new ClusterRecord.TopicAdopted(A, "m", B));
        assertThat(state.topics().get("t").sourceTopicId()).isEqualTo(B);
        refused(Errors.INCONSISTENT_TOPIC_ID.code(), new ClusterRecord.TopicAdopted(A, "m", new Uuid(9, 9)));
        refused(Errors.INCONSISTENT_TOPIC_ID.code(), new ClusterRecord.TopicAdopted(A, "m", NONE));
    }

    @Test
    void aSourceIsPinnedOnceAndDesiredStatesNeedTheTopicInTheMirror() {
        apply(new ClusterRecord.MirrorCreated("m", Map.of("k", "v")), new ClusterRecord.SourcePinned("m", "s1"));
        apply(new ClusterRecord.SourcePinned("m", "s1"));
        refused(Errors.INCONSISTENT_CLUSTER_ID.code(), new ClusterRecord.SourcePinned("m", "s2"));
        assertThat(state.mirrors().get("m").configs()).containsEntry("k", "v");
        refused(MirrorError.CLUSTER_MIRROR_ALREADY_EXISTS.code(), new ClusterRecord.MirrorCreated("m", Map.of()));
        refused(MirrorError.INVALID_CLUSTER_MIRROR_NAME.code(), new ClusterRecord.MirrorCreated("a b", Map.of()));
        apply(topic("t", A, null, NONE));
        refused(
                MirrorError.TOPIC_NOT_IN_CLUSTER_MIRROR.code(),
                new ClusterRecord.DesiredSet("m", List.of("t"), Desired.PAUSED));
        apply(new ClusterRecord.TopicAdopted(A, "m", A));
        apply(new ClusterRecord.DesiredSet("m", List.of("t"), Desired.STOPPED));
        refused(
                MirrorError.INVALID_CLUSTER_MIRROR_STATE.code(),
                new ClusterRecord.DesiredSet("m", List.of("t"), Desired.MIRRORING));
    }

    @Test
    void growthsThatRaceDoNotAddUpAndEpochsOnlyRise() {
        apply(topic("t", A, null, NONE), new ClusterRecord.TopicGrown(A, 2, List.of(9)));
        refused(Errors.INVALID_REQUEST.code(), new ClusterRecord.TopicGrown(A, 2, List.of(9)));
        apply(new ClusterRecord.LeaderEpochRaised(A, 0, 7), new ClusterRecord.LeaderEpochRaised(A, 0, 5));
        assertThat(state.topics().get("t").leaderEpochs()).containsExactly(7, 4, 9);
        refused(Errors.UNKNOWN_TOPIC_OR_PARTITION.code(), new ClusterRecord.LeaderEpochRaised(A, 3, 5));
        refused(Errors.UNKNOWN_TOPIC_ID.code(), new ClusterRecord.LeaderEpochRaised(B, 0, 5));
    }

    @Test
    void aRecreatedTopicHasAnotherIncarnationAndNoOldStates() {
        apply(new ClusterRecord.MirrorCreated("m", Map.of()), topic("t", A, "m", A));
        long first = state.topics().get("t").incarnation();
        MirrorPartition partition = new MirrorPartition("m", "t", A, 1);
        apply(
                new ClusterRecord.MirrorStatePut(partition, in(Phase.STOPPED), 0),
                new ClusterRecord.DesiredSet("m", List.of("t"), Desired.STOPPED),
                new ClusterRecord.TopicDeleted(A),
                topic("t", A, "m", A));
        assertThat(state.topics().get("t").incarnation()).isGreaterThan(first);
        assertThat(state.mirrorStates()).isEmpty();
    }

    @Test
    void recordsAndSnapshotsKeepEverythingThroughTheirBytes() {
        Map<String, String> changes = new HashMap<>();
        changes.put("a", null);
        changes.put("b", "ü");
        List<ClusterRecord> records = List.of(
                new ClusterRecord.ClusterIdSet("id"),
                topic("t", A, "m", B),
                topic("u", B, null, NONE),
                new ClusterRecord.TopicDeleted(A),
                new ClusterRecord.TopicGrown(A, 2, List.of(1, 2)),
                new ClusterRecord.TopicConfigChanged(A, changes),
                new ClusterRecord.LeaderEpochRaised(A, 1, 2),
                new ClusterRecord.MirrorCreated("m", Map.of("k", "v")),
                new ClusterRecord.SourcePinned("m", "s"),
                new ClusterRecord.MirrorDeleted("m"),
                new ClusterRecord.TopicAdopted(A, "m", B),
                new ClusterRecord.DesiredSet("m", List.of("t", "u"), Desired.PAUSED),
                new ClusterRecord.MirrorStatePut(
                        new MirrorPartition("m", "t", A, 1),
                        new PartitionState(Phase.FAILED, 7, Phase.MIRRORING, -1, "why"),
                        6),
                new ClusterRecord.ProducerIdsAllocated(1000),
                new ClusterRecord.ProducerIdsRaised(1L << 40));
        Set<Class<?>> kinds = new HashSet<>();
        for (ClusterRecord record : records) {
            kinds.add(record.getClass());
            assertThat(ClusterRecordCodec.decode(ByteBuffer.wrap(ClusterRecordCodec.encode(record))))
                    .isEqualTo(record);
        }
        assertThat(kinds).hasSize(ClusterRecord.class.getPermittedSubclasses().length);
    }

    @Test
    void anUnknownTypeOrVersionOrCutRecordStopsTheReaderByName() {
        assertThatThrownBy(() -> ClusterRecordCodec.decode(ByteBuffer.wrap(new byte[] {0, 99, 0, 0})))
                .hasMessageContaining("99");
        assertThatThrownBy(() -> ClusterRecordCodec.decode(ByteBuffer.wrap(new byte[] {0, 3, 0, 5})))
                .hasMessageContaining("version 5");
        byte[] whole = ClusterRecordCodec.encode(topic("t", A, "m", B));
        for (int length = 0; length < whole.length; length++) {
            byte[] cut = Arrays.copyOf(whole, length);
            assertThatThrownBy(() -> ClusterRecordCodec.decode(ByteBuffer.wrap(cut)))
                    .isInstanceOf(IllegalStateException.class);
        }
        assertThatThrownBy(() -> ClusterRecordCodec.decode(ByteBuffer.wrap(Arrays.copyOf(whole, whole.length + 1))))
                .hasMessageContaining("too many");
    }

    @Test
    void aSnapshotAtAnyPointAndTheRestOfTheLogGiveTheSameState() {
        long seed = Long.getLong("seed", 7);
        System.out.println("seed " + seed);
        Random random = new Random(seed);
        List<ClusterRecord> log = new ArrayList<>();
        for (int i = 0; i < 600; i++) {
            log.add(randomRecord(random));
        }
        ClusterState straight = replay(ClusterState.EMPTY, log);
        assertThat(straight.topics()).isNotEmpty();
        assertThat(straight.mirrorStates()).isNotEmpty();
        byte[] expected = ClusterSnapshot.encode(straight);
        for (int cut = 0; cut <= log.size(); cut += 60) {
            ClusterState half = replay(ClusterState.EMPTY, log.subList(0, cut));
            ClusterState restored = ClusterSnapshot.decode(ClusterSnapshot.encode(half));
            assertThat(ClusterSnapshot.encode(replay(restored, log.subList(cut, log.size()))))
                    .isEqualTo(expected);
        }
    }

    private static ClusterState replay(ClusterState from, List<ClusterRecord> records) {
        ClusterState state = from;
        for (ClusterRecord record : records) {
            ClusterState.Applied applied = state.apply(state.index() + 1, record);
            state = applied.state();
        }
        return state;
    }

    private static ClusterRecord randomRecord(Random random) {
        String mirror = "m" + random.nextInt(2);
        int number = random.nextInt(6);
        String topic = "t" + number;
        Uuid id = new Uuid(1, 10 + number);
        return switch (random.nextInt(12)) {
            case 0 -> new ClusterRecord.MirrorCreated(mirror, Map.of("k", "v" + number));
            case 1, 2 -> topic(topic, id, random.nextBoolean() ? mirror : null, id);
            case 3 -> new ClusterRecord.TopicDeleted(id);
            case 4 -> new ClusterRecord.TopicGrown(id, 2, List.of(1));
            case 5 -> new ClusterRecord.TopicConfigChanged(id, Map.of("k" + number, "v"));
            case 6 -> new ClusterRecord.LeaderEpochRaised(id, random.nextInt(3), random.nextInt(50));
            case 7 -> new ClusterRecord.SourcePinned(mirror, "s" + random.nextInt(2));
            case 8 -> new ClusterRecord.TopicAdopted(id, mirror, id);
            case 9 ->
                new ClusterRecord.DesiredSet(
                        mirror, List.of(topic), List.of(Desired.values()).get(random.nextInt(3)));
            case 10 ->
                new ClusterRecord.MirrorStatePut(
                        new MirrorPartition(mirror, topic, id, random.nextInt(3)),
                        in(Phase.of((byte) random.nextInt(Phase.values().length))),
                        random.nextInt(2));
            default -> new ClusterRecord.ProducerIdsAllocated(10);
        };
    }

    @Test
    void theChunkedMapBehavesAsAHashMapAndOldVersionsStay() {
        Random random = new Random(3);
        Map<Integer, String> model = new HashMap<>();
        ChunkedMap<Integer, String> map = ChunkedMap.empty();
        ChunkedMap<Integer, String> before = map;
        Map<Integer, String> beforeModel = Map.of();
        for (int i = 0; i < 5000; i++) {
            int key = random.nextInt(700);
            if (random.nextInt(3) == 0) {
                map = map.without(key);
                model.remove(key);
            } else {
                map = map.with(key, "v" + i);
                model.put(key, "v" + i);
            }
            if (i == 2500) {
                before = map;
                beforeModel = Map.copyOf(model);
            }
        }
        assertThat(map).isEqualTo(model).hasSameSizeAs(model);
        assertThat(before).isEqualTo(beforeModel);
        assertThat(map.get(null)).isNull();
    }
}
