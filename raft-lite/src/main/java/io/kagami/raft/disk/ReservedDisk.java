package io.kagami.raft.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps some bytes of a disk back for the day it is full: the metadata log shares its disk with data as a rule, and whoever fills that must
 * not end the broker. When a write finds no space the reserve is given up and the write goes on; it is made again when there is space for it
 * several times over. One thread.
 */
public final class ReservedDisk implements Disk {
    static final String RESERVE = "reserve";
    static final int RESERVE_BYTES = 4 << 20;

    private static final Logger LOG = LoggerFactory.getLogger(ReservedDisk.class);
    private static final int CHUNK_BYTES = 64 << 10;
    private static final int SPACE_FACTOR = 4;

    private final Disk disk;
    private final LongSupplier freeBytes;
    private boolean reserved;

    /**
     * Takes over the disk and closes it.
     *
     * @param freeBytes how many more bytes the disk takes, about
     */
    public ReservedDisk(Disk disk, LongSupplier freeBytes) throws IOException {
        this.disk = disk;
        this.freeBytes = freeBytes;
        this.reserved = disk.list().contains(RESERVE);
        reserve();
    }

    private void reserve() {
        if (reserved || freeBytes.getAsLong() < (long) SPACE_FACTOR * RESERVE_BYTES) {
            return;
        }
        try (OutFile out = disk.create(RESERVE)) {
            for (int written = 0; written < RESERVE_BYTES; written += CHUNK_BYTES) {
                out.write(ByteBuffer.allocate(CHUNK_BYTES));
            }
            out.force();
            reserved = true;
        } catch (IOException e) {
            LOG.atWarn()
                    .addKeyValue("file", disk.describe(RESERVE))
                    .addKeyValue("reason", e.toString())
                    .log("no space can be kept back for the metadata");
        }
    }

    /** Whether the operation may be tried once more. */
    private boolean giveUp(IOException e) throws IOException {
        boolean full = String.valueOf(e.getMessage()).contains("No space left");
        if (!full || !reserved) {
            return false;
        }
        reserved = false;
        disk.delete(RESERVE);
        LOG.atError()
                .addKeyValue("file", disk.describe(RESERVE))
                .addKeyValue("bytes", RESERVE_BYTES)
                .log("the disk of the metadata is full; it goes on with the bytes kept back for this. Make space soon");
        return true;
    }

    @Override
    public List<String> list() throws IOException {
        return disk.list().stream().filter(name -> !name.equals(RESERVE)).toList();
    }

    @Override
    public byte[] read(String name) throws IOException {
        return disk.read(name);
    }

    @Override
    public OutFile create(String name) throws IOException {
        reserve();
        try {
            return new Guarded(disk.create(name));
        } catch (IOException e) {
            if (giveUp(e)) {
                return new Guarded(disk.create(name));
            }
            throw e;
        }
    }

    @Override
    public OutFile append(String name, long size) throws IOException {
        return new Guarded(disk.append(name, size));
    }

    @Override
    public void rename(String from, String to) throws IOException {
        disk.rename(from, to);
    }

    @Override
    public void delete(String name) throws IOException {
        disk.delete(name);
    }

    @Override
    public void forceDirectory() throws IOException {
        disk.forceDirectory();
    }

    @Override
    public String describe(String name) {
        return disk.describe(name);
    }

    @Override
    public void close() throws IOException {
        disk.close();
    }

    private final class Guarded implements OutFile {
        private final OutFile file;

        Guarded(OutFile file) {
            this.file = file;
        }

        @Override
        public void write(ByteBuffer bytes) throws IOException {
            try {
                file.write(bytes);
            } catch (IOException e) {
                if (!giveUp(e)) {
                    throw e;
                }
                file.write(bytes); // what has not been written yet
            }
        }

        @Override
        public void force() throws IOException {
            file.force();
        }

        @Override
        public void close() throws IOException {
            file.close();
        }
    }
}
