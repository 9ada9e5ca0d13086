package io.kagami.broker.adopt;

import io.kagami.log.disk.FileDisk;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.FileNames;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;

/**
 * Checks the segments that a crashed broker had not forced yet, all but the last one, byte by byte. Kafka's compaction leaves holes
 * between segments, and a start of this broker would take a hole behind the recovery point for lost bytes: so the point is moved up over
 * segments that are whole. The last one, and everything from the first damaged one on, is left to the start.
 */
final class TailCheck {
    private final FileDisk disk;
    private final Path directory;

    TailCheck(FileDisk disk, Path directory) {
        this.disk = disk;
        this.directory = directory;
    }

    /** The recovery point given or a higher one. */
    long wholeUpTo(long recoveryPoint) throws IOException {
        List<Long> bases = new ArrayList<>();
        for (Path file : disk.list(directory)) {
            if (file.toString().endsWith(FileNames.LOG + ".swap")) {
                return recoveryPoint; // a replacement of segments has to be finished first
            }
            OptionalLong base = FileNames.baseOffset(file, FileNames.LOG);
            base.ifPresent(bases::add);
        }
        long point = recoveryPoint;
        for (int i = 0; i + 1 < bases.size(); i++) {
            long next = bases.get(i + 1);
            if (next > recoveryPoint) {
                if (!whole(FileNames.of(directory, bases.get(i), FileNames.LOG))) {
                    break;
                }
                point = Math.max(point, next);
            }
        }
        return point;
    }

    private static boolean whole(Path segment) throws IOException {
        try (FileChannel channel = FileChannel.open(segment, StandardOpenOption.READ)) {
            BatchScan scan = new BatchScan(channel, 0, channel.size());
            while (scan.next()) {
                if (!scan.crcValid()) {
                    return false;
                }
            }
            return scan.fault() == null && scan.position() == channel.size();
        }
    }
}
