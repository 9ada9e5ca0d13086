package io.kagami.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.raft.core.Entry;
import io.kagami.raft.core.HardState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FileRaftStoreTest {
    private final CrashDisk disk = new CrashDisk(new Random(1), false);

    private static Entry command(long index) {
        return new Entry(index, 1, Entry.Kind.COMMAND, Numbers.entry(index, 20));
    }

    private static List<Long> indexes(List<Entry> entries) {
        return entries.stream().map(Entry::index).toList();
    }

    private FileRaftStore store() {
        return new FileRaftStore(disk, 10_000);
    }

    private FileRaftStore written(int groups) {
        FileRaftStore store = store();
        store.load();
        store.saveHardState(new HardState(1, 1));
        for (int g = 0; g < groups; g++) {
            store.append(List.of(command(2 * g + 1), command(2 * g + 2)));
        }
        return store;
    }

    private String logFile() {
        return disk.list().stream()
                .filter(f -> f.startsWith("log-"))
                .sorted()
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aFreshDirectoryIsEmpty() {
        RaftStore.Stored stored = store().load();
        assertThat(stored.hardState()).isEqualTo(HardState.INITIAL);
        assertThat(stored.snapshot()).isEmpty();
        assertThat(stored.entries()).isEmpty();
    }

    @Test
    void aFlippedBitAnywhereButInTheLastGroupStopsTheStartNamingFileAndPosition() {
        written(5).close();
        int size = disk.size(logFile());
        int lastGroup = lastGroupAt();
        for (int at = 0; at < lastGroup; at++) {
            disk.flip(logFile(), at);
            assertThatThrownBy(() -> store().load())
                    .as("bit flipped at %s of %s", at, size)
                    .isInstanceOf(StoreFault.class)
                    .hasMessageContaining(logFile())
                    .hasMessageContaining("position")
                    .hasMessageContaining("estore the file");
            disk.flip(logFile(), at);
        }
        assertThat(indexes(store().load().entries())).hasSize(10);
    }

    @Test
    void aTornLastGroupIsCutAndTheLogGoesOnThere() {
        written(3).close();
        int size = disk.size(logFile());
        disk.flip(logFile(), size - 3);
        FileRaftStore store = store();
        assertThat(indexes(store.load().entries())).containsExactly(1L, 2L, 3L, 4L);
        store.append(List.of(command(5)));
        store.close();
        assertThat(indexes(store().load().entries())).containsExactly(1L, 2L, 3L, 4L, 5L);
    }

    private int lastGroupAt() {
        // five equal groups after the header
        return Frames.FILE_HEADER_BYTES + (disk.size(logFile()) - Frames.FILE_HEADER_BYTES) / 5 * 4;
    }

    @Test
    void aDamagedNewestSnapshotIsReplacedByTheOlderOneAndTheLog() {
        FileRaftStore store = written(3);
        store.saveSnapshot(new RaftStore.Snapshot(4, 1, new RaftStore.State(new byte[] {4})));
        store.append(List.of(command(7), command(8)));
        store.saveSnapshot(new RaftStore.Snapshot(7, 1, new RaftStore.State(new byte[] {7})));
        store.append(List.of(command(9)));
        store.close();
        RaftStore.Stored good = store().load();
        assertThat(good.snapshot().orElseThrow().index()).isEqualTo(7);
        assertThat(indexes(good.entries())).containsExactly(8L, 9L);

        String newest = disk.list().stream()
                .filter(f -> f.startsWith("snapshot-") && f.contains("7"))
                .findFirst()
                .orElseThrow();
        for (int at = 0; at < disk.size(newest); at++) {
            disk.flip(newest, at);
            RaftStore.Stored stored = store().load();
            assertThat(stored.snapshot().orElseThrow().index()).isEqualTo(4);
            assertThat(indexes(stored.entries())).containsExactly(5L, 6L, 7L, 8L, 9L);
            disk.flip(newest, at);
        }
    }

    @Test
    void filesThatOnlyOldSnapshotsNeededAreDeleted() {
        FileRaftStore store = written(0);
        List<Integer> files = new ArrayList<>();
        for (long i = 1; i <= 60; i++) {
            store.append(List.of(command(i)));
            if (i % 10 == 0) {
                store.saveSnapshot(new RaftStore.Snapshot(i, 1, new RaftStore.State(new byte[100])));
                files.add(disk.list().size());
            }
        }
        assertThat(files.subList(2, 6)).containsOnly(files.get(2));
        store.close();
        assertThat(store().load().entries()).isEmpty();
    }

    @Test
    void aDamagedOrMissingTermAndVoteStopTheStart() {
        written(1).close();
        for (int at = 0; at < disk.size("state.raft"); at++) {
            disk.flip("state.raft", at);
            assertThatThrownBy(() -> store().load())
                    .isInstanceOf(StoreFault.class)
                    .hasMessageContaining("state.raft");
            disk.flip("state.raft", at);
        }
        disk.delete("state.raft");
        assertThatThrownBy(() -> store().load()).isInstanceOf(StoreFault.class).hasMessageContaining("state.raft");
    }

    @Test
    void aMissingLogFileStopsTheStart() {
        FileRaftStore store = new FileRaftStore(disk, 100);
        store.load();
        store.saveHardState(new HardState(1, 1));
        for (long i = 1; i <= 9; i++) {
            store.append(List.of(command(i)));
        }
        store.close();
        List<String> files =
                disk.list().stream().filter(f -> f.startsWith("log-")).sorted().toList();
        assertThat(files).hasSizeGreaterThan(2);
        disk.delete(files.get(1));
        assertThatThrownBy(() -> store().load()).isInstanceOf(StoreFault.class).hasMessageContaining(files.get(2));
        disk.delete(files.get(0));
        assertThatThrownBy(() -> store().load()).isInstanceOf(StoreFault.class).hasMessageContaining("missing");
    }

    @Test
    void theRealDiskKeepsEverythingAndLocksItsDirectory(@TempDir Path directory) throws Exception {
        try (FileRaftStore store = FileRaftStore.open(directory)) {
            store.load();
            store.saveHardState(new HardState(3, 7));
            store.append(List.of(command(1), command(2)));
            assertThatThrownBy(() -> FileRaftStore.open(directory))
                    .isInstanceOf(StoreFault.class)
                    .hasMessageContaining("locked");
        }
        Path log;
        try (var files = Files.list(directory)) {
            log = files.filter(f -> f.getFileName().toString().startsWith("log-"))
                    .findFirst()
                    .orElseThrow();
        }
        Files.write(log, new byte[] {1, 2, 3}, StandardOpenOption.APPEND);
        try (FileRaftStore store = FileRaftStore.open(directory)) {
            RaftStore.Stored stored = store.load();
            assertThat(stored.hardState()).isEqualTo(new HardState(3, 7));
            assertThat(indexes(stored.entries())).containsExactly(1L, 2L);
            store.append(List.of(command(3)));
        }
        try (FileRaftStore store = FileRaftStore.open(directory)) {
            assertThat(indexes(store.load().entries())).containsExactly(1L, 2L, 3L);
        }
    }
}
