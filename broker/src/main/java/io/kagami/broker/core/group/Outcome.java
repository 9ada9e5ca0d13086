package io.kagami.broker.core.group;

import java.util.ArrayList;
import java.util.List;

/**
 * What an event leads to. Owner's order: append {@code records}; when they are safe {@link GroupShard#replay} each, then send the
 * replies. When the append is refused nothing is replayed and {@link GroupShard#onRefused} gives the replies to send instead.
 * No other event may be shown to the shard in between.
 *
 * @param groupId the group concerned, or empty when several are
 */
public record Outcome(String groupId, List<GroupRecord> records, List<Reply> replies, List<Transition> transitions) {
    /**
     * An answer to the request that came with {@code token}.
     *
     * @param body a response message of Kafka, or the part of one that belongs to this group
     */
    public record Reply(long token, Object body) {}

    /** For the log of the owner. */
    public record Transition(
            String groupId, GroupPhase from, GroupPhase to, int generation, int members, String reason) {}

    /** Collects an outcome. */
    static final class Builder {
        final String groupId;
        final long nowMs;
        private final List<GroupRecord> records = new ArrayList<>();
        private final List<Reply> replies = new ArrayList<>();
        private final List<Transition> transitions = new ArrayList<>();

        Builder(String groupId, long nowMs) {
            this.groupId = groupId;
            this.nowMs = nowMs;
        }

        Builder append(GroupRecord record) {
            records.add(record);
            return this;
        }

        Builder reply(long token, Object body) {
            replies.add(new Reply(token, body));
            return this;
        }

        Builder moved(ClassicGroup group, GroupPhase from, GroupPhase to, int generation, String reason) {
            transitions.add(new Transition(
                    group.groupId(), from, to, generation, group.members().size(), reason));
            return this;
        }

        Outcome build() {
            return new Outcome(groupId, List.copyOf(records), List.copyOf(replies), List.copyOf(transitions));
        }
    }
}
