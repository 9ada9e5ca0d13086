package io.kagami.raft.disk;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ReservedDiskTest {
    private static final int MIB = 1 << 20;

    /** Counts bytes, and writes as many as it can before it says that it is full. */
    private static final class SmallDisk implements Disk {
        private final Map<String, Integer> sizes = new HashMap<>();
        private long capacity;

        SmallDisk(long capacity) {
            this.capacity = capacity;
        }

        long free() {
            return capacity
                    - sizes.values().stream().mapToLong(Integer::longValue).sum();
        }

        @Override
        public List<String> list() {
            return List.copyOf(sizes.keySet());
        }

        @Override
        public byte[] read(String name) {
            return new byte[sizes.get(name)];
        }

        @Override
        public OutFile create(String name) {
            sizes.put(name, 0);
            return append(name, 0);
        }

        @Override
        public OutFile append(String name, long size) {
            return new OutFile() {
                @Override
                public void write(ByteBuffer bytes) throws IOException {
                    int taken = (int) Math.min(free(), bytes.remaining());
                    sizes.merge(name, taken, Integer::sum);
                    bytes.position(bytes.position() + taken);
                    if (bytes.hasRemaining()) {
                        throw new IOException("No space left on device");
                    }
                }

                @Override
                public void force() {}

                @Override
                public void close() {}
            };
        }

        @Override
        public void rename(String from, String to) {
            sizes.put(to, sizes.remove(from));
        }

        @Override
        public void delete(String name) {
            sizes.remove(name);
        }

        @Override
        public void forceDirectory() {}

        @Override
        public String describe(String name) {
            return name;
        }

        @Override
        public void close() {}
    }

    @Test
    void aWriteThatFindsNoSpaceGoesOnInTheReserveWhereItStopped() throws IOException {
        SmallDisk full = new SmallDisk(40L * MIB);
        ReservedDisk disk = new ReservedDisk(full, full::free);
        assertThat(disk.list()).isEmpty();
        Disk.OutFile log = disk.create("log");
        full.create("data").write(ByteBuffer.allocate((int) full.free() - 100));
        log.write(ByteBuffer.allocate(1000));
        assertThat(full.sizes).containsEntry("log", 1000).doesNotContainKey(ReservedDisk.RESERVE);
        log.write(ByteBuffer.allocate(1000));
        assertThatThrownBy(() -> log.write(ByteBuffer.allocate(8 * MIB))).hasMessageContaining("No space left");
        full.delete("data");
        disk.create("next");
        assertThat(full.sizes).containsEntry(ReservedDisk.RESERVE, ReservedDisk.RESERVE_BYTES);
    }

    @Test
    void aDiskThatIsNearlyFullIsNotFilledByTheReserve() throws IOException {
        SmallDisk small = new SmallDisk(10L * MIB);
        new ReservedDisk(small, small::free).create("log");
        assertThat(small.sizes).containsOnlyKeys("log");
    }
}
