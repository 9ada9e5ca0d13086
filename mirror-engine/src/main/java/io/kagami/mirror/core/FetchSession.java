package io.kagami.mirror.core;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Client side of a fetch session (KIP-227): a request names only what changed since the last one, so that an idle partition costs
 * nothing. Owned by one thread. {@code K} names a partition; re-created topics have another key.
 */
public final class FetchSession<K> {
    /** Session epoch of a request that opens a session. */
    public static final int INITIAL_EPOCH = 0;

    /** Position of one partition: what a request says of it. */
    public record Slot(long offset, int lastEpoch, int leaderEpoch, int bytesMax) {}

    /**
     * One request.
     *
     * @param number counts the requests of this object
     * @param full a new session: {@code toSend} is everything
     */
    public record Plan<K>(
            long number, int sessionId, int sessionEpoch, boolean full, Map<K, Slot> toSend, List<K> toForget) {}

    /** @param sentIn number of the request that told the current slot; 0 = not told yet */
    private record Entry(Slot slot, long sentIn) {}

    /** What is asked least recently comes first, so that a server without sessions starves nobody. */
    private final Map<K, Entry> entries = new LinkedHashMap<>();
    /** Changed since the last request, in order of change. */
    private final Set<K> dirty = new LinkedHashSet<>();
    /** What the server's session holds. */
    private final Set<K> atServer = new HashSet<>();
    /** Part of {@link #atServer} that was removed here. */
    private final Set<K> forgotten = new LinkedHashSet<>();

    private int sessionId;
    private int sessionEpoch = INITIAL_EPOCH;
    private long number;

    public boolean isEmpty() {
        return entries.isEmpty();
    }

    /** Adds a partition or changes its slot; answers to requests sent before do not apply to it any more. */
    public void put(K key, Slot slot) {
        entries.remove(key);
        entries.put(key, new Entry(slot, 0));
        dirty.add(key);
        forgotten.remove(key);
    }

    public void remove(K key) {
        entries.remove(key);
        dirty.remove(key);
        if (atServer.contains(key)) {
            forgotten.add(key);
        }
    }

    /** The current slot, or null. */
    public Slot slot(K key) {
        Entry entry = entries.get(key);
        return entry == null ? null : entry.slot;
    }

    /** The slot that the request of this number asked for, or null when the partition was removed or changed since: a stale answer. */
    public Slot asked(K key, long requestNumber) {
        Entry entry = entries.get(key);
        return entry == null || entry.sentIn == 0 || entry.sentIn > requestNumber ? null : entry.slot;
    }

    /** The next request. */
    public Plan<K> next() {
        number++;
        boolean full = sessionEpoch == INITIAL_EPOCH;
        Map<K, Slot> toSend = new LinkedHashMap<>();
        List<K> toForget = new ArrayList<>();
        if (full) {
            atServer.clear();
            for (Map.Entry<K, Entry> e : entries.entrySet()) {
                toSend.put(e.getKey(), e.getValue().slot);
            }
        } else {
            for (K key : dirty) {
                toSend.put(key, entries.get(key).slot);
            }
            // the server applies this list last, so nothing may be in both
            toForget.addAll(forgotten);
        }
        for (Map.Entry<K, Slot> e : toSend.entrySet()) {
            entries.put(e.getKey(), new Entry(e.getValue(), number));
        }
        toForget.forEach(atServer::remove);
        atServer.addAll(toSend.keySet());
        dirty.clear();
        forgotten.clear();
        return new Plan<>(number, full ? 0 : sessionId, sessionEpoch, full, toSend, toForget);
    }

    /** A request succeeded; {@code id} 0 means that the server keeps no session for us. */
    public void onAnswer(int id) {
        if (id == 0) {
            reset();
        } else {
            sessionId = id;
            sessionEpoch = sessionEpoch == Integer.MAX_VALUE ? 1 : sessionEpoch + 1;
        }
    }

    /** The session is gone, or what the server knows of it is unknown: the next request opens a new one. */
    public void reset() {
        sessionId = 0;
        sessionEpoch = INITIAL_EPOCH;
        atServer.clear();
        forgotten.clear();
    }
}
