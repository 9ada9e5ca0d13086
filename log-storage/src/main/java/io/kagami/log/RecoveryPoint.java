package io.kagami.log;

import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentList;
import java.io.IOException;
import java.util.function.Supplier;

/**
 * Up to where a log is known to be on disk, and from where it is written down to start. Raised by forcing, from any thread; lowered durably
 * by the writer before it cuts the log, so that a crash in between cannot leave either of them too high.
 */
final class RecoveryPoint {
    private final LogName name;
    private final Lowering lowering;
    private final Object lock = new Object();
    private final Object forcing = new Object();
    private volatile long point;
    private volatile long startToWrite;
    private volatile int truncations;
    private boolean cutting;

    /** Makes what was written down about a log durably no higher than these, before the log is cut. */
    interface Lowering {
        void lower(LogName name, long point, long start) throws IOException;
    }

    RecoveryPoint(LogName name, Lowering lowering, long point, long startToWrite) {
        this.name = name;
        this.lowering = lowering;
        this.point = point;
        this.startToWrite = startToWrite;
    }

    /** All bytes below are on disk. Any thread. */
    long point() {
        return point;
    }

    /** How often the log was cut or restarted since it was opened. Any thread. */
    int cuts() {
        return truncations;
    }

    /** The log start to write down; lowered before a restart below it. Any thread. */
    long startToWrite() {
        return startToWrite;
    }

    void startToWrite(long offset) {
        startToWrite = offset;
    }

    /**
     * Everything derived is lowered durably before a byte of the log goes, or a crash in between would leave it too high.
     *
     * @param end no log end that the cut can lead to is below it
     * @param start where the log may start at most
     */
    void lowerTo(long end, long start) throws IOException {
        synchronized (lock) {
            int next = truncations + 1;
            truncations = next;
            cutting = true;
            long lower = Math.min(point, end);
            point = lower;
        }
        long lowerStart = Math.min(startToWrite, start);
        startToWrite = lowerStart;
        lowering.lower(name, end, start);
    }

    /** The view shows the cut: what is forced from now on counts again. */
    void cutIsVisible() {
        synchronized (lock) {
            cutting = false;
        }
    }

    /**
     * Forces the segments that hold bytes above the point and raises it, unless the log is being cut meanwhile. Any thread.
     *
     * @param current the view of the log
     * @param activeToo whether the segment that is appended to is forced as well
     */
    void force(Supplier<SegmentedView> current, boolean activeToo, DirectoryForce directory) throws IOException {
        // one at a time: the second must not take for done what the first is still waiting for
        synchronized (forcing) {
            forceInTurn(current, activeToo, directory);
        }
    }

    private void forceInTurn(Supplier<SegmentedView> current, boolean activeToo, DirectoryForce directory)
            throws IOException {
        int generation;
        long from;
        SegmentedView seen;
        synchronized (lock) {
            generation = cutting ? -1 : truncations;
            from = point;
            seen = current.get();
        }
        SegmentList list = seen.segments();
        long reached = activeToo ? seen.endOffset() : list.last().baseOffset();
        for (int i = list.floor(from); i < list.count() - (activeToo ? 0 : 1) && reached > from; i++) {
            forceOne(list.get(i));
        }
        directory.forceIfChanged();
        synchronized (lock) {
            if (generation == truncations) {
                long higher = Math.max(point, reached);
                point = higher;
            }
        }
    }

    /** Makes names of files durable. */
    interface DirectoryForce {
        void forceIfChanged() throws IOException;
    }

    private static void forceOne(Segment segment) throws IOException {
        if (segment.retain()) { // else it left the log meanwhile
            try {
                segment.force();
            } finally {
                segment.release();
            }
        }
    }
}
