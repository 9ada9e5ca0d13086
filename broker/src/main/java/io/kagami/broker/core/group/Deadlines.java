package io.kagami.broker.core.group;

import java.util.Comparator;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;
import java.util.TreeSet;

/** The timers of a shard: at most one per kind, group and member, so their number is bounded by the members. */
final class Deadlines {
    /** What a timer is for. */
    enum Kind {
        /** The join phase of a group ends. */
        JOIN,
        /** Members of a group that never asked for their assignment are dropped. */
        SYNC,
        /** A member was not heard of. */
        SESSION,
        /** An id was handed out and nobody joined with it. */
        PENDING
    }

    /** A timer's name; the member is empty for those of a group. */
    record Key(String groupId, Kind kind, String memberId) {}

    private record Entry(long atMs, Key key) {}

    private final Map<Key, Long> times = new HashMap<>();
    private final TreeSet<Entry> order = new TreeSet<>(Comparator.comparingLong(Entry::atMs)
            .thenComparing(entry -> entry.key().groupId())
            .thenComparing(entry -> entry.key().kind())
            .thenComparing(entry -> entry.key().memberId()));

    void set(Key key, long atMs) {
        cancel(key);
        times.put(key, atMs);
        order.add(new Entry(atMs, key));
    }

    void cancel(Key key) {
        Long was = times.remove(key);
        if (was != null) {
            order.remove(new Entry(was, key));
        }
    }

    OptionalLong next() {
        return order.isEmpty()
                ? OptionalLong.empty()
                : OptionalLong.of(order.first().atMs());
    }

    /** Removes and returns the earliest timer that is due, or null. */
    Key takeDue(long nowMs) {
        if (order.isEmpty() || order.first().atMs() > nowMs) {
            return null;
        }
        Key key = order.first().key();
        cancel(key);
        return key;
    }

    int size() {
        return times.size();
    }
}
