package io.kagami.raft.core;

import java.util.ArrayList;
import java.util.List;

/**
 * The log above the last snapshot: a stable (durable) prefix and an unstable rest. Indexes are inclusive. Invariants:
 * {@code snapshotIndex <= stable <= lastIndex}, indexes without holes, terms not decreasing.
 */
public final class LogTail {
    private final List<Entry> entries = new ArrayList<>();
    private long snapshotIndex;
    private long snapshotTerm;
    private long stable;

    /** @param durable what the store holds above the snapshot, in order */
    public LogTail(long snapshotIndex, long snapshotTerm, List<Entry> durable) {
        this.snapshotIndex = snapshotIndex;
        this.snapshotTerm = snapshotTerm;
        this.stable = snapshotIndex;
        for (Entry entry : durable) {
            append(entry);
        }
        this.stable = lastIndex();
    }

    public long snapshotIndex() {
        return snapshotIndex;
    }

    public long lastIndex() {
        return snapshotIndex + entries.size();
    }

    public long lastTerm() {
        return entries.isEmpty()
                ? snapshotTerm
                : entries.get(entries.size() - 1).term();
    }

    /** Last index known to be on disk here. */
    public long stable() {
        return stable;
    }

    /** Term of an entry that is still here, or of the snapshot's last one. */
    public long termOf(long index) {
        return index == snapshotIndex ? snapshotTerm : entry(index).term();
    }

    public void append(Entry entry) {
        if (entry.index() != lastIndex() + 1 || entry.term() < lastTerm()) {
            throw new IllegalStateException(entry + " does not continue the log at " + lastIndex() + "@" + lastTerm());
        }
        entries.add(entry);
    }

    /** Entries not yet on disk. */
    public List<Entry> unstable() {
        return between(stable + 1, lastIndex());
    }

    public void stableTo(long index) {
        if (index < stable || index > lastIndex()) {
            throw new IllegalStateException("stable " + stable + ", last " + lastIndex() + ": cannot become " + index);
        }
        stable = index;
    }

    /** Both inclusive; a copy; empty when {@code to < from}. */
    public List<Entry> between(long from, long to) {
        if (to < from) {
            return List.of();
        }
        return List.copyOf(entries.subList(position(from), position(to) + 1));
    }

    /** Forgets entries up to and including the index, which must be stable. */
    public void compactTo(long index) {
        if (index <= snapshotIndex) {
            return;
        }
        if (index > stable) {
            throw new IllegalStateException("cannot compact to " + index + ", stable is " + stable);
        }
        long term = termOf(index);
        entries.subList(0, position(index) + 1).clear();
        snapshotIndex = index;
        snapshotTerm = term;
    }

    private Entry entry(long index) {
        return entries.get(position(index));
    }

    private int position(long index) {
        return Math.toIntExact(index - snapshotIndex - 1);
    }
}
