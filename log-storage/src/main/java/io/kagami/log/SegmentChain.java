package io.kagami.log;

import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.Disk;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.FileNames;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentList;
import io.kagami.log.segment.SegmentLoad;
import io.kagami.log.segment.SegmentSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The segments of one log in its directory, and every change of which ones there are. Writer only, but for {@link #forceIfChanged}. */
final class SegmentChain implements RecoveryPoint.DirectoryForce {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentChain.class);

    private final Disk disk;
    private final Path directory;
    private final RemovedSegments removed;
    private SegmentSettings settings;
    private SegmentList segments;
    private Segment active;
    private long sealedBytes;
    private volatile boolean directoryChanged = true;

    SegmentChain(Disk disk, Path directory, SegmentSettings settings, SegmentList segments, RemovedSegments removed) {
        this.disk = disk;
        this.directory = directory;
        this.removed = removed;
        this.settings = settings;
        use(segments);
    }

    Disk disk() {
        return disk;
    }

    Path directory() {
        return directory;
    }

    SegmentList list() {
        return segments;
    }

    /** The one that is appended to. */
    Segment active() {
        return active;
    }

    long sizeInBytes() {
        return sealedBytes + active.size();
    }

    SegmentSettings settings() {
        return settings;
    }

    /** Base offset of the segment that a cut at this offset falls into. */
    long baseOffsetAt(long offset) {
        return segments.get(segments.floor(offset)).baseOffset();
    }

    /** For segments made from now on. */
    void settings(SegmentSettings changed) {
        settings = changed;
    }

    private void use(SegmentList list) {
        segments = list;
        active = list.last();
        sealedBytes = list.sizeInBytes() - active.size();
    }

    void roll(long baseOffset, long nowMs) throws IOException {
        active.seal();
        Segment next = Segment.create(disk, directory, baseOffset, settings, nowMs);
        directoryChanged = true;
        use(segments.plus(next));
    }

    /**
     * A segment begins where the one before ends, also when offsets are missing there: after a power cut a gap between two segments
     * then means lost bytes. Only an offset too far away for the index needs a gap, behind an empty segment.
     */
    void rollFor(ByteBuffer batches, int at, long endOffset, long nowMs) throws IOException {
        if (active.size() > 0) {
            roll(endOffset, nowMs);
        }
        if (BatchHeader.lastOffset(batches, at) - active.baseOffset() > Integer.MAX_VALUE) {
            roll(firstOffsetOf(batches, at, endOffset), nowMs);
        }
    }

    /** Where a segment that begins with this batch begins; a v0/v1 wrapper tells its last offset only. */
    private static long firstOffsetOf(ByteBuffer batches, int at, long endOffset) {
        long base = BatchHeader.baseOffset(batches, at);
        return BatchHeader.magic(batches, at) >= 2 ? base : Math.max(endOffset, base - Integer.MAX_VALUE);
    }

    /**
     * Cuts at an offset, the last segment first: whatever a crash leaves is an older, shorter state of this log.
     *
     * @return the log end: behind the last batch that is wholly below the offset
     */
    long cutAt(long newEnd, long nowMs) throws IOException {
        int keep = segments.floor(newEnd);
        removeFrom(keep + 1);
        return cut(segments.get(keep), newEnd, keep, nowMs);
    }

    private void removeFrom(int index) throws IOException {
        for (int i = segments.count() - 1; i >= index; i--) {
            segments.get(i).deleteFiles();
        }
        disk.forceDirectory(directory);
        List<Segment> gone = segments.without(index).all();
        segments = segments.first(index);
        for (Segment segment : gone) {
            segment.release();
        }
    }

    /** Shortens a segment and opens it again as the one to append to; readers of the old one keep its mapped indexes. */
    private long cut(Segment old, long newEnd, int index, long nowMs) throws IOException {
        BatchScan found = old.find(newEnd, old.size(), ByteBuffer.allocateDirect(BatchScan.WINDOW_BYTES));
        int bytes = found == null ? old.size() : (int) found.position();
        Map<Long, Aborted> byMarker = new HashMap<>();
        old.aborted().entries().forEach(entry -> byMarker.put(entry.lastOffset(), entry));
        old.cutTo(bytes);
        SegmentLoad load = new SegmentLoad(disk, directory, settings, batch -> byMarker.get(batch.lastOffset()), nowMs);
        SegmentLoad.Loaded loaded = load.load(old.baseOffset(), 0, new SegmentLoad.Mode(false, false, true));
        use(segments.first(index).plus(loaded.segment()));
        old.release();
        directoryChanged = true;
        return loaded.endOffset();
    }

    /** Removes all segments durably and begins anew at an offset. */
    void restartAt(long offset, long nowMs) throws IOException {
        removeFrom(0);
        use(SegmentList.of(List.of(Segment.create(disk, directory, offset, settings, nowMs))));
        directoryChanged = true;
    }

    /**
     * Takes the segments that lie wholly below an offset out of the chain; never the active one. Their files are still there.
     *
     * @return what the caller removes with {@link #delete} once no new reader can find it
     */
    List<Segment> dropBelow(long startOffset) {
        int gone = 0;
        while (gone + 1 < segments.count() && segments.get(gone + 1).baseOffset() <= startOffset) {
            gone++;
        }
        List<Segment> dropped = segments.first(gone).all();
        use(segments.without(gone));
        return dropped;
    }

    /**
     * Gives the files of segments that left the chain other names, the oldest first, and has them removed later; readers that hold them go on.
     * Files that are missing are passed over (KAFKA-6324).
     */
    void delete(List<Segment> dropped, long nowMs, long delayMs) throws IOException {
        for (Segment segment : dropped) {
            Segment.rename(disk, directory, segment.baseOffset(), "", FileNames.DELETED, false);
            directoryChanged = true;
            removed.add(segment, disk, directory, nowMs, delayMs);
        }
    }

    /**
     * Puts one segment, whose files are complete and end in {@code .cleaned}, in the place of some neighbours. A crash at any point leaves either
     * the old ones or what {@link SwapRecovery} makes the new one of: names change on disk in the order they are changed here.
     *
     * @return false when the old ones are not all there any more
     */
    boolean replace(List<Segment> old, Segment cleaned, long nowMs, long delayMs) throws IOException {
        int from = segments.floor(old.get(0).baseOffset());
        int to = from + old.size();
        if (to >= segments.count() || !segments.all().subList(from, to).equals(old)) {
            return false; // the last one, which is appended to, is never replaced
        }
        Segment.rename(disk, directory, cleaned.baseOffset(), FileNames.CLEANED, FileNames.SWAP, true);
        for (Segment segment : old) {
            Segment.rename(disk, directory, segment.baseOffset(), "", FileNames.DELETED, false);
        }
        Segment.rename(disk, directory, cleaned.baseOffset(), FileNames.SWAP, "", true);
        directoryChanged = true;
        List<Segment> all = new ArrayList<>(segments.first(from).all());
        all.add(cleaned);
        all.addAll(segments.without(to).all());
        use(SegmentList.of(all));
        old.forEach(segment -> removed.add(segment, disk, directory, nowMs, delayMs));
        return true;
    }

    /** Makes created and removed names durable. Any thread. */
    @Override
    public void forceIfChanged() throws IOException {
        if (directoryChanged) {
            directoryChanged = false;
            disk.forceDirectory(directory);
        }
    }

    /** Gives up the files; false when one could not be closed. */
    boolean release() {
        boolean clean = true;
        for (Segment segment : segments.all()) {
            try {
                segment.release();
            } catch (IOException e) {
                LOG.atError().addKeyValue("segment", segment.path()).setCause(e).log("Segment could not be closed");
                clean = false;
            }
        }
        return clean;
    }
}
