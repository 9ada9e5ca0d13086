package io.kagami.log;

import io.kagami.log.disk.Disk;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.FileNames;
import io.kagami.log.segment.Segment;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Carries a replacement of segments, which a crash interrupted, to its end or undoes it (KAFKA-2118). The name {@code .log.swap} is the
 * decision: it appears when the new segment is completely on disk, and the segments it stands for disappear only afterwards. Can be
 * interrupted and begun again at any point itself.
 */
final class SwapRecovery {
    private static final Logger LOG = LoggerFactory.getLogger(SwapRecovery.class);

    private final Disk disk;
    private final Path directory;

    SwapRecovery(Disk disk, Path directory) {
        this.disk = disk;
        this.directory = directory;
    }

    /** Afterwards the directory has neither {@code .cleaned} nor {@code .swap} files that matter; others are leftovers. */
    void run() throws IOException {
        for (Path file : disk.list(directory)) {
            OptionalLong base = FileNames.baseOffset(file, FileNames.LOG + FileNames.SWAP);
            if (base.isPresent()) {
                finish(file, base.getAsLong());
            }
        }
    }

    private void finish(Path swap, long base) throws IOException {
        long end = endOf(swap, base);
        if (end < 0) {
            if (disk.exists(FileNames.of(directory, base, FileNames.LOG))) {
                LOG.atError()
                        .addKeyValue("file", swap)
                        .log("A compacted segment is damaged; the segments it was to replace are kept");
                Segment.deleteFiles(disk, directory, base, FileNames.SWAP);
                return;
            }
            end = base; // the only copy: whoever loads it decides
        }
        List<Path> files = disk.list(directory);
        for (Path file : files) {
            OptionalLong old = FileNames.baseOffset(file, FileNames.LOG);
            if (old.isPresent() && old.getAsLong() > base && old.getAsLong() < end) {
                Segment.deleteFiles(disk, directory, old.getAsLong());
            }
        }
        LOG.atInfo()
                .addKeyValue("file", swap)
                .addKeyValue("endOffset", end)
                .log("Finishing the replacement of segments that a crash interrupted");
        Segment.rename(disk, directory, base, FileNames.SWAP, "", true);
        disk.forceDirectory(directory);
    }

    /** Offset behind the last batch; -1 when the file is not whole. */
    private long endOf(Path swap, long base) throws IOException {
        try (DiskFile file = disk.open(swap)) {
            BatchScan scan = new BatchScan(file.channel(), 0, file.size());
            long end = base;
            while (scan.next()) {
                if (!scan.crcValid()) {
                    return -1;
                }
                end = scan.lastOffset() + 1;
            }
            return scan.fault() == null && scan.position() == file.size() && file.size() > 0 ? end : -1;
        }
    }
}
