package io.kagami.protocol.codec;

import java.util.BitSet;

/** Plays the growth of the library's hash collection with given hash codes and tells whether keys pile up; pure. */
final class HashTableCheck {
    /** Below it even equal keys cost nothing to speak of. */
    static final int HARMLESS = 64;

    /**
     * Keys that do not conspire still meet: names that end in a counter have neighbouring hash codes and fill long runs of slots; 961
     * topics called many-0 to many-960 take 93 steps each and 501 at most. Twice that is nobody's naming.
     */
    private static final int STEPS_PER_KEY = 200;

    private static final int STEPS_MAX = 1_000;
    private static final int FIRST_HINT_MAX = 1_000;
    private static final int CAPACITY_MIN = 5;

    private HashTableCheck() {}

    /** Slots of all tables that a collection of that size goes through, the first sized by a hint of at most a thousand. */
    static long slots(int count) {
        int capacity = first(count);
        long sum = capacity;
        while (count >= capacity / 2) {
            capacity = 2 * capacity + 1;
            sum += capacity;
        }
        return sum;
    }

    private static int first(int count) {
        return Math.max(CAPACITY_MIN, 2 * Math.min(count, FIRST_HINT_MAX) + 1);
    }

    static boolean pilesUp(int[] hashes) {
        int capacity = first(hashes.length);
        while (true) {
            // the collection grows before it would be half full
            int held = Math.min(hashes.length, Math.max(0, capacity / 2 - 1));
            if (pilesUp(hashes, held, capacity)) {
                return true;
            }
            if (held == hashes.length) {
                return false;
            }
            capacity = 2 * capacity + 1;
        }
    }

    private static boolean pilesUp(int[] hashes, int count, int capacity) {
        BitSet used = new BitSet(capacity);
        long steps = 0;
        for (int i = 0; i < count; i++) {
            int slot = (hashes[i] & Integer.MAX_VALUE) % capacity;
            int own = 1;
            while (used.get(slot)) {
                slot = slot + 1 == capacity ? 0 : slot + 1;
                if (++own > STEPS_MAX) {
                    return true;
                }
            }
            used.set(slot);
            steps += own;
        }
        return steps > (long) STEPS_PER_KEY * count + HARMLESS;
    }
}
