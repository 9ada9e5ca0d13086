package io.kagami.mirror;

import io.kagami.mirror.SourceCluster.Leader;
import io.kagami.mirror.core.FetchPlan;
import io.kagami.mirror.core.FetchSession.Slot;
import io.kagami.mirror.core.RetryPolicy;
import io.kagami.mirror.ports.LocalPartitions.Position;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/** Gives every partition that wants data to the connection of its source leader, and moves it when the leader moves. Loop only. */
final class Fetchers {
    private static final long LEADER_BACKOFF_INITIAL_MS = 100;
    private static final long LEADER_BACKOFF_MAX_MS = 5000;
    /** A partition whose local log is not open yet is looked at again after this. */
    private static final long LOCAL_WAIT_MS = 200;

    private record Key(int node, int index) {}

    private final MirrorContext mirror;
    private final SourceCluster source;
    private final SourceFetcher.Listener listener;
    private final Map<Key, SourceFetcher> fetchers = new HashMap<>();
    /** Want data, but nobody is known to lead them. */
    private final Set<MirrorPart> homeless = new LinkedHashSet<>();

    private boolean refreshing;
    private int refreshFailures;
    private boolean closed;

    Fetchers(MirrorContext mirror, SourceCluster source, SourceFetcher.Listener listener) {
        this.mirror = mirror;
        this.source = source;
        this.listener = listener;
    }

    /** Starts to fetch from the local log end, if the partition wants that and nothing of it is in flight. */
    void attach(MirrorPart part) {
        if (closed || !part.wantFetch || part.fetcher != null || part.appendsInFlight > 0 || source.isForeign()) {
            return;
        }
        Optional<Position> local = mirror.local().position(part.id);
        if (local.isEmpty()) {
            mirror.turns().after(LOCAL_WAIT_MS, () -> attach(part));
            return;
        }
        Leader leader = source.leader(part.id.topic(), part.id.partition());
        if (leader.node() < 0) {
            if (part.leaderErrors == 0 && !source.knows(part.id.topic())) {
                lookForLeader(part);
            } else {
                waitForLeader(part);
            }
            return;
        }
        homeless.remove(part);
        Key key = new Key(
                leader.node(),
                FetchPlan.connection(
                        part.id.topic(), part.id.partition(), mirror.options().fetchersPerBroker()));
        part.fetcher = fetchers.computeIfAbsent(key, k -> new SourceFetcher(mirror, source, k.node(), listener));
        part.fetcher.add(part, slot(local.get(), leader.epoch()));
    }

    private Slot slot(Position local, int leaderEpoch) {
        boolean empty = local.startOffset() == local.endOffset();
        int lastEpoch = empty ? -1 : local.lastBatchEpoch();
        return new Slot(
                local.endOffset(),
                lastEpoch,
                leaderEpoch,
                mirror.config().fetch().partitionBytes());
    }

    /** The state does not want data any more. */
    void stop(MirrorPart part) {
        part.wantFetch = false;
        detach(part);
    }

    /** Takes the partition off its connection; an answer on the way is dropped. */
    void detach(MirrorPart part) {
        part.generation++;
        homeless.remove(part);
        SourceFetcher from = part.fetcher;
        part.fetcher = null;
        if (from != null) {
            from.remove(part);
            if (from.isEmpty()) {
                from.close();
                fetchers.values().remove(from);
            }
        }
    }

    /** The broker we asked does not lead it (any more), or knows another epoch. {@code hinted}: the new leader is known already. */
    void leaderError(MirrorPart part, boolean hinted) {
        detach(part);
        if (hinted) {
            attach(part);
        } else {
            waitForLeader(part);
        }
    }

    /** Nobody was asked yet, as at a start: there is nothing to wait for, and all that are in this case are asked for together. */
    private void lookForLeader(MirrorPart part) {
        part.leaderErrors++;
        homeless.add(part);
        mirror.turns().post(this::refreshSoon);
    }

    private void waitForLeader(MirrorPart part) {
        part.leaderErrors++;
        mirror.turns().after(backoffMs(part.leaderErrors), () -> {
            if (part.wantFetch && part.fetcher == null && !closed) {
                homeless.add(part);
                refreshSoon();
            }
        });
    }

    private long backoffMs(int attempt) {
        return RetryPolicy.backoffMs(
                attempt,
                LEADER_BACKOFF_INITIAL_MS,
                LEADER_BACKOFF_MAX_MS,
                mirror.turns().jitter());
    }

    /** Asks who leads the topics of the homeless and of lost connections; one question at a time, for ever while it fails. */
    void refreshSoon() {
        if (refreshing || closed) {
            return;
        }
        refreshing = true;
        if (refreshFailures == 0) {
            refresh();
        } else {
            mirror.turns().after(backoffMs(refreshFailures), this::refresh);
        }
    }

    private void refresh() {
        Set<String> topics = new TreeSet<>();
        homeless.forEach(p -> topics.add(p.id.topic()));
        for (SourceFetcher fetcher : fetchers.values()) {
            if (!fetcher.connected()) {
                fetcher.parts().forEach(p -> topics.add(p.id.topic()));
            }
        }
        if (closed || topics.isEmpty() || source.isForeign()) {
            refreshing = false;
            return;
        }
        source.metadata(
                topics,
                answer -> {
                    refreshing = false;
                    refreshFailures = 0;
                    rehome();
                },
                failure -> {
                    refreshing = false;
                    refreshFailures++;
                    refreshSoon();
                });
    }

    /** The leaders may have changed. */
    void rehome() {
        List<MirrorPart> moved = new ArrayList<>(homeless);
        homeless.clear();
        for (SourceFetcher fetcher : fetchers.values()) {
            for (MirrorPart part : fetcher.parts()) {
                Leader leader = source.leader(part.id.topic(), part.id.partition());
                if (leader.node() >= 0
                        && (leader.node() != fetcher.node() || fetcher.epochOf(part) != leader.epoch())) {
                    moved.add(part);
                }
            }
        }
        for (MirrorPart part : moved) {
            detach(part);
            attach(part);
        }
    }

    void close() {
        closed = true;
        List.copyOf(fetchers.values()).forEach(SourceFetcher::close);
        fetchers.clear();
        homeless.clear();
    }
}
