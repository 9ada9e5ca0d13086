package io.kagami.broker.core.adopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.broker.core.adopt.AdoptionPlan.Row;
import io.kagami.broker.core.adopt.AdoptionPlan.Verdict;
import io.kagami.broker.core.cluster.ClusterRecord;
import io.kagami.broker.core.cluster.ClusterRecord.ProducerIdsRaised;
import io.kagami.broker.core.cluster.ClusterRecord.TopicCreated;
import io.kagami.broker.core.cluster.ClusterState;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

/** What is taken over and what not, and the journal that says it. */
class AdoptionPlanTest {
    private static final Uuid ID = new Uuid(1, 1);
    private static final Uuid OTHER = new Uuid(2, 2);

    private final Map<String, SourceCatalog.Topic> topics = new TreeMap<>();
    private final List<SourceLog> logs = new ArrayList<>();
    private ClusterState state = ClusterState.EMPTY;
    private Set<String> occupied = Set.of();
    private Set<Uuid> removed = Set.of();

    private void topic(String name, Uuid id, Map<String, String> configs, SourceCatalog.Partition... partitions) {
        topics.put(name, new SourceCatalog.Topic(name, id, List.of(partitions), configs, null));
    }

    private static SourceCatalog.Partition of(int epoch, int leader, Integer... complete) {
        return new SourceCatalog.Partition(epoch, leader, List.of(1, 2, 3), List.of(complete));
    }

    private SourceLog log(String topic, int partition, Uuid id, int node) {
        SourceLog log = new SourceLog(
                "/d" + node + "/" + topic + "-" + partition, topic, partition, id, node, 100, 3, 41, 10, 2, null);
        logs.add(log);
        return log;
    }

    private AdoptionPlan plan(Map<String, String> inherited) {
        return AdoptionPlan.make(
                new SourceCatalog("c", topics, removed, 10, Map.of(), List.of()),
                logs,
                inherited,
                new AdoptionPlan.Target() {
                    @Override
                    public ClusterState state() {
                        return state;
                    }

                    @Override
                    public Optional<String> problem(Map<String, String> configs) {
                        return configs.containsKey("odd") ? Optional.of("unknown") : Optional.empty();
                    }

                    @Override
                    public boolean occupied(String directory, String sourcePath) {
                        return occupied.contains(directory);
                    }
                });
    }

    private Row only() {
        AdoptionPlan plan = plan(Map.of());
        assertThat(plan.rows()).hasSize(1);
        return plan.rows().get(0);
    }

    private void refused(String why) {
        assertThat(only().verdict()).isEqualTo(Verdict.REFUSE);
        assertThat(only().why()).contains(why);
        assertThat(plan(Map.of()).empty()).isTrue();
    }

    @Test
    void aTopicComesWithItsIdItsConfigsAndTheNextEpoch() {
        topic("t", ID, Map.of("retention.ms", "5", "odd", "x"), of(7, 1, 1), of(2, -1, 1));
        log("t", 0, ID, 1);
        log("t", 1, ID, 1);
        AdoptionPlan plan = plan(Map.of("retention.ms", "9", "segment.ms", "4"));
        assertThat(plan.rows()).containsExactly(new Row("t", 2, 200, Verdict.ADOPT, "without odd=x (unknown)"));
        assertThat(plan.records())
                .containsExactly(
                        new TopicCreated(
                                "t",
                                ID,
                                List.of(8, 4),
                                Map.of("retention.ms", "5", "segment.ms", "4"),
                                null,
                                Uuid.ZERO_UUID),
                        new ProducerIdsRaised(42));
        assertThat(plan.logs())
                .containsExactly(
                        new Journal.Log("t", 0, ID, 10, 2, "/d1/t-0"), new Journal.Log("t", 1, ID, 10, 2, "/d1/t-1"));
    }

    @Test
    void whatIsHereAlreadyIsNotTakenAgain() {
        topic("t", ID, Map.of(), of(7, 1, 1));
        log("t", 0, ID, 1);
        state = state.apply(1, new TopicCreated("t", ID, List.of(0), Map.of(), null, Uuid.ZERO_UUID))
                .state();
        assertThat(only().verdict()).isEqualTo(Verdict.HERE);
        assertThat(plan(Map.of()).empty()).isTrue();
    }

    @Test
    void anotherTopicOfTheNameOrOneThatIsTooLikeItIsInTheWay() {
        topic("t.x", ID, Map.of(), of(7, 1, 1));
        log("t.x", 0, ID, 1);
        ClusterState empty = state;
        state = empty.apply(1, new TopicCreated("t.x", OTHER, List.of(0), Map.of(), null, Uuid.ZERO_UUID))
                .state();
        refused("another topic of that name is here");
        state = empty.apply(1, new TopicCreated("t_x", OTHER, List.of(0), Map.of(), null, Uuid.ZERO_UUID))
                .state();
        refused("collides with existing topic");
        state = empty;
        occupied = Set.of("t.x-0");
        refused("a directory t.x-0 is in the way");
    }

    @Test
    void aTopicWithoutAllOfItsPartitionsIsRefused() {
        topic("t", ID, Map.of(), of(7, 1, 1), of(7, 2, 2));
        log("t", 0, ID, 1);
        refused("partition 1 is not in the directories given; its replicas are on broker 1 or 2 or 3");
    }

    @Test
    void aReplicaThatWasNotInSyncIsRefusedAndTheLeadersIsTakenOfSeveral() {
        topic("t", ID, Map.of(), of(7, 2, 2, 3));
        log("t", 0, ID, 1);
        refused("partition 0 of broker 1 was not in sync; broker 2 or 3 has all of it");
        log("t", 0, ID, 3);
        log("t", 0, ID, 2);
        assertThat(only().verdict()).isEqualTo(Verdict.ADOPT);
        assertThat(plan(Map.of()).logs().get(0).path()).isEqualTo("/d2/t-0");
        logs.add(new SourceLog("/e2/t-0", "t", 0, ID, 2, 1, 1, 1, 1, 1, null));
        refused("in two directories");
    }

    @Test
    void tieredTopicsUnreadableOnesAndThoseWithoutAnIdAreRefused() {
        topic("t", ID, Map.of("remote.storage.enable", "true"), of(7, 1, 1));
        log("t", 0, ID, 1);
        refused("tiered storage");
        topic("t", ID, Map.of(), of(7, 1, 1));
        logs.clear();
        log("t", 0, Uuid.ZERO_UUID, 1);
        refused("does not say which topic id");
        logs.clear();
        logs.add(new SourceLog("/d1/t-0", "t", 0, ID, 1, 1, 1, 1, 1, 1, "cannot be read: no"));
        refused("partition 0 cannot be read: no");
    }

    @Test
    void directoriesOfNoTopicAreLeftWhereTheyAre() {
        topic("t", ID, Map.of(), of(7, 1, 1));
        log("t", 0, ID, 1);
        log("t", 9, ID, 1);
        log("gone", 0, OTHER, 1);
        SourceLog older = log("t", 3, OTHER, 1);
        removed = Set.of(OTHER);
        log("lost", 0, new Uuid(7, 7), 1);
        log("t", 4, new Uuid(7, 7), 1);
        logs.add(
                new SourceLog("/d1/x-0.1-delete", null, 0, Uuid.ZERO_UUID, 1, 1, -1, -1, 0, 0, "it was being deleted"));
        AdoptionPlan plan = plan(Map.of());
        assertThat(plan.logs()).hasSize(1);
        assertThat(plan.rows().stream().filter(row -> row.verdict() == Verdict.LEAVE))
                .extracting(Row::name, Row::why)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple("t-9", "the metadata has no such partition of the topic"),
                        org.assertj.core.groups.Tuple.tuple("gone-0", "its topic was deleted"),
                        org.assertj.core.groups.Tuple.tuple(
                                "t-3",
                                "it belongs to an earlier topic of that name, with id " + older.topicId()
                                        + ", which was deleted"),
                        org.assertj.core.groups.Tuple.tuple(
                                "lost-0",
                                "stray: the metadata knows no such topic, and no record of it says that the one with id "
                                        + new Uuid(7, 7) + " was deleted"),
                        org.assertj.core.groups.Tuple.tuple(
                                "t-4",
                                "stray: the topic of that name has another id in the metadata, and no record of it says that the one with id "
                                        + new Uuid(7, 7) + " was deleted"),
                        org.assertj.core.groups.Tuple.tuple("x-0.1-delete", "it was being deleted"));
    }

    @Test
    void aTopicThatIsMirroredBecomesAnOrdinaryOneAndThePlanSaysSo() {
        topics.put("t", new SourceCatalog.Topic("t", ID, List.of(of(7, 1, 1)), Map.of(), "m"));
        log("t", 0, ID, 1);
        assertThat(plan(Map.of()).notes()).anyMatch(note -> note.contains("was in the mirror m"));
    }

    @Test
    void anOpenTransactionIsToldWithItsPartitionProducerOffsetAndTime() {
        topic("t", ID, Map.of(), of(7, 1, 1));
        logs.add(new SourceLog(
                "/d1/t-0",
                "t",
                0,
                ID,
                1,
                100,
                3,
                41,
                10,
                2,
                null,
                List.of(new OpenTransaction(17, (short) 3, 5, 6, 1_000))));
        AdoptionPlan plan = plan(Map.of());
        assertThat(plan.rows().get(0).verdict()).isEqualTo(Verdict.ADOPT);
        assertThat(plan.notes()).singleElement().satisfies(note -> assertThat(note)
                .contains("t-0", "producer id 17", "offset 6", "1970-01-01T00:00:01Z", "read_committed"));
    }

    @Test
    void theJournalComesBackAsItWasAndADamagedOneIsRefused() {
        List<ClusterRecord> records = List.of(
                new TopicCreated("t", ID, List.of(1, 2), Map.of("k", "v w"), null, Uuid.ZERO_UUID),
                new ProducerIdsRaised(42));
        Journal journal = new Journal(
                Journal.Way.COPY,
                List.of("/a b/c"),
                true,
                List.of(new Journal.Log("t", 0, ID, 5, 3, "/a b/c/t-0")),
                records);
        String text = journal.toText();
        assertThat(Journal.parse(text)).isEqualTo(journal);
        for (int i = 0; i < text.length(); i++) {
            String damaged = text.substring(0, i) + (char) (text.charAt(i) ^ 1) + text.substring(i + 1);
            assertThatThrownBy(() -> Journal.parse(damaged)).isInstanceOf(IllegalArgumentException.class);
            String cut = text.substring(0, i);
            assertThatThrownBy(() -> Journal.parse(cut)).isInstanceOf(IllegalArgumentException.class);
        }
    }
}
