package io.kagami.raft;

import io.kagami.raft.core.Entry;
import io.kagami.raft.disk.Disk;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The files {@code log-FIRSTINDEX.raft}: append-only, rolled by size and at every snapshot. Only the last one is written. */
final class LogFiles {
    private static final Logger LOG = LoggerFactory.getLogger(LogFiles.class);
    private static final String PREFIX = "log-";
    private static final String SUFFIX = ".raft";

    private final Disk disk;
    private final long fileBytesMax;
    private final TreeMap<Long, String> files = new TreeMap<>();
    private Disk.OutFile out;
    private long outBytes;
    private long lastIndex;

    LogFiles(Disk disk, long fileBytesMax) {
        this.disk = disk;
        this.fileBytesMax = fileBytesMax;
    }

    /** Reads all entries above the snapshot's index, cuts a torn tail, and leaves the last file open to append. */
    List<Entry> load(long snapshotIndex) throws IOException {
        for (String name : disk.list()) {
            if (name.startsWith(PREFIX) && name.endsWith(SUFFIX)) {
                files.put(indexIn(name), name);
            }
        }
        removeUnbornLastFile();
        List<Entry> entries = new ArrayList<>();
        lastIndex = snapshotIndex;
        Long first = files.floorKey(snapshotIndex + 1);
        if (first == null && !files.isEmpty()) {
            throw new StoreFault(disk.describe(files.firstEntry().getValue()) + " begins at index " + files.firstKey()
                    + ", but the newest readable snapshot ends at " + snapshotIndex
                    + ". Entries in between are missing: restore the directory from a backup.");
        }
        if (first != null) {
            for (long at : List.copyOf(files.tailMap(first, true).keySet())) {
                readFile(at, at == files.lastKey(), entries, snapshotIndex);
            }
        }
        if (out != null && lastIndex < snapshotIndex) {
            // the log ends below the snapshot: go on in a file that begins right after it
            out.close();
            out = null;
        }
        lastIndex = Math.max(lastIndex, snapshotIndex);
        return entries;
    }

    /** Durable on return. */
    void append(List<Entry> entries) throws IOException {
        if (entries.get(0).index() != lastIndex + 1) {
            throw new IllegalArgumentException(entries.get(0) + " does not continue the stored log at " + lastIndex);
        }
        if (out == null || outBytes >= fileBytesMax) {
            roll();
        }
        var frame = Frames.frame(entries);
        int bytes = frame.remaining();
        out.write(frame);
        out.force();
        outBytes += bytes;
        lastIndex = entries.get(entries.size() - 1).index();
    }

    /** The next append begins a new file, so that the old ones can be deleted as a whole. */
    void rollNext() throws IOException {
        if (out != null && outBytes > Frames.FILE_HEADER_BYTES) {
            out.close();
            out = null;
        }
    }

    /** Deletes files whose entries all lie at or below the index, oldest first. */
    void dropUpTo(long index) throws IOException {
        boolean dropped = false;
        while (files.size() > 1 && files.higherKey(files.firstKey()) <= index + 1) {
            disk.delete(files.pollFirstEntry().getValue());
            dropped = true;
        }
        if (dropped) {
            disk.forceDirectory();
        }
    }

    void close() throws IOException {
        if (out != null) {
            out.close();
            out = null;
        }
    }

    private void roll() throws IOException {
        close();
        long first = lastIndex + 1;
        String name = String.format("%s%020d%s", PREFIX, first, SUFFIX);
        out = disk.create(name);
        out.write(Frames.fileHeader(first));
        out.force();
        disk.forceDirectory();
        outBytes = Frames.FILE_HEADER_BYTES;
        files.put(first, name);
    }

    /** A crash while a file was created leaves one without a whole header; nothing in it was ever acknowledged. */
    private void removeUnbornLastFile() throws IOException {
        if (files.isEmpty()) {
            return;
        }
        String name = files.lastEntry().getValue();
        byte[] bytes = disk.read(name);
        if (Frames.firstIndex(bytes, disk.describe(name)) != null) {
            return;
        }
        int intact = Frames.findAfter(bytes, 0, 0);
        if (intact >= 0) {
            throw damaged(name, 0, intact);
        }
        LOG.atWarn()
                .addKeyValue("file", disk.describe(name))
                .addKeyValue("bytes", bytes.length)
                .log("removed a log file that a crash left without a header");
        disk.delete(name);
        disk.forceDirectory();
        files.remove(files.lastKey());
    }

    private void readFile(long firstIndex, boolean last, List<Entry> entries, long snapshotIndex) throws IOException {
        String name = files.get(firstIndex);
        byte[] bytes = disk.read(name);
        Long inHeader = Frames.firstIndex(bytes, disk.describe(name));
        if (inHeader == null || inHeader != firstIndex) {
            throw new StoreFault(disk.describe(name)
                    + " is damaged at position 0: its header is not that of a log file that begins at index "
                    + firstIndex + ". Restore the file from a backup.");
        }
        long expected = firstIndex;
        boolean coveredBySnapshot = entries.isEmpty() && firstIndex <= snapshotIndex + 1;
        if (firstIndex != lastIndex + 1 && !coveredBySnapshot) {
            throw new StoreFault(disk.describe(name) + " begins at index " + firstIndex
                    + ", the file before it ends at " + lastIndex + ". Restore the missing file from a backup.");
        }
        int at = Frames.FILE_HEADER_BYTES;
        while (at < bytes.length) {
            Frames.Frame frame = Frames.read(bytes, at);
            if (frame == null) {
                break;
            }
            for (Entry entry : frame.entries()) {
                if (entry.index() != expected) {
                    throw new StoreFault(
                            disk.describe(name) + " is damaged at position " + at + ": entry " + entry.index()
                                    + " stands where entry " + expected + " belongs. Restore the file from a backup.");
                }
                expected++;
                if (entry.index() > snapshotIndex) {
                    entries.add(entry);
                }
            }
            at = frame.nextPosition();
        }
        lastIndex = expected - 1;
        if (at < bytes.length) {
            int intact = Frames.findAfter(bytes, at + 1, expected);
            if (intact >= 0 || !last) {
                throw damaged(name, at, intact);
            }
            LOG.atWarn()
                    .addKeyValue("file", disk.describe(name))
                    .addKeyValue("position", at)
                    .addKeyValue("bytes", bytes.length - at)
                    .log("cut the torn tail of the log, which was never acknowledged");
        }
        if (last) {
            out = disk.append(name, at);
            out.force();
            outBytes = at;
        }
    }

    private StoreFault damaged(String name, int at, int intact) {
        return new StoreFault(disk.describe(name) + " is damaged at position " + at
                + (intact >= 0
                        ? "; intact entries follow at position " + intact + ", so this is no torn tail"
                        : "; newer log files follow, so this is no torn tail")
                + ". Acknowledged entries would be lost: restore the file from a backup.");
    }

    private static long indexIn(String name) {
        String digits = name.substring(PREFIX.length(), name.length() - SUFFIX.length());
        try {
            return Long.parseLong(digits);
        } catch (NumberFormatException e) {
            throw new StoreFault(
                    "a file called " + name + " is no log file: its name holds no index. Move it away.", e);
        }
    }
}
