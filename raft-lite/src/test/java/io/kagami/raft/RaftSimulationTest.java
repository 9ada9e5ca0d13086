package io.kagami.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.raft.core.RaftConfig;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Loses power at every operation of a disk, also while recovering, and checks after each start: every acknowledged entry is there at its
 * index, nothing is there that was not proposed, in the order of the proposals, terms only grow. Replay one run with {@code -Dseed=}.
 */
class RaftSimulationTest {
    private static final RaftConfig CONFIG = new RaftConfig(1, Set.of(1), 1, 2, 4096, 64, 8192, 9, 100_000);
    private static final long LOG_FILE_BYTES = 400;

    /** One run: its disk, what was proposed since the last start, and what must hold. */
    private static final class World {
        final Random random;
        final CrashDisk disk;
        final List<Long> certain = new ArrayList<>();
        final List<Long> proposed = new ArrayList<>();
        final List<Long> ackedIndexes = new ArrayList<>();
        long nextNumber;
        long lastTerm;
        Replica replica;
        Numbers machine;

        World(long seed, boolean forceLies) {
            random = new Random(seed);
            disk = new CrashDisk(new Random(seed + 1), forceLies);
        }

        void start() {
            machine = new Numbers();
            replica = new Replica(CONFIG, new FileRaftStore(disk, LOG_FILE_BYTES), Transport.none(), machine);
            replica.start();
            check();
        }

        private void check() {
            List<Long> all = new ArrayList<>(certain);
            all.addAll(proposed);
            assertThat(machine.seen.size())
                    .as("acknowledged entries found")
                    .isBetween(certain.size() + ackedIndexes.size(), all.size());
            assertThat(machine.seen).isEqualTo(all.subList(0, machine.seen.size()));
            assertThat(replica.term()).as("term").isGreaterThan(lastTerm);
            if (!ackedIndexes.isEmpty()) {
                assertThat(replica.appliedIndex()).isGreaterThanOrEqualTo(ackedIndexes.get(ackedIndexes.size() - 1));
            }
            lastTerm = replica.term();
            certain.clear();
            certain.addAll(machine.seen);
            proposed.clear();
            ackedIndexes.clear();
        }

        void proposeSome(int groups) {
            for (int g = 0; g < groups; g++) {
                List<CompletableFuture<Long>> outcomes = new ArrayList<>();
                int size = 1 + random.nextInt(4);
                for (int i = 0; i < size; i++) {
                    CompletableFuture<Long> outcome = new CompletableFuture<>();
                    outcome.thenAccept(ackedIndexes::add);
                    outcomes.add(outcome);
                    proposed.add(nextNumber);
                    replica.propose(Numbers.entry(nextNumber++, random.nextInt(60)), outcome);
                }
                replica.work();
                assertThat(outcomes).allMatch(CompletableFuture::isDone);
                assertThat(ackedIndexes).isSorted().doesNotHaveDuplicates();
                replica.snapshotIfDue();
            }
        }
    }

    private static long baseSeed() {
        return Long.getLong("seed", 20_240_817L);
    }

    /** A life of 12 groups with several snapshots and file rolls, cut short at the given operation; then two more lives. */
    private static void live(long seed, int powerLossAt, boolean forceLies) {
        World world = new World(seed, forceLies);
        world.disk.losePowerAt(powerLossAt);
        for (int life = 0; life < 3; life++) {
            boolean lost = false;
            try {
                world.start();
                world.proposeSome(12);
            } catch (CrashDisk.PowerLoss e) {
                lost = true;
            }
            // without a loss the process is killed between two operations
            assertThat(lost || world.ackedIndexes.size() >= 12).isTrue();
            world.disk.restart();
            world.disk.losePowerAt(1 + world.random.nextInt(2 * powerLossAt + 10));
        }
        world.disk.losePowerAt(Integer.MAX_VALUE / 2);
        world.start();
        world.proposeSome(3);
    }

    private static int operationsOfOneLife(long seed) {
        World world = new World(seed, false);
        world.start();
        world.proposeSome(12);
        return world.disk.operations();
    }

    @Test
    void everyAcknowledgedEntryIsFoundAgainWhereverThePowerGoes() {
        long base = baseSeed();
        int rounds = Integer.getInteger("rounds", 40);
        System.out.println("seeds " + base + " to " + (base + rounds - 1));
        for (long seed = base; seed < base + rounds; seed++) {
            int operations = operationsOfOneLife(seed);
            for (int at = 1; at <= operations; at++) {
                try {
                    live(seed, at, false);
                } catch (AssertionError | RuntimeException e) {
                    throw new AssertionError(
                            "-Dseed=" + seed + ", power loss at operation " + at + " of " + operations, e);
                }
            }
        }
    }

    @Test
    void theSimulationNoticesADiskThatForgetsForcedBytes() {
        assertThatThrownBy(() -> {
                    for (int at = 20; at < 60; at++) {
                        live(baseSeed(), at, true);
                    }
                })
                .isInstanceOf(Throwable.class);
    }
}
