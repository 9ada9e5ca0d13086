package io.kagami.raft.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.raft.core.RaftCore.Role;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

class RaftCoreTest {
    private static RaftCore core(Set<Integer> voters, HardState hardState, Entry... durable) {
        RaftConfig config = new RaftConfig(1, voters, 100, 10, 100, 10, 1000, 100, 1000);
        return new RaftCore(config, hardState, new LogTail(0, 0, List.of(durable)));
    }

    private static RaftCore sole() {
        return core(Set.of(1), HardState.INITIAL);
    }

    private static RaftCore leader() {
        RaftCore core = sole();
        core.tick();
        core.persisted(core.ready());
        Ready noOp = core.ready();
        core.persisted(noOp);
        core.persisted(core.ready());
        core.applied(1);
        return core;
    }

    @Test
    void aRestartIsAFollowerEvenIfItLedBefore() {
        RaftCore core = core(Set.of(1), new HardState(4, 1), Entry.noOp(1, 4));
        assertThat(core.role()).isEqualTo(Role.FOLLOWER);
        assertThat(core.propose(new byte[1])).isEmpty();
        assertThat(core.commitIndex()).isZero();
    }

    @Test
    void aSoleVoterLeadsOnlyOnceItsNewTermIsDurable() {
        RaftCore core = core(Set.of(1), new HardState(4, 1), Entry.noOp(1, 4));
        core.tick();
        assertThat(core.role()).isEqualTo(Role.CANDIDATE);
        Ready ready = core.ready();
        assertThat(ready.hardState()).isEqualTo(new HardState(5, 1));
        assertThat(ready.mustSync()).isTrue();
        assertThat(core.role()).isEqualTo(Role.CANDIDATE);
        core.persisted(ready);
        assertThat(core.role()).isEqualTo(Role.LEADER);
    }

    @Test
    void entriesOfOldTermsAreCommittedByTheNoOpOfTheNewOne() {
        Entry old = new Entry(2, 4, Entry.Kind.COMMAND, new byte[1]);
        RaftCore core = core(Set.of(1), new HardState(4, 1), Entry.noOp(1, 4), old);
        core.tick();
        core.persisted(core.ready());
        assertThat(core.commitIndex()).as("before the no-op is durable").isZero();
        Ready noOp = core.ready();
        assertThat(noOp.entries()).extracting(Entry::kind).containsExactly(Entry.Kind.NO_OP);
        assertThat(noOp.committed()).isEmpty();
        core.persisted(noOp);
        assertThat(core.ready().committed()).extracting(Entry::index).containsExactly(1L, 2L, 3L);
    }

    @Test
    void aLeaderCountsItsOwnCopyOnlyWhenItIsDurable() {
        RaftCore core = leader();
        assertThat(core.propose(new byte[] {1})).hasValue(2);
        Ready ready = core.ready();
        assertThat(ready.committed()).isEmpty();
        assertThat(core.commitIndex()).isEqualTo(1);
        core.persisted(ready);
        assertThat(core.commitIndex()).isEqualTo(2);
        assertThat(core.ready().committed()).extracting(Entry::index).containsExactly(2L);
    }

    @Test
    void aReadyIsAnsweredBeforeTheNextIsGiven() {
        RaftCore core = leader();
        core.propose(new byte[] {1});
        Ready ready = core.ready();
        assertThatThrownBy(core::ready).isInstanceOf(IllegalStateException.class);
        core.persisted(ready);
        assertThatThrownBy(() -> core.persisted(ready)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void appliedNeverPassesCommitAndNeverGoesBack() {
        RaftCore core = leader();
        assertThatThrownBy(() -> core.applied(2)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> core.applied(0)).isInstanceOf(IllegalStateException.class);
        assertThatThrownBy(() -> core.compacted(2)).isInstanceOf(IllegalStateException.class);
    }

    @Test
    void compactionKeepsTheTermAtTheBoundary() {
        RaftCore core = leader();
        core.compacted(1);
        assertThat(core.log().snapshotIndex()).isEqualTo(1);
        assertThat(core.log().termOf(1)).isEqualTo(1);
        assertThat(core.propose(new byte[1])).hasValue(2);
    }

    @Test
    void aVoteIsGivenOncePerTermAndOnlyToACompleteLog() {
        Set<Integer> three = Set.of(1, 2, 3);
        RaftCore core = core(three, new HardState(4, HardState.NOBODY), Entry.noOp(1, 3), Entry.noOp(2, 4));
        core.step(new Message.Vote(2, 1, 5, 9, 3));
        assertThat(answer(core)).isEqualTo(new Message.VoteAnswer(1, 2, 5, false));
        core.step(new Message.Vote(2, 1, 6, 2, 4));
        Ready ready = core.ready();
        assertThat(ready.hardState()).as("durable with the answer").isEqualTo(new HardState(6, 2));
        assertThat(ready.messages()).containsExactly(new Message.VoteAnswer(1, 2, 6, true));
        core.persisted(ready);
        core.step(new Message.Vote(3, 1, 6, 9, 4));
        assertThat(answer(core)).isEqualTo(new Message.VoteAnswer(1, 3, 6, false));
        core.step(new Message.Vote(3, 1, 5, 9, 9));
        assertThat(answer(core)).isEqualTo(new Message.VoteAnswer(1, 3, 6, false));
    }

    @Test
    void aMajorityElectsACandidateWhoseOwnVoteIsDurable() {
        RaftCore core = core(Set.of(1, 2, 3), HardState.INITIAL);
        for (int i = 0; i < 10; i++) {
            core.tick();
        }
        Ready ready = core.ready();
        assertThat(ready.messages())
                .containsExactlyInAnyOrder(new Message.Vote(1, 2, 1, 0, 0), new Message.Vote(1, 3, 1, 0, 0));
        core.step(new Message.VoteAnswer(2, 1, 1, true));
        assertThat(core.role()).as("own vote not durable yet").isEqualTo(Role.CANDIDATE);
        core.persisted(ready);
        assertThat(core.role()).isEqualTo(Role.LEADER);
        core.persisted(core.ready());
        assertThat(core.commitIndex())
                .as("nothing is committed without a majority of copies")
                .isZero();
        core.step(new Message.VoteAnswer(3, 1, 2, false));
        assertThat(core.role()).isEqualTo(Role.FOLLOWER);
        assertThat(core.term()).isEqualTo(2);
    }

    @Test
    void strangersAreIgnored() {
        RaftCore core = leader();
        core.step(new Message.Vote(9, 1, 99, 99, 99));
        assertThat(core.term()).isEqualTo(1);
        assertThat(core.hasReady()).isFalse();
    }

    @Test
    void aLogFromTheFutureOfItsTermIsRefused() {
        assertThatThrownBy(() -> core(Set.of(1), new HardState(3, 1), Entry.noOp(1, 4)))
                .isInstanceOf(IllegalStateException.class);
    }

    private static Message answer(RaftCore core) {
        Ready ready = core.ready();
        core.persisted(ready);
        return ready.messages().get(0);
    }
}
