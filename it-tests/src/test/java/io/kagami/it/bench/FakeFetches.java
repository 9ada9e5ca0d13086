package io.kagami.it.bench;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;

/** The fetches of one connection to a {@link FakeSource}, with at most one fetch session. Used by that connection's thread. */
final class FakeFetches {
    private static final int FINAL_EPOCH = -1;
    private static final AtomicInteger SESSIONS = new AtomicInteger();

    private record Key(FakeSource.Topic topic, int partition) {}

    private record Slot(long offset, int bytesMax) {}

    private final FakeSource source;
    private final Map<Key, Slot> slots = new LinkedHashMap<>();
    private int session;
    private int epoch;

    FakeFetches(FakeSource source) {
        this.source = source;
    }

    /** The answer, after at most the wait that the request allows. */
    FetchResponseData answer(FetchRequestData request) throws InterruptedException {
        boolean whole = request.sessionEpoch() == FINAL_EPOCH || request.sessionEpoch() == 0;
        FetchResponseData refused = new FetchResponseData();
        if (!whole && request.sessionId() != session) {
            return refused.setErrorCode(Errors.FETCH_SESSION_ID_NOT_FOUND.code());
        }
        if (!whole && request.sessionEpoch() != epoch) {
            return refused.setErrorCode(Errors.INVALID_FETCH_SESSION_EPOCH.code());
        }
        if (whole) {
            slots.clear();
            session = request.sessionEpoch() == 0 ? SESSIONS.incrementAndGet() : 0;
            epoch = 0;
        }
        epoch++;
        if (!update(request)) {
            return refused.setErrorCode(Errors.UNKNOWN_TOPIC_ID.code());
        }
        source.await(this::ready, TimeUnit.MILLISECONDS.toNanos(request.maxWaitMs()));
        return read(request.maxBytes(), whole).setSessionId(session);
    }

    /** False when a topic is not known. */
    private boolean update(FetchRequestData request) {
        for (FetchRequestData.FetchTopic asked : request.topics()) {
            FakeSource.Topic topic = source.find(asked.topic(), asked.topicId());
            if (topic == null) {
                return false;
            }
            for (FetchRequestData.FetchPartition p : asked.partitions()) {
                slots.put(new Key(topic, p.partition()), new Slot(p.fetchOffset(), p.partitionMaxBytes()));
            }
        }
        for (FetchRequestData.ForgottenTopic asked : request.forgottenTopicsData()) {
            FakeSource.Topic topic = source.find(asked.topic(), asked.topicId());
            asked.partitions().forEach(p -> slots.remove(new Key(topic, p)));
        }
        return true;
    }

    private boolean ready() {
        return slots.entrySet().stream()
                .anyMatch(e -> source.end(e.getKey().topic(), e.getKey().partition())
                        > e.getValue().offset());
    }

    /** All partitions in a whole fetch, else those that have something; who got something goes to the end of the queue. */
    private FetchResponseData read(int bytesMax, boolean whole) {
        Map<FakeSource.Topic, FetchResponseData.FetchableTopicResponse> answers = new LinkedHashMap<>();
        List<Key> served = new ArrayList<>();
        int left = bytesMax;
        for (Map.Entry<Key, Slot> e : slots.entrySet()) {
            Key key = e.getKey();
            Slot slot = e.getValue();
            ByteBuffer records = left <= 0 && !served.isEmpty()
                    ? ByteBuffer.allocate(0)
                    : source.read(
                            key.topic(), key.partition(), slot.offset(), Math.min(slot.bytesMax(), Math.max(left, 1)));
            if (records.hasRemaining()) {
                left -= records.remaining();
                served.add(key);
            } else if (!whole) {
                continue;
            }
            long end = source.end(key.topic(), key.partition());
            answers.computeIfAbsent(key.topic(), topic -> new FetchResponseData.FetchableTopicResponse()
                            .setTopic(topic.name)
                            .setTopicId(topic.id))
                    .partitions()
                    .add(new FetchResponseData.PartitionData()
                            .setPartitionIndex(key.partition())
                            .setHighWatermark(end)
                            .setLastStableOffset(end)
                            .setLogStartOffset(0)
                            .setRecords(MemoryRecords.readableRecords(records)));
        }
        for (Key key : served) {
            slots.put(key, slots.remove(key));
        }
        return new FetchResponseData().setResponses(new ArrayList<>(answers.values()));
    }
}
