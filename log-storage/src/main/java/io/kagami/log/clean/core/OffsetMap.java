package io.kagami.log.clean.core;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The last offset of each key. Keys are kept as the first 16 bytes of their SHA-256, so that nobody can make two keys that are taken for one and
 * an entry takes 24 bytes whatever the key. Open addressing with linear probing; grows up to a bound, half as much again while it grows.
 * One thread.
 */
public final class OffsetMap {
    public static final int ENTRY_BYTES = 24;

    private static final int FIELDS = 3;
    private static final int FIRST_SLOTS = 1024;

    private final MessageDigest digest = sha256();
    private final byte[] hash = new byte[32];
    private final ByteBuffer hashed = ByteBuffer.wrap(hash);
    private final int slotsMax;
    private final double loadFactor;
    /** Per slot: the two halves of the hash, and the offset plus 1; 0 in the last one marks a free slot. */
    private long[] slots;

    private int count;

    /**
     * @param bytesMax memory for entries
     * @param loadFactor part of the slots that may be filled, above 0 and below 1
     */
    public OffsetMap(long bytesMax, double loadFactor) {
        if (!(loadFactor > 0 && loadFactor < 1)) {
            throw new IllegalArgumentException("load factor must be above 0 and below 1, not " + loadFactor);
        }
        this.slotsMax = (int) Math.max(4, Math.min(bytesMax / ENTRY_BYTES, (Integer.MAX_VALUE - 8) / FIELDS));
        this.loadFactor = loadFactor;
        this.slots = new long[Math.min(FIRST_SLOTS, slotsMax) * FIELDS];
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    /**
     * Notes an offset of a key, larger than all noted before.
     *
     * @param key between position and limit; not moved
     * @return false when the key is new and there is no room for it
     */
    public boolean put(ByteBuffer key, long offset) {
        hash(key);
        int at = find(hashed.getLong(0), hashed.getLong(8));
        if (slots[at + 2] == 0) {
            if (count + 1 > capacity(slots.length / FIELDS)) {
                if (slots.length / FIELDS >= slotsMax) {
                    return false;
                }
                grow();
                at = find(hashed.getLong(0), hashed.getLong(8));
            }
            count++;
        }
        slots[at] = hashed.getLong(0);
        slots[at + 1] = hashed.getLong(8);
        slots[at + 2] = offset + 1;
        return true;
    }

    /** The last offset of a key, -1 when it was not noted. */
    public long get(ByteBuffer key) {
        hash(key);
        return slots[find(hashed.getLong(0), hashed.getLong(8)) + 2] - 1;
    }

    /** Keys noted. */
    public int count() {
        return count;
    }

    /** Keys that fit at most. */
    public int countMax() {
        return capacity(slotsMax);
    }

    private int capacity(int slotCount) {
        return Math.max(1, (int) (slotCount * loadFactor));
    }

    private void hash(ByteBuffer key) {
        digest.update(key.duplicate());
        try {
            digest.digest(hash, 0, hash.length);
        } catch (java.security.DigestException e) {
            throw new IllegalStateException("32 bytes hold a SHA-256", e);
        }
    }

    private int find(long high, long low) {
        int slotCount = slots.length / FIELDS;
        int slot = (int) Long.remainderUnsigned(low, slotCount);
        while (true) { // ends: the load factor leaves free slots
            int at = slot * FIELDS;
            if (slots[at + 2] == 0 || (slots[at] == high && slots[at + 1] == low)) {
                return at;
            }
            slot = slot + 1 == slotCount ? 0 : slot + 1;
        }
    }

    private void grow() {
        long[] old = slots;
        slots = new long[(int) Math.min(slotsMax, old.length / FIELDS * 2L) * FIELDS];
        for (int at = 0; at < old.length; at += FIELDS) {
            if (old[at + 2] != 0) {
                int to = find(old[at], old[at + 1]);
                System.arraycopy(old, at, slots, to, FIELDS);
            }
        }
    }
}
