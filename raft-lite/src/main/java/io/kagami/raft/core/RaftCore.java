package io.kagami.raft.core;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;

/**
 * One voter's decisions. Inputs are methods, the result is read with {@link #ready()}. Not thread-safe: one owner.
 *
 * <p>Rules that hold always: a restart begins as follower; term and vote are durable before anyone hears of them; a candidate counts its
 * own vote, and a leader its own copy of an entry, only when they are durable here; a leader begins its term with a no-op and commits
 * only through entries of its own term (Raft, section 5.4.2 and figure 8).
 */
public final class RaftCore {
    /** What this voter is in its term. */
    public enum Role {
        FOLLOWER,
        CANDIDATE,
        LEADER
    }

    private final RaftConfig config;
    private final LogTail log;
    private final Set<Integer> votes = new HashSet<>();
    private final List<Message> outbox = new ArrayList<>();
    private HardState hardState;
    private HardState durable;
    private Role role = Role.FOLLOWER;
    private int ticksWaited;
    private long commit;
    private long applied;
    private Ready inFlight;

    /** @param log the durable log; everything in its snapshot counts as applied */
    public RaftCore(RaftConfig config, HardState hardState, LogTail log) {
        if (log.lastTerm() > hardState.term()) {
            throw new IllegalStateException(
                    "the log ends in term " + log.lastTerm() + ", the stored term is only " + hardState.term());
        }
        this.config = config;
        this.hardState = hardState;
        this.durable = hardState;
        this.log = log;
        this.commit = log.snapshotIndex();
        this.applied = log.snapshotIndex();
    }

    public Role role() {
        return role;
    }

    public long term() {
        return hardState.term();
    }

    public long commitIndex() {
        return commit;
    }

    public long appliedIndex() {
        return applied;
    }

    public LogTail log() {
        return log;
    }

    /** Time passes. A follower or candidate that has waited long enough stands for election; a sole voter has nobody to wait for. */
    public void tick() {
        if (role == Role.LEADER) {
            return;
        }
        ticksWaited++;
        boolean sole = config.voters().size() == 1;
        if (ticksWaited >= config.electionTicks() || (sole && role == Role.FOLLOWER)) {
            stand();
        }
    }

    /** A message has arrived. Strangers and old terms are ignored. */
    public void step(Message message) {
        if (!config.voters().contains(message.from()) || message.to() != config.nodeId()) {
            return;
        }
        if (message.term() > hardState.term()) {
            follow(message.term());
        }
        if (message instanceof Message.Vote vote) {
            onVote(vote);
        } else if (message instanceof Message.VoteAnswer answer) {
            onVoteAnswer(answer);
        } else {
            throw new AssertionError(message);
        }
    }

    /** Appends a command at the leader and tells its index; empty when this voter does not lead. */
    public OptionalLong propose(byte[] data) {
        if (role != Role.LEADER) {
            return OptionalLong.empty();
        }
        long index = log.lastIndex() + 1;
        log.append(new Entry(index, hardState.term(), Entry.Kind.COMMAND, data));
        return OptionalLong.of(index);
    }

    public boolean hasReady() {
        return !hardState.equals(durable)
                || log.stable() < log.lastIndex()
                || applied < Math.min(commit, log.stable())
                || !outbox.isEmpty();
    }

    /** The next piece of work. Must be answered with {@link #persisted} before the next one is asked for. */
    public Ready ready() {
        if (inFlight != null) {
            throw new IllegalStateException("the last Ready has not been persisted");
        }
        HardState changed = hardState.equals(durable) ? null : hardState;
        List<Entry> unstable = log.unstable();
        List<Entry> committed = log.between(applied + 1, Math.min(commit, log.stable()));
        List<Message> messages = List.copyOf(outbox);
        outbox.clear();
        inFlight = new Ready(changed, unstable, changed != null || !unstable.isEmpty(), committed, messages);
        return inFlight;
    }

    /** Everything that the Ready wanted on disk is there. Only now does this voter count for itself. */
    public void persisted(Ready ready) {
        if (!ready.equals(inFlight)) {
            throw new IllegalStateException("not the Ready that is in flight");
        }
        inFlight = null;
        if (ready.hardState() != null) {
            durable = ready.hardState();
        }
        if (!ready.entries().isEmpty()) {
            Entry last = ready.entries().get(ready.entries().size() - 1);
            log.stableTo(last.index());
        }
        if (role == Role.CANDIDATE && durable.equals(hardState)) {
            votes.add(config.nodeId());
            leadIfElected();
        }
        commitWhatAMajorityHas();
    }

    /** The machine has applied everything up to and including the index. */
    public void applied(long index) {
        if (index < applied || index > commit) {
            throw new IllegalStateException("applied " + applied + ", commit " + commit + ": cannot become " + index);
        }
        applied = index;
    }

    /** A snapshot up to the index is durable: its entries are not needed any more. */
    public void compacted(long index) {
        if (index > applied) {
            throw new IllegalStateException("a snapshot at " + index + " of a machine that stands at " + applied);
        }
        log.compactTo(index);
    }

    private void stand() {
        role = Role.CANDIDATE;
        ticksWaited = 0;
        votes.clear();
        hardState = new HardState(hardState.term() + 1, config.nodeId());
        for (int voter : config.voters()) {
            if (voter != config.nodeId()) {
                outbox.add(new Message.Vote(config.nodeId(), voter, hardState.term(), log.lastIndex(), log.lastTerm()));
            }
        }
    }

    private void follow(long term) {
        role = Role.FOLLOWER;
        ticksWaited = 0;
        votes.clear();
        hardState = new HardState(term, HardState.NOBODY);
    }

    private void onVote(Message.Vote vote) {
        boolean current = vote.term() == hardState.term();
        boolean free = hardState.votedFor() == HardState.NOBODY || hardState.votedFor() == vote.from();
        boolean complete = vote.lastTerm() > log.lastTerm()
                || (vote.lastTerm() == log.lastTerm() && vote.lastIndex() >= log.lastIndex());
        boolean granted = current && free && complete;
        if (granted) {
            hardState = new HardState(hardState.term(), vote.from());
            ticksWaited = 0;
        }
        outbox.add(new Message.VoteAnswer(config.nodeId(), vote.from(), hardState.term(), granted));
    }

    private void onVoteAnswer(Message.VoteAnswer answer) {
        if (role == Role.CANDIDATE && answer.term() == hardState.term() && answer.granted()) {
            votes.add(answer.from());
            leadIfElected();
        }
    }

    private void leadIfElected() {
        // also when others elected us first: a leader's term must be durable here before it writes in it
        if (votes.contains(config.nodeId()) && votes.size() >= majority()) {
            role = Role.LEADER;
            log.append(Entry.noOp(log.lastIndex() + 1, hardState.term()));
        }
    }

    private void commitWhatAMajorityHas() {
        if (role != Role.LEADER || majority() > 1) {
            // copies at other voters are not tracked yet; without them nothing may be called committed
            return;
        }
        long candidate = log.stable();
        if (candidate > commit && log.termOf(candidate) == hardState.term()) {
            commit = candidate;
        }
    }

    private int majority() {
        return config.voters().size() / 2 + 1;
    }
}
