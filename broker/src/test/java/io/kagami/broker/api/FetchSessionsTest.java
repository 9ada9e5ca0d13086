package io.kagami.broker.api;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.broker.api.FetchSessions.Turn;
import io.kagami.broker.api.FetchSessions.Wanted;
import io.kagami.broker.net.Session;
import io.kagami.protocol.codec.SliceRecords;
import java.net.InetSocketAddress;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchRequestData.FetchPartition;
import org.apache.kafka.common.message.FetchRequestData.FetchTopic;
import org.apache.kafka.common.message.FetchRequestData.ForgottenTopic;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;

class FetchSessionsTest {
    private static final short BY_NAME = 12;
    private static final short BY_ID = 13;

    private long now = 1_000_000;
    private final Session connection = new Session(new InetSocketAddress(0), "TEST");
    private final FetchSessions sessions = new FetchSessions(2, () -> Instant.ofEpochMilli(now), new Random(1));

    private static FetchRequestData request(int id, int epoch, FetchTopic... topics) {
        return new FetchRequestData().setSessionId(id).setSessionEpoch(epoch).setTopics(List.of(topics));
    }

    private static FetchTopic topic(String name, int... partitions) {
        FetchTopic topic = new FetchTopic().setTopic(name);
        for (int each : partitions) {
            topic.partitions().add(new FetchPartition().setPartition(each).setFetchOffset(0));
        }
        return topic;
    }

    private static PartitionData data(Wanted wanted, long highWatermark, int bytes) {
        return new PartitionData()
                .setPartitionIndex(wanted.key().partition())
                .setHighWatermark(highWatermark)
                .setLogStartOffset(0)
                .setRecords(new SliceRecords(null, 0, bytes, () -> {}));
    }

    /** Answers every partition of a turn alike. */
    private static FetchResponseData answer(Turn turn, long highWatermark, int bytes) {
        Map<Wanted, PartitionData> all = new LinkedHashMap<>();
        turn.partitions().forEach(each -> all.put(each, data(each, highWatermark, bytes)));
        return turn.answer(all);
    }

    private int open(FetchTopic... topics) {
        return answer(sessions.open(request(0, 0, topics), BY_NAME, connection), 5, 0)
                .sessionId();
    }

    private static int partitions(FetchResponseData response) {
        return response.responses().stream()
                .mapToInt(each -> each.partitions().size())
                .sum();
    }

    @Test
    void aFullRequestOpensASessionAndAnswersEverything() {
        FetchResponseData first = answer(sessions.open(request(0, 0, topic("a", 0, 1)), BY_NAME, connection), 5, 0);
        assertThat(first.sessionId()).isPositive();
        assertThat(partitions(first)).isEqualTo(2);
        assertThat(first.responses()).hasSize(1);
    }

    @Test
    void theFinalEpochMeansNoSessionAndEndsTheOldOne() {
        int id = open(topic("a", 0));
        FetchResponseData last = answer(sessions.open(request(id, -1, topic("a", 0)), BY_NAME, connection), 5, 0);
        assertThat(last.sessionId()).isZero();
        assertThat(sessions.size()).isZero();
    }

    @Test
    void anIncrementalAnswerLeavesOutWhatHasNotChanged() {
        int id = open(topic("a", 0, 1));
        Turn turn = sessions.open(request(id, 1), BY_NAME, connection);
        assertThat(turn.partitions()).hasSize(2);
        FetchResponseData unchanged = answer(turn, 5, 0);
        assertThat(unchanged.sessionId()).isEqualTo(id);
        assertThat(unchanged.responses()).isEmpty();
        assertThat(partitions(answer(sessions.open(request(id, 2), BY_NAME, connection), 6, 0)))
                .as("high watermark moved")
                .isEqualTo(2);
        assertThat(partitions(answer(sessions.open(request(id, 3), BY_NAME, connection), 6, 0)))
                .isZero();
        assertThat(partitions(answer(sessions.open(request(id, 4), BY_NAME, connection), 6, 100)))
                .as("records")
                .isEqualTo(2);
    }

    @Test
    void anErrorIsAlwaysToldAndTheEndOfItToo() {
        int id = open(topic("a", 0));
        for (int epoch = 1; epoch <= 2; epoch++) {
            Turn turn = sessions.open(request(id, epoch), BY_NAME, connection);
            Wanted wanted = turn.partitions().get(0);
            FetchResponseData failed =
                    turn.answer(Map.of(wanted, data(wanted, -1, 0).setErrorCode(Errors.KAFKA_STORAGE_ERROR.code())));
            assertThat(partitions(failed)).isEqualTo(1);
        }
        assertThat(partitions(answer(sessions.open(request(id, 3), BY_NAME, connection), 5, 0)))
                .isEqualTo(1);
    }

    @Test
    void partitionsAreAddedChangedAndForgotten() {
        int id = open(topic("a", 0, 1));
        FetchTopic changed = topic("b", 7);
        changed.partitions().get(0).setFetchOffset(42);
        FetchRequestData request = request(id, 1, changed);
        request.setForgottenTopicsData(
                List.of(new ForgottenTopic().setTopic("a").setPartitions(List.of(0))));
        Turn turn = sessions.open(request, BY_NAME, connection);
        assertThat(turn.partitions())
                .extracting(each -> each.key().topic() + "-" + each.key().partition() + "@" + each.offset())
                .containsExactly("a-1@0", "b-7@42");
    }

    @Test
    void kafka9338_aSessionRemembersTheEpochsOfEachPartition() {
        FetchTopic first = topic("a", 0, 1);
        first.partitions().get(0).setCurrentLeaderEpoch(5).setLastFetchedEpoch(3);
        first.partitions().get(1).setCurrentLeaderEpoch(9).setLastFetchedEpoch(8);
        int id = open(first);
        assertThat(epochs(sessions.open(request(id, 1), BY_NAME, connection))).containsExactly("5,3", "9,8");
        FetchTopic changed = topic("a", 1);
        changed.partitions().get(0).setCurrentLeaderEpoch(10).setLastFetchedEpoch(9);
        assertThat(epochs(sessions.open(request(id, 2, changed), BY_NAME, connection)))
                .containsExactlyInAnyOrder("5,3", "10,9");
        assertThat(epochs(sessions.open(request(id, 3), BY_NAME, connection))).containsExactlyInAnyOrder("5,3", "10,9");
    }

    private static List<String> epochs(Turn turn) {
        return turn.partitions().stream()
                .map(each -> each.currentLeaderEpoch() + "," + each.lastFetchedEpoch())
                .toList();
    }

    @Test
    void forgettingEverythingEndsTheSession() {
        int id = open(topic("a", 0));
        FetchRequestData request = request(id, 1);
        request.setForgottenTopicsData(
                List.of(new ForgottenTopic().setTopic("a").setPartitions(List.of(0))));
        assertThat(answer(sessions.open(request, BY_NAME, connection), 5, 0).sessionId())
                .isZero();
        assertThat(sessions.size()).isZero();
    }

    @Test
    void unknownSessionsAndWrongEpochsAreRefused() {
        assertThat(sessions.open(request(99, 1), BY_NAME, connection).error())
                .isEqualTo(Errors.FETCH_SESSION_ID_NOT_FOUND);
        int id = open(topic("a", 0));
        assertThat(sessions.open(request(id, 2), BY_NAME, connection).error())
                .isEqualTo(Errors.INVALID_FETCH_SESSION_EPOCH);
        assertThat(sessions.open(request(id, 1), BY_ID, connection).error())
                .isEqualTo(Errors.FETCH_SESSION_TOPIC_ID_ERROR);
        assertThat(sessions.open(request(id, 1), BY_NAME, connection).error()).isEqualTo(Errors.NONE);
    }

    @Test
    void aPartitionThatWasServedGoesLast() {
        int id = open(topic("a", 0, 1));
        Turn turn = sessions.open(request(id, 1), BY_NAME, connection);
        Wanted busy = turn.partitions().get(0);
        Wanted idle = turn.partitions().get(1);
        Map<Wanted, PartitionData> all = new LinkedHashMap<>();
        all.put(busy, data(busy, 9, 100));
        all.put(idle, data(idle, 5, 0));
        turn.answer(all);
        assertThat(sessions.open(request(id, 2), BY_NAME, connection).partitions())
                .extracting(each -> each.key().partition())
                .containsExactly(1, 0);
    }

    @Test
    void aFullCacheServesNewClientsWithoutASessionUntilAnOldOneIsUnused() {
        int first = open(topic("a", 0));
        int second = open(topic("b", 0));
        assertThat(open(topic("c", 0))).isZero();
        now += FetchSessions.EVICT_MS / 2;
        answer(sessions.open(request(second, 1), BY_NAME, connection), 5, 0);
        now += FetchSessions.EVICT_MS / 2 + 1;
        assertThat(open(topic("c", 0))).isPositive();
        assertThat(sessions.open(request(first, 1), BY_NAME, connection).error())
                .isEqualTo(Errors.FETCH_SESSION_ID_NOT_FOUND);
        assertThat(sessions.open(request(second, 2), BY_NAME, connection).error())
                .isEqualTo(Errors.NONE);
    }

    @Test
    void aSessionOfAClosedConnectionMakesRoomAtOnce() {
        Session gone = new Session(new InetSocketAddress(0), "TEST");
        answer(sessions.open(request(0, 0, topic("a", 0)), BY_NAME, gone), 5, 0);
        open(topic("b", 0));
        gone.close();
        assertThat(open(topic("c", 0))).isPositive();
    }

    @Test
    void fromVersion13OnTopicsHaveIds() {
        Uuid id = new Uuid(1, 2);
        FetchTopic topic = topic("", 0).setTopicId(id);
        FetchResponseData response = answer(sessions.open(request(0, 0, topic), BY_ID, connection), 5, 0);
        assertThat(response.responses().get(0).topicId()).isEqualTo(id);
        assertThat(response.responses().get(0).topic()).isEmpty();
    }
}
