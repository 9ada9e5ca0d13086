package io.kagami.it;

import java.util.Random;

/** Random choices that can be made again: the seed is printed, {@code -Dseed=} replays it. */
final class Seed {
    private Seed() {}

    static Random random(String test) {
        long seed = Long.getLong("seed", System.nanoTime());
        Announce.say(test + ": seed " + seed + " (replay with -Dseed=" + seed + ")");
        return new Random(seed);
    }
}
