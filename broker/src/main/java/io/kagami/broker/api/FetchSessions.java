package io.kagami.broker.api;

import io.kagami.broker.net.Session;
import io.kagami.protocol.codec.SliceRecords;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.FetchableTopicResponse;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.protocol.Errors;

/**
 * Incremental fetch sessions (KIP-227): a client names its partitions once, later requests carry changes only, and answers leave out what
 * has not changed. Thread-safe.
 *
 * <p>Bounded by slots and by partitions held. When full, a session makes room if its connection is gone, or if it has not been used
 * for two minutes, or if it has lived that long and is smaller than the new one; otherwise the new client is served without a session.
 */
final class FetchSessions {
    static final int PARTITIONS_MAX = 500_000;
    static final long EVICT_MS = 120_000;
    private static final int INITIAL_EPOCH = 0;
    private static final int FINAL_EPOCH = -1;
    private static final short TOPIC_IDS_FROM = 13;

    /** Names a partition as the client does: by name below version 13, by id from there on. */
    record Named(String topic, Uuid topicId, int partition) {}

    /** What a client wants of one partition. */
    record Wanted(Named key, long offset, int bytesMax, int currentLeaderEpoch, int lastFetchedEpoch) {}

    /** A partition of a session and what the client last heard of it. */
    private static final class Cached {
        private Wanted wanted;
        private long highWatermark = -1;
        private long logStartOffset = -1;

        Cached(Wanted wanted) {
            this.wanted = wanted;
        }
    }

    private static final class FetchSession {
        private final int id;
        private final boolean byId;
        private final long createdMs;
        private final Session connection;
        private final LinkedHashMap<Named, Cached> partitions = new LinkedHashMap<>();
        private int epoch = 1;
        private long usedMs;

        FetchSession(int id, boolean byId, long nowMs, Session connection) {
            this.id = id;
            this.byId = byId;
            this.createdMs = nowMs;
            this.usedMs = nowMs;
            this.connection = connection;
        }
    }

    private final int slots;
    private final InstantSource clock;
    private final Random random;
    private final Map<Integer, FetchSession> sessions = new HashMap<>();
    private int partitionsHeld;

    FetchSessions(int slots, InstantSource clock, Random random) {
        this.slots = slots;
        this.clock = clock;
        this.random = random;
    }

    synchronized int size() {
        return sessions.size();
    }

    /** What one request asks for, whatever of it came from a session. */
    synchronized Turn open(FetchRequestData request, short version, Session connection) {
        int id = request.sessionId();
        int epoch = request.sessionEpoch();
        boolean byId = version >= TOPIC_IDS_FROM;
        Map<Named, Wanted> named = named(request, byId);
        if (epoch == INITIAL_EPOCH || epoch == FINAL_EPOCH) {
            remove(sessions.get(id));
            return new Turn(Errors.NONE, List.copyOf(named.values()), null, epoch == INITIAL_EPOCH, byId, connection);
        }
        FetchSession session = sessions.get(id);
        if (session == null) {
            return Turn.refused(this, Errors.FETCH_SESSION_ID_NOT_FOUND);
        }
        if (session.epoch != epoch) {
            return Turn.refused(this, Errors.INVALID_FETCH_SESSION_EPOCH);
        }
        if (session.byId != byId) {
            return Turn.refused(this, Errors.FETCH_SESSION_TOPIC_ID_ERROR);
        }
        update(session, named, request, byId);
        if (partitionsHeld > PARTITIONS_MAX) {
            remove(session);
            return Turn.refused(this, Errors.FETCH_SESSION_ID_NOT_FOUND);
        }
        if (session.partitions.isEmpty()) {
            remove(session);
            return new Turn(Errors.NONE, List.of(), null, false, byId, connection);
        }
        session.epoch = session.epoch == Integer.MAX_VALUE ? 1 : session.epoch + 1;
        session.usedMs = clock.millis();
        List<Wanted> all = new ArrayList<>(session.partitions.size());
        session.partitions.values().forEach(each -> all.add(each.wanted));
        return new Turn(Errors.NONE, List.copyOf(all), session, false, byId, connection);
    }

    private void update(FetchSession session, Map<Named, Wanted> named, FetchRequestData request, boolean byId) {
        int before = session.partitions.size();
        named.forEach((key, wanted) -> {
            Cached cached = session.partitions.get(key);
            if (cached == null) {
                session.partitions.put(key, new Cached(wanted));
            } else {
                cached.wanted = wanted;
            }
        });
        for (FetchRequestData.ForgottenTopic topic : request.forgottenTopicsData()) {
            for (int partition : topic.partitions()) {
                session.partitions.remove(key(topic.topic(), topic.topicId(), partition, byId));
            }
        }
        partitionsHeld += session.partitions.size() - before;
    }

    private static Map<Named, Wanted> named(FetchRequestData request, boolean byId) {
        LinkedHashMap<Named, Wanted> all = new LinkedHashMap<>();
        for (FetchRequestData.FetchTopic topic : request.topics()) {
            for (FetchRequestData.FetchPartition each : topic.partitions()) {
                Named key = key(topic.topic(), topic.topicId(), each.partition(), byId);
                all.put(
                        key,
                        new Wanted(
                                key,
                                each.fetchOffset(),
                                each.partitionMaxBytes(),
                                each.currentLeaderEpoch(),
                                each.lastFetchedEpoch()));
            }
        }
        return all;
    }

    private static Named key(String topic, Uuid topicId, int partition, boolean byId) {
        return byId ? new Named(null, topicId, partition) : new Named(topic, Uuid.ZERO_UUID, partition);
    }

    private void remove(FetchSession session) {
        if (session != null && sessions.remove(session.id) != null) {
            partitionsHeld -= session.partitions.size();
        }
    }

    /** A session for a client that asked for one, or null when there is no room. */
    private FetchSession create(int size, boolean byId, Session connection) {
        long now = clock.millis();
        while (sessions.size() >= slots || partitionsHeld + size > PARTITIONS_MAX) {
            FetchSession victim = victim(size, now);
            if (victim == null) {
                return null;
            }
            remove(victim);
        }
        int id;
        do {
            id = 1 + random.nextInt(Integer.MAX_VALUE);
        } while (sessions.containsKey(id));
        FetchSession session = new FetchSession(id, byId, now, connection);
        sessions.put(id, session);
        return session;
    }

    private FetchSession victim(int size, long now) {
        FetchSession oldest = null;
        FetchSession smallest = null;
        for (FetchSession each : sessions.values()) {
            if (each.connection.closed()) {
                return each;
            }
            if (oldest == null || each.usedMs < oldest.usedMs) {
                oldest = each;
            }
            if (now - each.createdMs > EVICT_MS
                    && each.partitions.size() < size
                    && (smallest == null || each.partitions.size() < smallest.partitions.size())) {
                smallest = each;
            }
        }
        return oldest != null && now - oldest.usedMs > EVICT_MS ? oldest : smallest;
    }

    /** Makes the answer of a full request; opens a session when asked and possible. */
    private synchronized int store(Turn turn, Map<Wanted, PartitionData> data) {
        FetchSession session = create(data.size(), turn.byId, turn.connection);
        if (session == null) {
            return 0;
        }
        data.forEach((wanted, answer) -> {
            Cached cached = new Cached(wanted);
            remember(cached, answer);
            session.partitions.put(wanted.key(), cached);
        });
        partitionsHeld += session.partitions.size();
        return session.id;
    }

    /** Keeps what the client does not know yet. */
    private synchronized Map<Wanted, PartitionData> changed(FetchSession session, Map<Wanted, PartitionData> data) {
        Map<Wanted, PartitionData> news = new LinkedHashMap<>();
        data.forEach((wanted, answer) -> {
            Cached cached = session.partitions.get(wanted.key());
            boolean records = answer.records() instanceof SliceRecords slice && slice.sizeInBytes() > 0;
            if (cached == null) {
                // forgotten by a later request that overtook this one; what was read must still be sent
                if (records) {
                    news.put(wanted, answer);
                }
                return;
            }
            if (records
                    || answer.errorCode() != Errors.NONE.code()
                    || answer.highWatermark() != cached.highWatermark
                    || answer.logStartOffset() != cached.logStartOffset
                    || answer.divergingEpoch().epoch() >= 0) {
                news.put(wanted, answer);
                remember(cached, answer);
                if (records) {
                    // served now, so last in line next time: no partition starves behind a busy one
                    session.partitions.remove(wanted.key());
                    session.partitions.put(wanted.key(), cached);
                }
            }
        });
        return news;
    }

    /** After an error the next good answer is news in any case. */
    private static void remember(Cached cached, PartitionData answer) {
        cached.highWatermark = answer.errorCode() == Errors.NONE.code() ? answer.highWatermark() : -1;
        cached.logStartOffset = answer.logStartOffset();
    }

    /** One request: its partitions in the order to serve them, and how to answer. */
    final class Turn {
        private final Errors error;
        private final List<Wanted> partitions;
        private final FetchSession session;
        private final boolean wantsSession;
        private final boolean byId;
        private final Session connection;

        private Turn(
                Errors error,
                List<Wanted> partitions,
                FetchSession session,
                boolean wantsSession,
                boolean byId,
                Session connection) {
            this.error = error;
            this.partitions = partitions;
            this.session = session;
            this.wantsSession = wantsSession;
            this.byId = byId;
            this.connection = connection;
        }

        private static Turn refused(FetchSessions owner, Errors error) {
            return owner.new Turn(error, List.of(), null, false, false, null);
        }

        /** Not NONE: the session is unknown or out of step; nothing is to be read. */
        Errors error() {
            return error;
        }

        List<Wanted> partitions() {
            return partitions;
        }

        /** @param data in the order of {@link #partitions()} */
        FetchResponseData answer(Map<Wanted, PartitionData> data) {
            FetchResponseData response = new FetchResponseData().setErrorCode(error.code());
            Map<Wanted, PartitionData> shown = data;
            if (session != null) {
                response.setSessionId(session.id);
                shown = changed(session, data);
            } else if (wantsSession) {
                response.setSessionId(store(this, data));
            }
            FetchableTopicResponse topic = null;
            for (Map.Entry<Wanted, PartitionData> each : shown.entrySet()) {
                Named key = each.getKey().key();
                if (topic == null || !sameTopic(topic, key)) {
                    topic = new FetchableTopicResponse()
                            .setTopic(key.topic() == null ? "" : key.topic())
                            .setTopicId(key.topicId());
                    response.responses().add(topic);
                }
                topic.partitions().add(each.getValue());
            }
            return response;
        }

        private boolean sameTopic(FetchableTopicResponse topic, Named key) {
            return byId ? topic.topicId().equals(key.topicId()) : topic.topic().equals(key.topic());
        }
    }
}
