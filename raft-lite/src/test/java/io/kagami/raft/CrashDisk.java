package io.kagami.raft;

import io.kagami.raft.disk.Disk;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;

/**
 * A disk in memory that can lose power at any operation. What was forced survives; what was not may survive wholly, partly (cut at any
 * byte, sectors missing) or not at all; creations, renames and deletions that were not forced may each be lost.
 */
final class CrashDisk implements Disk {
    /** The power goes: nothing after this happens. An Error, so that nobody takes it for a failed write. */
    static final class PowerLoss extends Error {
        private static final long serialVersionUID = 1L;

        PowerLoss() {
            super("power loss");
        }
    }

    private static final int SECTOR = 16;

    private static final class Inode {
        byte[] durable = new byte[0];
        byte[] current = new byte[0];
    }

    private interface DirectoryChange {
        void apply(Map<String, Inode> directory);
    }

    private final Random random;
    private final boolean forceLies;
    private Map<String, Inode> directory = new HashMap<>();
    private Map<String, Inode> durableDirectory = new HashMap<>();
    private final List<DirectoryChange> unforced = new ArrayList<>();
    private int operations;
    private int forces;
    private int powerLossAt = Integer.MAX_VALUE;
    private boolean dead;

    CrashDisk(Random random, boolean forceLies) {
        this.random = random;
        this.forceLies = forceLies;
    }

    int operations() {
        return operations;
    }

    int forces() {
        return forces;
    }

    /** The power goes during the operation of that number, counted from now. */
    void losePowerAt(int operation) {
        powerLossAt = operations + operation;
    }

    /** What is found when the power is back. */
    void restart() {
        Map<String, Inode> found = new HashMap<>(durableDirectory);
        for (DirectoryChange change : unforced) {
            if (random.nextBoolean()) {
                change.apply(found);
            }
        }
        Map<String, Inode> fresh = new HashMap<>();
        found.forEach((name, inode) -> {
            Inode survived = new Inode();
            survived.durable = survivor(inode);
            survived.current = survived.durable;
            fresh.put(name, survived);
        });
        directory = fresh;
        durableDirectory = new HashMap<>(fresh);
        unforced.clear();
        dead = false;
        powerLossAt = Integer.MAX_VALUE;
    }

    private byte[] survivor(Inode inode) {
        int same = Arrays.mismatch(inode.durable, inode.current);
        if (same < 0 || random.nextInt(4) == 0) {
            return inode.durable.clone();
        }
        boolean grown = same == inode.durable.length;
        if (!grown && random.nextBoolean()) {
            return inode.durable.clone();
        }
        int end = same + random.nextInt(inode.current.length - same + 1);
        byte[] torn = Arrays.copyOf(inode.current, end);
        if (random.nextBoolean() && end > same) {
            int hole = same + random.nextInt(end - same);
            Arrays.fill(torn, hole, Math.min(end, hole + SECTOR), (byte) 0);
        }
        return torn;
    }

    /** Flips one bit of what is on the disk. */
    void flip(String name, int position) {
        directory.get(name).current[position] ^= 1;
    }

    int size(String name) {
        return directory.get(name).current.length;
    }

    /** True when the operation happens, though the power may be gone after it. */
    private boolean operate() {
        if (dead) {
            throw new PowerLoss();
        }
        operations++;
        if (operations == powerLossAt) {
            dead = true;
            return random.nextBoolean();
        }
        return true;
    }

    private void dieIfDead() {
        if (dead) {
            throw new PowerLoss();
        }
    }

    private void change(DirectoryChange change) {
        if (operate()) {
            change.apply(directory);
            unforced.add(change);
        }
        dieIfDead();
    }

    @Override
    public List<String> list() {
        return List.copyOf(directory.keySet());
    }

    @Override
    public byte[] read(String name) throws IOException {
        Inode inode = directory.get(name);
        if (inode == null) {
            throw new FileNotFoundException(name);
        }
        return inode.current.clone();
    }

    @Override
    public OutFile create(String name) {
        Inode fresh = new Inode();
        change(files -> files.put(name, fresh));
        return new Out(fresh);
    }

    @Override
    public OutFile append(String name, long size) {
        Inode inode = directory.get(name);
        if (operate()) {
            inode.current = Arrays.copyOf(inode.current, (int) size);
        }
        dieIfDead();
        return new Out(inode);
    }

    @Override
    public void rename(String from, String to) {
        Inode inode = directory.get(from);
        change(files -> {
            files.remove(from);
            files.put(to, inode);
        });
    }

    @Override
    public void delete(String name) {
        change(files -> files.remove(name));
    }

    @Override
    public void forceDirectory() {
        if (operate() && !forceLies) {
            forces++;
            durableDirectory = new HashMap<>(directory);
            unforced.clear();
        }
        dieIfDead();
    }

    @Override
    public String describe(String name) {
        return "disk/" + name;
    }

    @Override
    public void close() {}

    private final class Out implements OutFile {
        private final Inode inode;

        Out(Inode inode) {
            this.inode = inode;
        }

        @Override
        public void write(ByteBuffer bytes) {
            boolean whole = operate();
            int length = whole ? bytes.remaining() : random.nextInt(bytes.remaining() + 1);
            int at = inode.current.length;
            inode.current = Arrays.copyOf(inode.current, at + length);
            bytes.get(inode.current, at, length);
            dieIfDead();
        }

        @Override
        public void force() {
            if (operate() && !forceLies) {
                forces++;
                inode.durable = inode.current.clone();
            }
            dieIfDead();
        }

        @Override
        public void close() {}
    }
}
