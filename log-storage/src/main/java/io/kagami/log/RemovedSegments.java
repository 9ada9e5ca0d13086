package io.kagami.log;

import io.kagami.log.disk.Disk;
import io.kagami.log.segment.FileNames;
import io.kagami.log.segment.Segment;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Queue;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Segments that have left their logs: their files have other names already and are removed after {@code file.delete.delay.ms}, which is
 * repeated until it works; the segments stay open a while, so that whoever looks at an older view of the log finds them. Any thread.
 */
final class RemovedSegments {
    private static final Logger LOG = LoggerFactory.getLogger(RemovedSegments.class);

    /** Longer than anybody works with one view, but for replays of whole logs, which ask for new ones. */
    private static final long READABLE_MS = 30_000;

    /** Each holds a file descriptor and mapped indexes. */
    private static final int OPEN_MAX = 1_000;

    private record Doomed(Disk disk, Path directory, long baseOffset, long atMs) {}

    private record Open(Segment segment, long untilMs) {}

    private final Queue<Doomed> doomed = new ArrayDeque<>();
    private final Queue<Open> open = new ArrayDeque<>();

    /**
     * Takes over a segment whose files were renamed, with the lease of its log.
     *
     * @param delayMs how long the files stay
     */
    void add(Segment segment, Disk disk, Path directory, long nowMs, long delayMs) {
        Segment oldest = null;
        synchronized (this) {
            doomed.add(new Doomed(disk, directory, segment.baseOffset(), plus(nowMs, delayMs)));
            open.add(new Open(segment, plus(nowMs, READABLE_MS)));
            if (open.size() > OPEN_MAX) {
                oldest = open.remove().segment();
            }
        }
        if (oldest != null) {
            release(oldest);
        }
    }

    private static long plus(long nowMs, long ms) {
        return nowMs + Math.max(0, Math.min(ms, Long.MAX_VALUE - nowMs));
    }

    /** Removes and closes what is due. */
    void sweep(long nowMs) {
        List<Doomed> due = new ArrayList<>();
        List<Segment> unread = new ArrayList<>();
        synchronized (this) {
            for (Iterator<Doomed> each = doomed.iterator(); each.hasNext(); ) {
                Doomed next = each.next();
                if (next.atMs() <= nowMs) {
                    due.add(next);
                    each.remove();
                }
            }
            while (!open.isEmpty() && open.peek().untilMs() <= nowMs) {
                unread.add(open.remove().segment());
            }
        }
        unread.forEach(RemovedSegments::release);
        due.forEach(this::remove);
    }

    private void remove(Doomed each) {
        try {
            Segment.deleteFiles(each.disk(), each.directory(), each.baseOffset(), FileNames.DELETED);
        } catch (IOException e) {
            LOG.atWarn()
                    .addKeyValue("directory", each.directory())
                    .addKeyValue("segment", each.baseOffset())
                    .setCause(e)
                    .log("Files of a deleted segment cannot be removed; it is tried again");
            synchronized (this) {
                doomed.add(each);
            }
        }
    }

    /** Closes all; files not yet removed are at the next start. */
    void close() {
        List<Open> rest;
        synchronized (this) {
            rest = List.copyOf(open);
            open.clear();
            doomed.clear();
        }
        rest.forEach(each -> release(each.segment()));
    }

    private static void release(Segment segment) {
        try {
            segment.release();
        } catch (IOException e) {
            LOG.atWarn().addKeyValue("segment", segment.path()).setCause(e).log("Deleted segment could not be closed");
        }
    }

    synchronized int waiting() {
        return doomed.size();
    }
}
