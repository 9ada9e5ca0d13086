package io.kagami.log.segment;

import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.Disk;
import io.kagami.log.index.OffsetIndex;
import io.kagami.log.index.TimeIndex;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Opens a segment that may have bytes: walks its batch headers (with their checksums when the last stop was not clean), tells them to
 * a {@link Sink}, cuts what does not belong, and checks every index entry against the batches. An index that does not fit is built anew.
 */
public final class SegmentLoad {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentLoad.class);

    private final Disk disk;
    private final Path directory;
    private final SegmentSettings settings;
    private final Sink sink;
    private final long nowMs;

    /** Learns from every batch in order; returns the transaction a batch aborted, or null. */
    public interface Sink {
        Aborted onBatch(BatchScan batch) throws IOException;
    }

    /**
     * What is to be done.
     *
     * @param checkCrc read every byte and check it
     * @param cut shorten the file behind the last good batch; otherwise bytes that cannot be right fail the load
     * @param growing whether the segment will be appended to
     * @param forcedTo everything below this offset was on disk: what cannot be right there is not cut but fails the load
     */
    public record Mode(boolean checkCrc, boolean cut, boolean growing, long forcedTo) {
        /** Nothing is known to have been forced. */
        public Mode(boolean checkCrc, boolean cut, boolean growing) {
            this(checkCrc, cut, growing, 0);
        }
    }

    /**
     * @param endOffset last offset of the last batch plus 1, or what the segment was told to begin at
     * @param faultyBytes bytes behind the last good batch
     * @param fault what is wrong with them, null when they are only torn or there are none
     */
    public record Loaded(Segment segment, long endOffset, long faultyBytes, String fault) {}

    public SegmentLoad(Disk disk, Path directory, SegmentSettings settings, Sink sink, long nowMs) {
        this.disk = disk;
        this.directory = directory;
        this.settings = settings;
        this.sink = sink;
        this.nowMs = nowMs;
    }

    /** @param nextOffset least offset the first batch may have */
    public Loaded load(long baseOffset, long nextOffset, Mode mode) throws IOException {
        Segment segment = Segment.open(disk, directory, baseOffset, settings, mode.growing(), nowMs);
        try {
            return scan(segment, Math.max(baseOffset, nextOffset), mode);
        } catch (IOException | RuntimeException e) {
            segment.release();
            throw e;
        }
    }

    private Loaded scan(Segment segment, long nextOffset, Mode mode) throws IOException {
        long fileBytes = segment.log().size();
        BatchScan scan = new BatchScan(segment.channel(), 0, Math.min(fileBytes, Integer.MAX_VALUE));
        IndexCheck check = new IndexCheck(segment);
        List<Aborted> aborted = new ArrayList<>();
        long end = nextOffset;
        String fault = null;
        while (scan.next()) {
            fault = fault(segment, scan, end, mode);
            if (fault != null) {
                break;
            }
            Aborted ended = sink.onBatch(scan);
            if (ended != null) {
                aborted.add(ended);
            }
            check.onBatch(scan);
            end = scan.lastOffset() + 1;
        }
        fault = fault == null ? scan.fault() : fault;
        int valid = Math.toIntExact(scan.position());
        if (valid < fileBytes) {
            if (!mode.cut() || end < mode.forcedTo()) {
                throw new Damage(segment.path() + " is damaged at position " + valid + ", offset " + end + ": "
                        + (fault == null ? "torn batch" : fault) + ". This and what follows, " + (fileBytes - valid)
                        + " of " + fileBytes + " bytes, was once known to be on disk; restore the file, or remove the"
                        + " partition directory to begin it anew (a mirror fills it again from its source)");
            }
            segment.log().truncate(valid);
            segment.log().force(); // or another power cut could bring the bytes back, behind batches appended meanwhile
        }
        segment.publish(valid);
        Segment whole = check.fits() ? segment : rebuildIndexes(segment, valid, mode);
        whole.aborted().replaceWith(merged(whole.aborted().entries(), aborted));
        return new Loaded(whole, end, fileBytes - valid, fault);
    }

    private static String fault(Segment segment, BatchScan scan, long nextOffset, Mode mode) throws IOException {
        String at = "batch with base offset " + scan.baseOffset() + " at position " + scan.position() + ": ";
        if (scan.baseOffset() < nextOffset) {
            return at + "it should start at or above offset " + nextOffset;
        }
        if (scan.lastOffset() - segment.baseOffset() > Integer.MAX_VALUE) {
            return at + "it lies more than 2^31-1 offsets above the segment's base offset";
        }
        if (mode.checkCrc() && !scan.crcValid()) {
            return at + "its checksum does not fit its bytes";
        }
        return null;
    }

    private Segment rebuildIndexes(Segment old, int valid, Mode mode) throws IOException {
        LOG.atInfo()
                .addKeyValue("segment", old.path())
                .addKeyValue("bytes", valid)
                .log("Indexes do not fit the segment or are missing; they are rebuilt from its batches");
        old.release();
        Segment.deleteIndexes(disk, directory, old.baseOffset());
        Segment segment = Segment.open(disk, directory, old.baseOffset(), settings, true, nowMs);
        try {
            BatchScan scan = new BatchScan(segment.channel(), 0, valid);
            while (scan.next()) {
                segment.note(
                        scan.baseOffset(),
                        scan.lastOffset(),
                        scan.maxTimestamp(),
                        (int) scan.position(),
                        scan.sizeInBytes());
            }
            segment.publish(valid);
            if (!mode.growing()) {
                segment.seal();
            }
            return segment;
        } catch (IOException | RuntimeException e) {
            segment.release();
            throw e;
        }
    }

    /** The file may know the first offset of a transaction whose batches are below the log start by now; else the scan is right. */
    private static List<Aborted> merged(List<Aborted> inFile, List<Aborted> scanned) {
        Map<Long, Aborted> byMarker = new HashMap<>();
        inFile.forEach(entry -> byMarker.put(entry.lastOffset(), entry));
        List<Aborted> merged = new ArrayList<>(scanned.size());
        for (Aborted entry : scanned) {
            Aborted known = byMarker.get(entry.lastOffset());
            boolean older = known != null
                    && known.producerId() == entry.producerId()
                    && known.firstOffset() < entry.firstOffset();
            merged.add(older ? known : entry);
        }
        return merged;
    }

    /** Follows both indexes while the batches go by: they must be what appending these batches would have written. */
    private static final class IndexCheck {
        private final Segment segment;
        private final OffsetIndex offsets;
        private final TimeIndex times;
        private final int interval;
        private int offsetEntry;
        private int timeEntry;
        private long lastEntryPosition;
        private long lastTimeEntryMs = -1;
        private boolean fits = true;

        IndexCheck(Segment segment) {
            this.segment = segment;
            this.offsets = segment.offsets();
            this.times = segment.times();
            this.interval = segment.settings().indexIntervalBytes();
        }

        void onBatch(BatchScan scan) {
            long position = scan.position();
            boolean entry = offsetEntry < offsets.count() && offsets.position(offsetEntry) == position;
            segment.noteIndexed(
                    scan.baseOffset(),
                    scan.lastOffset(),
                    scan.maxTimestamp(),
                    (int) position,
                    scan.sizeInBytes(),
                    entry);
            while (timeEntry < times.count() && times.offset(timeEntry) <= scan.lastOffset()) {
                boolean right = times.offset(timeEntry) == scan.lastOffset()
                        && times.timestamp(timeEntry) == segment.latestMs();
                fits &= right && times.timestamp(timeEntry) > lastTimeEntryMs;
                lastTimeEntryMs = times.timestamp(timeEntry);
                timeEntry++;
            }
            if (entry) {
                fits &= offsets.offset(offsetEntry) == scan.lastOffset() && lastTimeEntryMs == segment.latestMs();
                lastEntryPosition = position;
                offsetEntry++;
            } else {
                fits &= position - lastEntryPosition <= interval;
            }
        }

        boolean fits() {
            return fits && offsetEntry == offsets.count() && timeEntry == times.count();
        }
    }
}
