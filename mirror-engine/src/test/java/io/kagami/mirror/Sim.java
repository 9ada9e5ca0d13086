package io.kagami.mirror;

import java.util.Comparator;
import java.util.PriorityQueue;
import java.util.Random;

/** A seeded world in one thread: events by time, ties in order of arrival; the clock jumps from event to event. */
final class Sim {
    private record Event(long atMs, long number, Runnable action) {}

    final long seed;
    final Random random;
    private final PriorityQueue<Event> events =
            new PriorityQueue<>(Comparator.comparingLong(Event::atMs).thenComparingLong(Event::number));
    private long nowMs = 1_000_000;
    private long number;

    Sim(long seed) {
        this.seed = seed;
        this.random = new Random(seed);
    }

    long nowMs() {
        return nowMs;
    }

    void after(long delayMs, Runnable action) {
        events.add(new Event(nowMs + delayMs, number++, action));
    }

    /** A time that other machines and threads need: 0 to {@code maxMs}. */
    long latency(int maxMs) {
        return random.nextInt(maxMs + 1);
    }

    boolean chance(double probability) {
        return random.nextDouble() < probability;
    }

    /** Runs events until the clock has moved on by so much; {@code check} runs after each. */
    void run(long durationMs, Runnable check) {
        long until = nowMs + durationMs;
        while (!events.isEmpty() && events.peek().atMs() <= until) {
            Event event = events.poll();
            nowMs = event.atMs();
            event.action().run();
            check.run();
        }
        nowMs = until;
    }

    /** One life of a mirror's thread; a crash ends it and whatever was queued for it is gone. */
    final class SimTurns implements Turns {
        private boolean alive = true;
        private boolean inTurn;

        void crash() {
            alive = false;
        }

        private Runnable turn(Runnable action) {
            return () -> {
                if (alive) {
                    inTurn = true;
                    try {
                        action.run();
                    } finally {
                        inTurn = false;
                    }
                }
            };
        }

        @Override
        public void post(Runnable action) {
            after(0, turn(action));
        }

        @Override
        public Cancel after(long delayMs, Runnable action) {
            boolean[] cancelled = new boolean[1];
            Sim.this.after(delayMs, turn(() -> {
                if (!cancelled[0]) {
                    action.run();
                }
            }));
            return () -> cancelled[0] = true;
        }

        private void after(int delayMs, Runnable action) {
            Sim.this.after(delayMs, action);
        }

        @Override
        public long nowMs() {
            return nowMs;
        }

        @Override
        public double jitter() {
            return random.nextDouble();
        }

        @Override
        public boolean inLoop() {
            return inTurn;
        }
    }
}
