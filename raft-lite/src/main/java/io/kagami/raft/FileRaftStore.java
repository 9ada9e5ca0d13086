package io.kagami.raft;

import io.kagami.raft.core.Entry;
import io.kagami.raft.core.HardState;
import io.kagami.raft.disk.Disk;
import io.kagami.raft.disk.FileDisk;
import io.kagami.raft.disk.ReservedDisk;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The store in one directory: {@code state.raft} (term and vote), {@code log-*.raft} ({@link Frames}), {@code snapshot-*.raft}
 * ({@link SnapshotFiles}). Every small file is replaced atomically: written aside, forced, renamed, directory forced.
 */
public final class FileRaftStore implements RaftStore {
    private static final String STATE = "state.raft";
    private static final String STATE_TEMPORARY = "state.tmp";
    private static final int STATE_MAGIC = 0x4B525354;
    private static final short STATE_VERSION = 1;
    private static final int STATE_BYTES = 24;
    /** A log file is rolled beyond this; recovery reads one file at a time into memory. */
    private static final long LOG_FILE_BYTES = 32L << 20;

    private final Disk disk;
    private final LogFiles log;
    private final SnapshotFiles snapshots;
    private boolean broken;

    /** Takes over the disk and closes it. */
    public FileRaftStore(Disk disk) {
        this(disk, LOG_FILE_BYTES);
    }

    FileRaftStore(Disk disk, long logFileBytes) {
        this.disk = disk;
        this.log = new LogFiles(disk, logFileBytes);
        this.snapshots = new SnapshotFiles(disk);
    }

    /** Opens or creates the store of a directory and locks it. */
    public static FileRaftStore open(Path directory) {
        try {
            return new FileRaftStore(new ReservedDisk(
                    FileDisk.open(directory), () -> directory.toFile().getUsableSpace()));
        } catch (IOException e) {
            throw new StoreFault("cannot open the metadata directory " + directory + ": " + e.getMessage(), e);
        }
    }

    @Override
    public Stored load() {
        return attempt("read the metadata log", () -> {
            Optional<HardState> hardState = readState();
            Optional<Snapshot> snapshot = snapshots.load();
            List<Entry> entries = log.load(snapshot.map(Snapshot::index).orElse(0L));
            if (hardState.isEmpty() && (snapshot.isPresent() || !entries.isEmpty())) {
                throw new StoreFault(disk.describe(STATE)
                        + " is missing although there are a log or snapshots. Without it a vote could be given twice:"
                        + " restore the file from a backup.");
            }
            return new Stored(hardState.orElse(HardState.INITIAL), snapshot, entries);
        });
    }

    @Override
    public void saveHardState(HardState hardState) {
        attempt("write " + disk.describe(STATE), () -> {
            ByteBuffer bytes = ByteBuffer.allocate(STATE_BYTES);
            bytes.putInt(STATE_MAGIC).putShort(STATE_VERSION).putShort((short) 0);
            bytes.putLong(hardState.term()).putInt(hardState.votedFor());
            bytes.putInt(Frames.crc(bytes.array(), 0, bytes.position())).flip();
            try (Disk.OutFile out = disk.create(STATE_TEMPORARY)) {
                out.write(bytes);
                out.force();
            }
            disk.rename(STATE_TEMPORARY, STATE);
            disk.forceDirectory();
            return null;
        });
    }

    @Override
    public void append(List<Entry> entries) {
        attempt("append to the metadata log", () -> {
            log.append(entries);
            return null;
        });
    }

    @Override
    public void saveSnapshot(Snapshot snapshot) {
        attempt("write a snapshot", () -> {
            snapshots.save(snapshot);
            log.rollNext();
            log.dropUpTo(snapshots.coveredTwice());
            return null;
        });
    }

    @Override
    public void close() {
        try (disk) {
            log.close();
        } catch (IOException e) {
            throw new StoreFault("cannot close the metadata log: " + e.getMessage(), e);
        }
    }

    private Optional<HardState> readState() throws IOException {
        if (!disk.list().contains(STATE)) {
            return Optional.empty();
        }
        byte[] file = disk.read(STATE);
        ByteBuffer in = ByteBuffer.wrap(file);
        if (file.length != STATE_BYTES
                || in.getInt(0) != STATE_MAGIC
                || in.getInt(STATE_BYTES - 4) != Frames.crc(file, 0, STATE_BYTES - 4)) {
            throw new StoreFault(disk.describe(STATE) + " is damaged (" + file.length + " bytes, " + STATE_BYTES
                    + " expected, or a wrong checksum). Restore it from a backup.");
        }
        if (in.getShort(4) != STATE_VERSION) {
            throw new StoreFault(disk.describe(STATE) + " has format version " + in.getShort(4)
                    + ", this program reads " + STATE_VERSION + ". It was written by a newer program: start that one.");
        }
        return Optional.of(new HardState(in.getLong(8), in.getInt(16)));
    }

    private interface Work<T> {
        T run() throws IOException;
    }

    private <T> T attempt(String what, Work<T> work) {
        if (broken) {
            throw new StoreFault(
                    "cannot " + what + ": an earlier operation failed and the state of the files is not known");
        }
        boolean done = false;
        try {
            T result = work.run();
            done = true;
            return result;
        } catch (IOException e) {
            throw new StoreFault("cannot " + what + ": " + e, e);
        } finally {
            broken = !done;
        }
    }
}
