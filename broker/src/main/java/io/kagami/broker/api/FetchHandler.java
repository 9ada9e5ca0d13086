package io.kagami.broker.api;

import io.kagami.broker.api.FetchReader.Found;
import io.kagami.broker.api.FetchSessions.Turn;
import io.kagami.broker.api.FetchSessions.Wanted;
import io.kagami.broker.net.Session;
import io.kagami.broker.partition.Partition;
import io.kagami.broker.partition.Partitions;
import io.kagami.protocol.Request;
import io.kagami.protocol.codec.SliceRecords;
import io.netty.util.Timeout;
import io.netty.util.Timer;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.NodeEndpoint;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;

/**
 * Fetch 4 to 18, by name and from 13 on by topic id, with incremental sessions. The first partition that has something returns at least
 * one whole batch whatever the limits say; an offset inside a batch returns that batch; read_committed ends at the last stable offset
 * and lists aborted transactions. An error of any partition, or enough bytes, answers at once; else the answer waits for an append or
 * for the client's time. Records leave as ranges of the segment files.
 *
 * <p>Not here: followers (replica id 0 or more) are no replicas of anything on this broker and are refused; no throttling; no rack-aware
 * replica choice; batches are never converted to an older format.
 */
public final class FetchHandler implements Handler {
    private static final byte READ_COMMITTED = 1;
    private static final short LEADER_HINT_FROM = 16;
    private static final short REPLICA_STATE_FROM = 15;
    /** A waiting fetch looks this often whether its connection still exists. */
    private static final long LOOK_MS = 30_000;

    /** Where this broker can be reached by the clients of a listener. */
    public record Here(int nodeId, String host, int port) {}

    private final FetchReader reader;
    private final FetchSessions sessions;
    private final Timer timer;
    private final int bytesMax;
    private final Function<String, Here> here;
    private final InstantSource clock;
    private final Set<Waiting> parked = ConcurrentHashMap.newKeySet();
    private final AtomicBoolean stopping = new AtomicBoolean();

    /**
     * @param timer times out waiting fetches
     * @param bytesMax of one answer, whatever the client allows
     * @param sessionSlots incremental sessions kept
     * @param here by listener name
     */
    public FetchHandler(
            Partitions partitions,
            Timer timer,
            int bytesMax,
            int sessionSlots,
            Function<String, Here> here,
            InstantSource clock) {
        this.reader = new FetchReader(partitions);
        this.sessions = new FetchSessions(sessionSlots, clock, new Random());
        this.timer = timer;
        this.bytesMax = bytesMax;
        this.here = here;
        this.clock = clock;
    }

    @Override
    public CompletionStage<ApiMessage> handle(Request request, Session session) {
        FetchRequestData body = (FetchRequestData) request.body();
        Turn turn = sessions.open(body, request.version(), session);
        if (turn.error() != Errors.NONE) {
            return CompletableFuture.completedFuture(turn.answer(Map.of()));
        }
        int replica =
                request.version() >= REPLICA_STATE_FROM ? body.replicaState().replicaId() : body.replicaId();
        if (replica >= 0) {
            return CompletableFuture.completedFuture(turn.answer(refuseFollower(turn)));
        }
        Waiting waiting = new Waiting(request.version(), body, turn, session);
        waiting.look();
        return waiting.answer;
    }

    /** The broker stops: whoever waits is answered now with what there is, and nobody waits any more. */
    public void stop() {
        stopping.set(true);
        parked.forEach(Waiting::wake);
    }

    /** As Apache Kafka answers a replica that is not assigned. */
    private static Map<Wanted, PartitionData> refuseFollower(Turn turn) {
        Map<Wanted, PartitionData> all = new LinkedHashMap<>();
        for (Wanted wanted : turn.partitions()) {
            Errors error =
                    wanted.currentLeaderEpoch() >= 0 ? Errors.UNKNOWN_LEADER_EPOCH : Errors.NOT_LEADER_OR_FOLLOWER;
            all.put(
                    wanted,
                    new PartitionData()
                            .setPartitionIndex(wanted.key().partition())
                            .setErrorCode(error.code())
                            .setHighWatermark(-1)
                            .setRecords(FetchReader.empty()));
        }
        return all;
    }

    /** One fetch from its first look to its answer. Runs on the connection's I/O thread; wake-ups come from anywhere. */
    private final class Waiting {
        private final short version;
        private final Turn turn;
        private final Session session;
        private final boolean committed;
        private final int limit;
        private final int bytesMin;
        private final long deadlineMs;
        private final CompletableFuture<ApiMessage> answer = new CompletableFuture<>();
        private volatile Round round;

        Waiting(short version, FetchRequestData body, Turn turn, Session session) {
            this.version = version;
            this.turn = turn;
            this.session = session;
            this.committed = body.isolationLevel() == READ_COMMITTED;
            this.limit = Math.max(0, Math.min(body.maxBytes(), bytesMax));
            this.bytesMin = Math.min(body.minBytes(), limit);
            this.deadlineMs = clock.millis() + Math.max(0, body.maxWaitMs());
        }

        /** Reads, and answers when that is enough or the time is over; else waits for the next news. */
        void look() {
            List<Found> found = new ArrayList<>(turn.partitions().size());
            long bytes = 0;
            boolean enough = turn.partitions().isEmpty();
            for (Wanted wanted : turn.partitions()) {
                long left = Math.min(wanted.bytesMax(), limit - bytes);
                Found each = reader.read(wanted, committed, (int) Math.max(0, left), bytes == 0);
                found.add(each);
                bytes += each.bytes();
                enough |= each.atOnce();
            }
            long leftMs = deadlineMs - clock.millis();
            boolean over = leftMs <= 0 || session.closed() || stopping.get();
            if (enough || over || bytes >= bytesMin || anyMore(found)) {
                finish(found);
                return;
            }
            found.forEach(each -> release(each.data()));
            round = new Round();
            round.begin(found, Math.min(leftMs, LOOK_MS));
            parked.add(this);
            if (stopping.get()) {
                wake();
            }
        }

        void wake() {
            round.wake();
        }

        private boolean anyMore(List<Found> found) {
            for (Found each : found) {
                if (each.bytes() > 0 && each.more().getAsBoolean()) {
                    return true;
                }
            }
            return false;
        }

        private void finish(List<Found> found) {
            Map<Wanted, PartitionData> data = new LinkedHashMap<>();
            FetchResponseData.NodeEndpointCollection endpoints = new FetchResponseData.NodeEndpointCollection();
            for (int i = 0; i < found.size(); i++) {
                Found each = found.get(i);
                if (version >= LEADER_HINT_FROM) {
                    hintLeader(each, endpoints);
                }
                data.put(turn.partitions().get(i), each.data());
            }
            FetchResponseData response = turn.answer(data);
            response.setNodeEndpoints(endpoints);
            parked.remove(this);
            answer.complete(response);
        }

        /** A client whose epoch does not fit learns the right one without asking for metadata (KIP-951). */
        private void hintLeader(Found found, FetchResponseData.NodeEndpointCollection endpoints) {
            short error = found.data().errorCode();
            if (found.partition() == null
                    || (error != Errors.FENCED_LEADER_EPOCH.code() && error != Errors.NOT_LEADER_OR_FOLLOWER.code())) {
                return;
            }
            Here address = here.apply(session.listener());
            found.data()
                    .setCurrentLeader(new FetchResponseData.LeaderIdAndEpoch()
                            .setLeaderId(address.nodeId())
                            .setLeaderEpoch(found.partition().leaderEpoch()));
            if (endpoints.find(address.nodeId()) == null) {
                endpoints.add(new NodeEndpoint()
                        .setNodeId(address.nodeId())
                        .setHost(address.host())
                        .setPort(address.port()));
            }
        }

        /** One wait: many wake-ups may come, the first counts. */
        private final class Round {
            private final AtomicBoolean over = new AtomicBoolean();
            private final List<Runnable> cancels = new ArrayList<>();
            private Timeout timeout;

            void begin(List<Found> found, long ms) {
                timeout = timer.newTimeout(ignored -> wake(), ms, TimeUnit.MILLISECONDS);
                for (Found each : found) {
                    Partition partition = each.partition();
                    cancels.add(partition.onChange(each.end(), this::wake));
                }
            }

            private void wake() {
                if (!over.compareAndSet(false, true)) {
                    return;
                }
                try {
                    session.executor().execute(() -> {
                        timeout.cancel();
                        cancels.forEach(Runnable::run);
                        guardedLook();
                    });
                } catch (RejectedExecutionException e) {
                    // the event loops have stopped with the broker: there is nobody to answer
                    answer.completeExceptionally(e);
                }
            }
        }

        private void guardedLook() {
            try {
                look();
            } catch (RuntimeException | Error e) {
                answer.completeExceptionally(e);
            }
        }
    }

    private static void release(PartitionData data) {
        if (data.records() instanceof SliceRecords slice) {
            slice.release();
        }
    }
}
