package io.kagami.mirror;

import io.kagami.mirror.MirrorPart.SourceKey;
import io.kagami.mirror.core.FetchPlan;
import io.kagami.mirror.core.FetchSession;
import io.kagami.mirror.core.FetchSession.Plan;
import io.kagami.mirror.core.FetchSession.Slot;
import io.kagami.mirror.core.RetryPolicy;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.client.Reply;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchRequestData.FetchPartition;
import org.apache.kafka.common.message.FetchRequestData.FetchTopic;
import org.apache.kafka.common.message.FetchRequestData.ForgottenTopic;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.MetadataRequestData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * One connection to one source broker that fetches many partitions in one session, as a plain consumer. At most one request is in
 * flight, and at most one answer waits for its appends while the next is fetched. Losing the connection is no failure of a partition: it
 * reconnects for ever. Used on the mirror's loop only.
 */
final class SourceFetcher {
    private static final Logger LOG = LoggerFactory.getLogger(SourceFetcher.class);
    private static final short FETCH = 1;
    private static final int FETCH_VERSION_MIN = 4;
    /** From this version on a request may tell the epoch of our last batch, and the source answers when the logs diverge. */
    private static final int FETCH_LAST_EPOCH = 12;
    /** From this version on topics go by id. */
    private static final int FETCH_BY_ID = 13;

    private static final long RECONNECT_INITIAL_MS = 100;
    private static final long RECONNECT_MAX_MS = 5000;
    private static final int ANSWERS_UNAPPENDED_MAX = 1;
    private static final int THROTTLE_MAX_MS = 60_000;

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final Listener listener;
    private final int node;
    private final FetchSession<SourceKey> session = new FetchSession<>();
    private final Map<SourceKey, MirrorPart> parts = new HashMap<>();
    private final Map<Uuid, String> names = new HashMap<>();
    private int withoutId;

    private Connection connection;
    private boolean connecting;
    private boolean sessionById;
    private int attempts;
    private boolean inFlight;
    private boolean silent;
    private int unappended;
    private boolean waitingForBudget;
    private boolean pumpPosted;
    private long answeredAtMs = -1;
    private boolean closed;

    /** Who makes use of the answers. */
    interface Listener {
        /** One partition's part of an answer that is not stale. Data that is kept is retained on {@code answer}. */
        void onPartition(
                SourceFetcher from,
                MirrorPart part,
                Slot asked,
                FetchResponseData.PartitionData data,
                FetchAnswer answer);

        /** The connection is gone or was never made; it is tried again. */
        void onLost(SourceFetcher from, Throwable why);

        /** It can't work on this broker: all its partitions fail with the text. */
        void onUnusable(SourceFetcher from, String text);
    }

    SourceFetcher(MirrorContext mirror, SourceCluster source, int node, Listener listener) {
        this.mirror = mirror;
        this.source = source;
        this.node = node;
        this.listener = listener;
    }

    int node() {
        return node;
    }

    boolean connected() {
        return connection != null && connection.open();
    }

    /** When the last answer came, in ms; -1 before the first. */
    long answeredAtMs() {
        return answeredAtMs;
    }

    boolean isEmpty() {
        return parts.isEmpty();
    }

    Collection<MirrorPart> parts() {
        return List.copyOf(parts.values());
    }

    void add(MirrorPart part, Slot slot) {
        if (parts.put(part.source, part) == null) {
            if (part.source.topicId().equals(Uuid.ZERO_UUID)) {
                withoutId++;
            } else {
                names.put(part.source.topicId(), part.source.topic());
            }
        }
        session.put(part.source, slot);
        pumpSoon();
    }

    /** The next request asks from this slot on. */
    void move(MirrorPart part, Slot slot) {
        session.put(part.source, slot);
    }

    /** Leader epoch that requests for the partition carry; -1 when it is not here. */
    int epochOf(MirrorPart part) {
        Slot slot = session.slot(part.source);
        return slot == null ? -1 : slot.leaderEpoch();
    }

    void remove(MirrorPart part) {
        if (parts.remove(part.source) != null && part.source.topicId().equals(Uuid.ZERO_UUID)) {
            withoutId--;
        }
        session.remove(part.source);
        pumpSoon();
    }

    void close() {
        closed = true;
        parts.clear();
        if (connection != null) {
            connection.close();
        }
    }

    private void pumpSoon() {
        if (!pumpPosted) {
            pumpPosted = true;
            mirror.turns().post(() -> {
                pumpPosted = false;
                pump();
            });
        }
    }

    private void pump() {
        if (closed || inFlight || silent || connecting || parts.isEmpty() || unappended > ANSWERS_UNAPPENDED_MAX) {
            return;
        }
        if (connection == null) {
            connect();
            return;
        }
        if (waitingForBudget) {
            return;
        }
        FetchPlan.Limits limits = mirror.config().fetch();
        long granted = mirror.budget().take(FetchPlan.shareMin(limits), limits.responseBytes(), this::budgetIsBack);
        if (granted == 0) {
            waitingForBudget = true;
            return;
        }
        int speaks = connection.version(FETCH).orElse(FETCH_VERSION_MIN);
        boolean byId = withoutId == 0 && speaks >= FETCH_BY_ID;
        int version = byId ? speaks : Math.min(speaks, FETCH_BY_ID - 1);
        if (byId != sessionById) {
            session.reset(); // a session is by name or by id, never both
            sessionById = byId;
        }
        Plan<SourceKey> plan = session.next();
        FetchRequestData request = request(plan, FetchPlan.within(limits, granted), version);
        inFlight = true;
        Connection used = connection;
        source.onLoop(used.send(request, version), reply -> onAnswer(used, plan, granted, reply), failure -> {
            mirror.budget().give(granted);
            lost(used, failure);
        });
    }

    private void budgetIsBack() {
        mirror.turns().post(() -> {
            waitingForBudget = false;
            pump();
        });
    }

    private FetchRequestData request(Plan<SourceKey> plan, FetchPlan.Limits limits, int version) {
        Map<String, FetchTopic> topics = new LinkedHashMap<>();
        for (Map.Entry<SourceKey, Slot> e : plan.toSend().entrySet()) {
            SourceKey key = e.getKey();
            Slot slot = e.getValue();
            topics.computeIfAbsent(
                            key.topic() + '/' + key.topicId(),
                            k -> new FetchTopic().setTopic(key.topic()).setTopicId(key.topicId()))
                    .partitions()
                    .add(new FetchPartition()
                            .setPartition(key.partition())
                            .setFetchOffset(slot.offset())
                            .setCurrentLeaderEpoch(slot.leaderEpoch())
                            .setLastFetchedEpoch(version >= FETCH_LAST_EPOCH ? slot.lastEpoch() : -1)
                            .setPartitionMaxBytes(slot.bytesMax()));
        }
        Map<String, ForgottenTopic> forgotten = new LinkedHashMap<>();
        for (SourceKey key : plan.toForget()) {
            forgotten
                    .computeIfAbsent(
                            key.topic() + '/' + key.topicId(),
                            k -> new ForgottenTopic().setTopic(key.topic()).setTopicId(key.topicId()))
                    .partitions()
                    .add(key.partition());
        }
        return new FetchRequestData()
                .setMaxWaitMs(limits.waitMs())
                .setMinBytes(limits.minBytes())
                .setMaxBytes(limits.responseBytes())
                .setIsolationLevel((byte) 0)
                .setSessionId(plan.sessionId())
                .setSessionEpoch(plan.sessionEpoch())
                .setTopics(new ArrayList<>(topics.values()))
                .setForgottenTopicsData(new ArrayList<>(forgotten.values()));
    }

    private void onAnswer(Connection used, Plan<SourceKey> plan, long granted, Reply reply) {
        long more = reply.sizeInBytes() - granted;
        if (more > 0) {
            mirror.budget().takeMore(more);
        }
        // what was granted but not used comes back at once
        long held = more > 0 ? granted + more : reply.sizeInBytes();
        if (held < granted) {
            mirror.budget().give(granted - held);
        }
        FetchAnswer answer = new FetchAnswer(
                reply, () -> mirror.budget().give(held), () -> mirror.turns().post(this::appended));
        unappended++;
        try {
            if (used != connection || closed) {
                return;
            }
            inFlight = false;
            attempts = 0;
            answeredAtMs = mirror.turns().nowMs();
            source.reachable();
            FetchResponseData body = (FetchResponseData) reply.body();
            if (body.errorCode() != 0) {
                onSessionError(Errors.forCode(body.errorCode()));
                return;
            }
            session.onAnswer(body.sessionId());
            for (FetchResponseData.FetchableTopicResponse topic : body.responses()) {
                String name = topic.topicId().equals(Uuid.ZERO_UUID) ? topic.topic() : names.get(topic.topicId());
                for (FetchResponseData.PartitionData data : topic.partitions()) {
                    onPartition(plan, name, topic.topicId(), data, answer);
                }
            }
            if (body.throttleTimeMs() > 0) {
                silentFor(Math.min(body.throttleTimeMs(), THROTTLE_MAX_MS));
            }
        } finally {
            answer.walked();
            pump();
        }
    }

    private void onPartition(
            Plan<SourceKey> plan, String name, Uuid id, FetchResponseData.PartitionData data, FetchAnswer answer) {
        if (name == null) {
            return; // removed meanwhile
        }
        // an answer by name does not tell the id: the one we asked for is the only one in the session
        SourceKey key = new SourceKey(name, id, data.partitionIndex());
        if (!parts.containsKey(key) && id.equals(Uuid.ZERO_UUID)) {
            key = new SourceKey(name, source.topicId(name), data.partitionIndex());
        }
        Slot asked = session.asked(key, plan.number());
        MirrorPart part = parts.get(key);
        if (asked != null && part != null) {
            listener.onPartition(this, part, asked, data, answer);
        }
    }

    private void appended() {
        unappended--;
        pump();
    }

    private void onSessionError(Errors error) {
        session.reset();
        boolean sessionOnly = error == Errors.FETCH_SESSION_ID_NOT_FOUND
                || error == Errors.INVALID_FETCH_SESSION_EPOCH
                || error == Errors.FETCH_SESSION_TOPIC_ID_ERROR;
        mirror.meters().fetchError(error.name());
        if (!sessionOnly) {
            LOG.atWarn()
                    .addKeyValue("mirror", mirror.name())
                    .addKeyValue("sourceBroker", node)
                    .addKeyValue("error", error)
                    .log("The source broker refused a fetch");
            silentFor(mirror.config().fetchBackoffMs());
        }
    }

    /** A quota of the source, or a refusal: no request for a while. */
    private void silentFor(long delayMs) {
        silent = true;
        mirror.turns().after(delayMs, () -> {
            silent = false;
            pump();
        });
    }

    private void connect() {
        connecting = true;
        source.connect(node, this::greet, failure -> {
            connecting = false;
            lost(null, failure);
        });
    }

    /** No fetch goes out before the other end has shown that it belongs to the pinned cluster. */
    private void greet(Connection made) {
        if (closed) {
            connecting = false;
            made.close();
            return;
        }
        int version = made.version(FETCH).orElse(-1);
        if (version < FETCH_VERSION_MIN) {
            connecting = false;
            made.close();
            listener.onUnusable(
                    this,
                    "source broker " + made.node() + " speaks Fetch up to version " + version + "; at least "
                            + FETCH_VERSION_MIN + " is needed");
            return;
        }
        MetadataRequestData who =
                new MetadataRequestData().setTopics(new ArrayList<>()).setAllowAutoTopicCreation(false);
        source.onLoop(
                made.send(who),
                reply -> {
                    connecting = false;
                    String id;
                    try (reply) {
                        id = ((MetadataResponseData) reply.body()).clusterId();
                    }
                    if (closed || !source.trusted(id)) {
                        made.close();
                        return;
                    }
                    source.reachable();
                    connection = made;
                    session.reset();
                    made.closed().whenComplete((why, bug) -> mirror.turns().post(() -> lost(made, why)));
                    pump();
                },
                failure -> {
                    connecting = false;
                    made.close();
                    lost(null, failure);
                });
    }

    private void lost(Connection which, Throwable why) {
        if (closed || which != connection) {
            return;
        }
        if (connection != null) {
            connection.close();
        }
        connection = null;
        inFlight = false;
        session.reset();
        attempts++;
        listener.onLost(this, why);
        connecting = true; // until the timer fires
        long delay = RetryPolicy.backoffMs(
                attempts, RECONNECT_INITIAL_MS, RECONNECT_MAX_MS, mirror.turns().jitter());
        mirror.turns().after(Math.max(delay, RECONNECT_INITIAL_MS / 2), () -> {
            connecting = false;
            pump();
        });
    }
}
