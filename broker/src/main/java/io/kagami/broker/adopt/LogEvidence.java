package io.kagami.broker.adopt;

import io.kagami.broker.core.adopt.OpenTransaction;
import io.kagami.log.core.ProducerEntry;
import io.kagami.log.core.ProducerSnapshot;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.FileNames;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.OptionalLong;
import java.util.TreeMap;

/**
 * What the files of one partition directory say against each other and of transactions: segments that are missing although something
 * else tells of them, and transactions that have not ended. Changes nothing.
 */
final class LogEvidence {
    private static final List<String> BESIDE = List.of(FileNames.INDEX, FileNames.TIME_INDEX, FileNames.TXN_INDEX);
    private static final int SNAPSHOT_BYTES_MAX = 256 << 20;
    private static final int BASE_TIMESTAMP_AT = 27;

    private final FileDisk disk;
    private final boolean clean;
    private final long recoveryPoint;
    private final long start;
    private final NavigableMap<Long, Path> segments = new TreeMap<>();
    private final NavigableMap<Long, Path> snapshots = new TreeMap<>();
    private final NavigableMap<Long, Path> orphans = new TreeMap<>();
    private boolean replacing;

    /**
     * @param clean whether its broker was stopped well
     * @param recoveryPoint as it was written down: the log had all offsets below
     * @param start log start as it was written down, 0 when it was not
     */
    LogEvidence(FileDisk disk, Path directory, boolean clean, long recoveryPoint, long start) throws IOException {
        this.disk = disk;
        this.clean = clean;
        this.recoveryPoint = recoveryPoint;
        this.start = start;
        List<Path> files = disk.list(directory);
        files.forEach(file -> put(segments, file, FileNames.LOG));
        for (Path file : files) {
            String name = file.getFileName().toString();
            replacing |= name.endsWith(FileNames.SWAP);
            put(snapshots, file, FileNames.SNAPSHOT);
            BESIDE.forEach(suffix -> put(orphans, file, suffix));
        }
        orphans.keySet().removeAll(segments.keySet());
        // a segment that was on its way out loses its name before its indexes lose theirs
        files.forEach(file ->
                FileNames.baseOffset(file, FileNames.LOG + FileNames.DELETED).ifPresent(orphans::remove));
    }

    private static void put(Map<Long, Path> into, Path file, String suffix) {
        OptionalLong base = FileNames.baseOffset(file, suffix);
        if (base.isPresent() && Files.isRegularFile(file)) {
            into.putIfAbsent(base.getAsLong(), file);
        }
    }

    /** A sentence without its subject on segments that are missing, or null. */
    String missing() throws IOException {
        if (segments.isEmpty()) {
            long known = Math.max(recoveryPoint, start);
            if (known > 0) {
                return "has no segment at all, although offsets up to " + known + " were once known";
            }
            if (!orphans.isEmpty() || (!snapshots.isEmpty() && snapshots.lastKey() > 0)) {
                Path rest = orphans.isEmpty()
                        ? snapshots.lastEntry().getValue()
                        : orphans.firstEntry().getValue();
                return "has no segment at all, although it has " + rest.getFileName();
            }
            return null;
        }
        if (!orphans.isEmpty() && !replacing) {
            return "has " + orphans.firstEntry().getValue().getFileName() + " and not the segment that belongs to it";
        }
        if (clean && start > 0 && segments.firstKey() > start) {
            return "begins at offset " + segments.firstKey() + ", although its log start was written down as " + start;
        }
        // the last segment is never compacted, so that its end tells of all offsets
        if (segments.lastKey() < recoveryPoint && !replacing) {
            long end = end();
            return end < recoveryPoint
                    ? "ends at offset " + end + ", although everything below " + recoveryPoint + " was once known"
                    : null;
        }
        return null;
    }

    private long end() throws IOException {
        long end = segments.lastKey();
        try (FileChannel in = FileChannel.open(segments.lastEntry().getValue(), StandardOpenOption.READ)) {
            BatchScan scan = new BatchScan(in, 0, in.size());
            while (scan.next()) {
                end = scan.lastOffset() + 1;
            }
        }
        return end;
    }

    /** By first offset. */
    List<OpenTransaction> open() throws IOException {
        ProducerTable table = new ProducerTable();
        long from = 0;
        for (Map.Entry<Long, Path> snapshot : snapshots.descendingMap().entrySet()) {
            try {
                ByteBuffer bytes = ByteBuffer.wrap(disk.readAll(snapshot.getValue(), SNAPSHOT_BYTES_MAX));
                table = ProducerSnapshot.read(bytes, snapshot.getKey()).table();
                from = snapshot.getKey();
                break;
            } catch (ProducerSnapshot.Unreadable e) {
                from = 0; // an older one and more batches tell the same
            }
        }
        if (!clean || from < recoveryPoint || snapshots.isEmpty()) {
            replay(table, from);
        }
        List<OpenTransaction> open = new ArrayList<>();
        for (ProducerEntry entry : table.entries()) {
            if (entry.open()) {
                open.add(new OpenTransaction(
                        entry.producerId(),
                        entry.epoch(),
                        entry.coordinatorEpoch(),
                        entry.firstOffset(),
                        time(entry.firstOffset())));
            }
        }
        open.sort(Comparator.comparingLong(OpenTransaction::firstOffset));
        return List.copyOf(open);
    }

    private void replay(ProducerTable table, long from) throws IOException {
        Long first = segments.floorKey(from);
        for (Path segment : (first == null ? segments : segments.tailMap(first, true)).values()) {
            try (FileChannel in = FileChannel.open(segment, StandardOpenOption.READ)) {
                BatchScan scan = new BatchScan(in, 0, in.size());
                while (scan.next()) {
                    if (scan.lastOffset() >= from) {
                        table.onBatch(scan.header(), scan.at(), scan.control());
                    }
                }
            }
        }
    }

    private long time(long offset) throws IOException {
        Map.Entry<Long, Path> segment = segments.floorEntry(offset);
        if (segment == null) {
            return -1;
        }
        try (FileChannel in = FileChannel.open(segment.getValue(), StandardOpenOption.READ)) {
            BatchScan scan = new BatchScan(in, 0, in.size());
            while (scan.next()) {
                if (scan.lastOffset() >= offset) {
                    return scan.header().getLong(scan.at() + BASE_TIMESTAMP_AT);
                }
            }
            return -1;
        }
    }
}
