package io.kagami.broker.cluster;

import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.raft.FileRaftStore;
import io.kagami.raft.RaftStore;
import io.kagami.raft.StoreFault;
import io.kagami.raft.core.Entry;
import io.kagami.raft.disk.ReadOnlyDisk;
import java.nio.file.Files;
import java.nio.file.Path;

/** Reads the metadata of a broker that does not run, without changing anything in its directory. */
public final class ClusterReader {
    private static final String STATE = "state.raft";

    private ClusterReader() {}

    /** Whether the directory holds the metadata of a Kagami. */
    public static boolean isMetadata(Path directory) {
        return Files.exists(directory.resolve(STATE));
    }

    /**
     * The newest state; that of an empty cluster when the directory is absent or new.
     *
     * @throws StoreFault when the files cannot be read
     */
    public static ClusterState read(Path directory) {
        if (!isMetadata(directory)) {
            return ClusterState.EMPTY;
        }
        ClusterMachine machine = new ClusterMachine((session, number, before, applied) -> {});
        try (FileRaftStore store = new FileRaftStore(new ReadOnlyDisk(directory))) {
            RaftStore.Stored stored = store.load();
            stored.snapshot()
                    .ifPresent(snapshot ->
                            machine.restore(snapshot.index(), snapshot.state().bytes()));
            for (Entry entry : stored.entries()) {
                if (entry.kind() == Entry.Kind.COMMAND) {
                    machine.apply(entry.index(), entry.data());
                }
            }
            machine.applied();
        }
        return machine.state();
    }
}
