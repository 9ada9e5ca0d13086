package io.kagami.raft;

import io.kagami.raft.disk.Disk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Optional;
import java.util.TreeMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The files {@code snapshot-INDEX.raft}: written aside, forced, renamed, directory forced. The newest two are kept, so that a damaged
 * one is no loss: the log above the older one is kept too.
 *
 * <pre>
 * magic "KRSN" | int16 version 1 | int16 0 | int64 index | int64 term | int32 length | bytes | int32 CRC-32C of all before
 * </pre>
 */
final class SnapshotFiles {
    private static final Logger LOG = LoggerFactory.getLogger(SnapshotFiles.class);
    private static final String PREFIX = "snapshot-";
    private static final String SUFFIX = ".raft";
    private static final String TEMPORARY = "snapshot.tmp";
    private static final int MAGIC = 0x4B52534E;
    private static final short VERSION = 1;
    private static final int HEADER_BYTES = 28;
    private static final int KEPT = 2;

    private final Disk disk;
    /** Readable ones, by index. */
    private final TreeMap<Long, String> files = new TreeMap<>();

    SnapshotFiles(Disk disk) {
        this.disk = disk;
    }

    /** The newest readable snapshot. */
    Optional<RaftStore.Snapshot> load() throws IOException {
        RaftStore.Snapshot newest = null;
        for (String name : disk.list()) {
            if (!name.startsWith(PREFIX) || !name.endsWith(SUFFIX)) {
                continue;
            }
            RaftStore.Snapshot snapshot = parse(disk.read(name), disk.describe(name));
            if (snapshot == null) {
                LOG.atWarn()
                        .addKeyValue("file", disk.describe(name))
                        .log("a snapshot is damaged and not used; an older one and the log take its place");
                continue;
            }
            files.put(snapshot.index(), name);
            if (newest == null || snapshot.index() > newest.index()) {
                newest = snapshot;
            }
        }
        return Optional.ofNullable(newest);
    }

    /** Durable on return. */
    void save(RaftStore.Snapshot snapshot) throws IOException {
        byte[] state = snapshot.state().bytes();
        ByteBuffer bytes = ByteBuffer.allocate(HEADER_BYTES + state.length + 4);
        bytes.putInt(MAGIC).putShort(VERSION).putShort((short) 0);
        bytes.putLong(snapshot.index()).putLong(snapshot.term());
        bytes.putInt(state.length).put(state);
        bytes.putInt(Frames.crc(bytes.array(), 0, bytes.position())).flip();
        String name = String.format("%s%020d%s", PREFIX, snapshot.index(), SUFFIX);
        try (Disk.OutFile out = disk.create(TEMPORARY)) {
            out.write(bytes);
            out.force();
        }
        disk.rename(TEMPORARY, name);
        disk.forceDirectory();
        files.put(snapshot.index(), name);
        while (files.size() > KEPT) {
            disk.delete(files.pollFirstEntry().getValue());
        }
    }

    /** Entries at and below this index are not needed even if the newest snapshot is lost; 0 while there is only one. */
    long coveredTwice() {
        return files.size() < KEPT ? 0 : files.firstKey();
    }

    private static RaftStore.Snapshot parse(byte[] file, String where) {
        if (file.length < HEADER_BYTES + 4) {
            return null;
        }
        ByteBuffer in = ByteBuffer.wrap(file);
        if (in.getInt(0) != MAGIC || in.getInt(file.length - 4) != Frames.crc(file, 0, file.length - 4)) {
            return null;
        }
        if (in.getShort(4) != VERSION) {
            throw new StoreFault(where + " has format version " + in.getShort(4) + ", this program reads " + VERSION
                    + ". It was written by a newer program: start that one.");
        }
        int length = in.getInt(24);
        if (length != file.length - HEADER_BYTES - 4) {
            return null;
        }
        byte[] state = new byte[length];
        in.position(HEADER_BYTES).get(state);
        return new RaftStore.Snapshot(in.getLong(8), in.getLong(16), new RaftStore.State(state));
    }
}
