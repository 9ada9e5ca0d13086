package io.kagami.raft;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.raft.ProposalFailed.Reason;
import io.kagami.raft.core.RaftConfig;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class RaftLoopTest {
    private static final RaftConfig CONFIG = new RaftConfig(1, Set.of(1), 5, 2, 1000, 20, 2000, 50, 100_000);

    private static void never(Throwable failure) {
        throw new AssertionError(failure);
    }

    private final CrashDisk disk = new CrashDisk(new Random(1), false);
    private final Numbers machine = new Numbers();
    private RaftLoop loop;

    private RaftLoop start(Consumer<Throwable> fatal) {
        loop = RaftLoop.start(CONFIG, new FileRaftStore(disk), Transport.none(), machine, fatal);
        return loop;
    }

    @AfterEach
    void close() {
        if (loop != null) {
            loop.close();
        }
    }

    private static Reason failure(CompletableFuture<Long> outcome) {
        try {
            outcome.join();
        } catch (CompletionException e) {
            return ((ProposalFailed) e.getCause()).reason();
        }
        throw new AssertionError("it succeeded");
    }

    /** Holds the loop inside a task until the returned latch is counted down. */
    private CountDownLatch holdLoop() throws InterruptedException {
        CountDownLatch held = new CountDownLatch(1);
        CountDownLatch release = new CountDownLatch(1);
        loop.onLoop(() -> {
            held.countDown();
            try {
                release.await();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        assertThat(held.await(30, TimeUnit.SECONDS)).isTrue();
        return release;
    }

    @Test
    void anOutcomeCompletesOnTheLoopAfterTheMachineHasAppliedTheEntry() {
        start(RaftLoopTest::never);
        List<String> seen = new ArrayList<>();
        long index = loop.propose(Numbers.entry(7, 0))
                .thenApply(i -> {
                    seen.add(Thread.currentThread().getName() + machine.seen);
                    return i;
                })
                .join();
        assertThat(seen.get(0)).endsWith("[7]");
        assertThat(loop.appliedIndex()).isEqualTo(index);
    }

    @Test
    void proposalsThatWaitTogetherShareOneForce() throws Exception {
        start(RaftLoopTest::never);
        CountDownLatch release = holdLoop();
        int before = disk.forces();
        List<CompletableFuture<Long>> outcomes = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            outcomes.add(loop.propose(Numbers.entry(i, 10)));
        }
        release.countDown();
        outcomes.forEach(CompletableFuture::join);
        assertThat(disk.forces() - before).isEqualTo(1);
        assertThat(machine.seen).hasSize(20).isSorted();
    }

    @Test
    void aFullQueueRefusesAtOnceAndWhatWasRefusedNeverHappens() throws Exception {
        start(RaftLoopTest::never);
        CountDownLatch release = holdLoop();
        List<CompletableFuture<Long>> outcomes = new ArrayList<>();
        for (int i = 0; i < 30; i++) {
            outcomes.add(loop.propose(Numbers.entry(i, 0)));
        }
        assertThat(outcomes.subList(20, 30)).allMatch(o -> failure(o) == Reason.OVERLOADED);
        release.countDown();
        outcomes.subList(0, 20).forEach(CompletableFuture::join);
        loop.close();
        assertThat(machine.seen).hasSize(20);
    }

    @Test
    void anEntryAboveTheLimitIsRefused() {
        start(RaftLoopTest::never);
        assertThat(failure(loop.propose(new byte[1001]))).isEqualTo(Reason.TOO_LARGE);
        loop.propose(Numbers.entry(1, 992)).join();
    }

    @Test
    void closingFinishesWhatWasProposedAndRefusesTheRest() throws Exception {
        start(RaftLoopTest::never);
        CountDownLatch release = holdLoop();
        CompletableFuture<Long> before = loop.propose(Numbers.entry(1, 0));
        release.countDown();
        loop.close();
        assertThat(before).isCompleted();
        assertThat(failure(loop.propose(Numbers.entry(2, 0)))).isEqualTo(Reason.NOT_LEADER);
        assertThat(failure(loop.onLoop(() -> {}))).isEqualTo(Reason.NOT_LEADER);
    }

    @Test
    void aFailingDiskIsFatalAndLeavesTheOutcomeUnknown() throws Exception {
        CompletableFuture<Throwable> fatal = new CompletableFuture<>();
        start(fatal::complete);
        loop.propose(Numbers.entry(1, 0)).join();
        disk.losePowerAt(2);
        assertThat(failure(loop.propose(Numbers.entry(2, 0)))).isEqualTo(Reason.OUTCOME_UNKNOWN);
        assertThat(fatal.get(30, TimeUnit.SECONDS)).isInstanceOf(CrashDisk.PowerLoss.class);
        assertThat(failure(loop.propose(Numbers.entry(3, 0)))).isEqualTo(Reason.NOT_LEADER);
    }

    @Test
    void aMachineThatCannotApplyAnEntryIsFatal() throws Exception {
        CompletableFuture<Throwable> fatal = new CompletableFuture<>();
        start(fatal::complete);
        assertThat(failure(loop.propose(new byte[3]))).isEqualTo(Reason.OUTCOME_UNKNOWN);
        assertThat(fatal.get(30, TimeUnit.SECONDS)).isInstanceOf(java.nio.BufferUnderflowException.class);
    }

    @Test
    void aStartThatFailsThrowsItsReason() {
        start(RaftLoopTest::never);
        loop.close();
        disk.flip("state.raft", 9);
        assertThatThrownBy(() -> start(RaftLoopTest::never))
                .isInstanceOf(StoreFault.class)
                .hasMessageContaining("state.raft");
    }

    @Test
    void moreThanOneVoterIsRefused() {
        RaftConfig three = new RaftConfig(1, Set.of(1, 2, 3), 5, 2, 1000, 20, 2000, 50, 100_000);
        assertThatThrownBy(() ->
                        RaftLoop.start(three, new FileRaftStore(disk), Transport.none(), machine, RaftLoopTest::never))
                .hasMessageContaining("one voter");
    }

    @Test
    void aRestartOnTheRealDiskReplaysSnapshotAndLog(@TempDir Path directory) {
        for (int life = 0; life < 4; life++) {
            Numbers fresh = new Numbers();
            loop = RaftLoop.start(CONFIG, FileRaftStore.open(directory), Transport.none(), fresh, RaftLoopTest::never);
            assertThat(fresh.seen).hasSize(life * 70).isSorted().doesNotHaveDuplicates();
            List<CompletableFuture<Long>> outcomes = new ArrayList<>();
            for (int i = 0; i < 70; i++) {
                outcomes.add(loop.propose(Numbers.entry(life * 70 + i, i)));
                if (i % 20 == 19) {
                    outcomes.forEach(CompletableFuture::join);
                }
            }
            outcomes.forEach(CompletableFuture::join);
            loop.close();
        }
    }
}
