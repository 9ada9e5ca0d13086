package io.kagami.broker.core.group;

/** Where a classic group stands between two rebalances. A group that does not exist is shown to clients as {@code Dead}. */
public enum GroupPhase {
    /** No members; may hold committed offsets. */
    EMPTY("Empty"),
    /** Waiting until every member has joined again, or the time for it is over. */
    PREPARING_REBALANCE("PreparingRebalance"),
    /** Joined; waiting for the leader's assignment. */
    COMPLETING_REBALANCE("CompletingRebalance"),
    /** Every member may fetch its assignment. */
    STABLE("Stable");

    private final String kafkaName;

    GroupPhase(String kafkaName) {
        this.kafkaName = kafkaName;
    }

    /** As in ListGroups and DescribeGroups. */
    public String kafkaName() {
        return kafkaName;
    }
}
