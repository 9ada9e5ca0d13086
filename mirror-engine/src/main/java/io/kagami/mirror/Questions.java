package io.kagami.mirror;

import io.kagami.mirror.core.OffsetRules.EpochAnswer;
import io.kagami.protocol.client.Reply;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToIntFunction;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsTopic;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderPartition;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderTopic;
import org.apache.kafka.common.message.OffsetForLeaderEpochRequestData.OffsetForLeaderTopicCollection;
import org.apache.kafka.common.message.OffsetForLeaderEpochResponseData;
import org.apache.kafka.common.protocol.Errors;

/**
 * Asks source leaders where their logs start and where an epoch ends, many partitions per request: what is asked within one turn of
 * the loop goes out together.
 */
final class Questions {
    private static final int PARTITIONS_PER_REQUEST = 500;
    private static final long EARLIEST = -2;

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final List<Question> asked = new ArrayList<>();
    private boolean flushing;

    /**
     * @param lastEpoch epoch to ask the end of, -1 to ask for the log start only
     * @param then runs once on the loop
     */
    record Question(String topic, int partition, int lastEpoch, Consumer<Answer> then) {}

    /**
     * @param error null when both answers came
     * @param epochEnd null when it was not asked for
     */
    record Answer(Errors error, String text, long sourceStart, EpochAnswer epochEnd) {
        boolean ok() {
            return error == null;
        }

        /** Refused for what it is, not for who leads it or whether the source answers. */
        boolean refused() {
            return error == Errors.TOPIC_AUTHORIZATION_FAILED
                    || error == Errors.UNSUPPORTED_VERSION
                    || error == Errors.UNSUPPORTED_FOR_MESSAGE_FORMAT;
        }
    }

    Questions(MirrorContext mirror, SourceCluster source) {
        this.mirror = mirror;
        this.source = source;
    }

    void ask(Question question) {
        asked.add(question);
        if (!flushing) {
            flushing = true;
            mirror.turns().post(this::flush);
        }
    }

    private void flush() {
        flushing = false;
        Map<Integer, List<Question>> byNode = new HashMap<>();
        for (Question q : asked) {
            byNode.computeIfAbsent(source.leader(q.topic(), q.partition()).node(), n -> new ArrayList<>())
                    .add(q);
        }
        asked.clear();
        for (Map.Entry<Integer, List<Question>> e : byNode.entrySet()) {
            List<Question> all = e.getValue();
            for (int from = 0; from < all.size(); from += PARTITIONS_PER_REQUEST) {
                List<Question> some = all.subList(from, Math.min(all.size(), from + PARTITIONS_PER_REQUEST));
                if (e.getKey() < 0) {
                    some.forEach(q -> q.then().accept(failed(Errors.LEADER_NOT_AVAILABLE, "it has no leader")));
                } else {
                    askStarts(e.getKey(), some);
                }
            }
        }
    }

    private void askStarts(int node, List<Question> questions) {
        Map<String, ListOffsetsTopic> topics = new HashMap<>();
        for (Question q : questions) {
            topics.computeIfAbsent(q.topic(), name -> new ListOffsetsTopic().setName(name))
                    .partitions()
                    .add(new ListOffsetsPartition()
                            .setPartitionIndex(q.partition())
                            .setCurrentLeaderEpoch(
                                    source.leader(q.topic(), q.partition()).epoch())
                            .setTimestamp(EARLIEST));
        }
        ListOffsetsRequestData request =
                new ListOffsetsRequestData().setReplicaId(-1).setTopics(new ArrayList<>(topics.values()));
        source.send(
                node,
                request,
                reply -> onStarts(node, questions, reply),
                failure -> failAll(questions, SourceCluster.text(failure)));
    }

    private void onStarts(int node, List<Question> questions, Reply reply) {
        Map<String, Map<Integer, ListOffsetsResponseData.ListOffsetsPartitionResponse>> answers = new HashMap<>();
        try (reply) {
            ListOffsetsResponseData body = (ListOffsetsResponseData) reply.body();
            body.topics()
                    .forEach(t -> t.partitions().forEach(p -> answers.computeIfAbsent(t.name(), n -> new HashMap<>())
                            .put(p.partitionIndex(), p)));
        }
        Map<Question, Long> starts = new HashMap<>();
        List<Question> withEpoch = new ArrayList<>();
        for (Question q : questions) {
            var answer = answers.getOrDefault(q.topic(), Map.of()).get(q.partition());
            if (answer == null || answer.errorCode() != 0) {
                q.then().accept(failed(code(answer, a -> a.errorCode()), "ListOffsets"));
            } else if (q.lastEpoch() < 0) {
                q.then().accept(new Answer(null, null, answer.offset(), null));
            } else {
                starts.put(q, answer.offset());
                withEpoch.add(q);
            }
        }
        if (!withEpoch.isEmpty()) {
            askEpochs(node, withEpoch, starts);
        }
    }

    private void askEpochs(int node, List<Question> questions, Map<Question, Long> starts) {
        OffsetForLeaderTopicCollection topics = new OffsetForLeaderTopicCollection();
        for (Question q : questions) {
            OffsetForLeaderTopic topic = topics.find(q.topic());
            if (topic == null) {
                topic = new OffsetForLeaderTopic().setTopic(q.topic());
                topics.add(topic);
            }
            topic.partitions()
                    .add(new OffsetForLeaderPartition()
                            .setPartition(q.partition())
                            .setCurrentLeaderEpoch(
                                    source.leader(q.topic(), q.partition()).epoch())
                            .setLeaderEpoch(q.lastEpoch()));
        }
        source.send(
                node,
                new OffsetForLeaderEpochRequestData().setReplicaId(-1).setTopics(topics),
                reply -> onEpochs(questions, starts, reply),
                failure -> failAll(questions, SourceCluster.text(failure)));
    }

    private void onEpochs(List<Question> questions, Map<Question, Long> starts, Reply reply) {
        Map<String, Map<Integer, OffsetForLeaderEpochResponseData.EpochEndOffset>> answers = new HashMap<>();
        try (reply) {
            OffsetForLeaderEpochResponseData body = (OffsetForLeaderEpochResponseData) reply.body();
            body.topics()
                    .forEach(t -> t.partitions().forEach(p -> answers.computeIfAbsent(t.topic(), n -> new HashMap<>())
                            .put(p.partition(), p)));
        }
        for (Question q : questions) {
            var answer = answers.getOrDefault(q.topic(), Map.of()).get(q.partition());
            if (answer == null || answer.errorCode() != 0) {
                q.then().accept(failed(code(answer, a -> a.errorCode()), "OffsetForLeaderEpoch"));
            } else {
                EpochAnswer end = new EpochAnswer(answer.leaderEpoch(), answer.endOffset());
                q.then().accept(new Answer(null, null, starts.get(q), end));
            }
        }
    }

    private static <T> Errors code(T answer, ToIntFunction<T> errorCode) {
        return answer == null ? Errors.UNKNOWN_SERVER_ERROR : Errors.forCode((short) errorCode.applyAsInt(answer));
    }

    private static Answer failed(Errors error, String what) {
        return new Answer(error, what + ": " + error.name(), -1, null);
    }

    private static void failAll(List<Question> questions, String text) {
        Answer answer = new Answer(Errors.NETWORK_EXCEPTION, text, -1, null);
        questions.forEach(q -> q.then().accept(answer));
    }
}
