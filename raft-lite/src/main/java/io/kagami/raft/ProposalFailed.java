package io.kagami.raft;

/** Why a proposal did not succeed, and whether it may have happened. */
public class ProposalFailed extends RuntimeException {
    private static final long serialVersionUID = 1L;

    /** NOT_LEADER, OVERLOADED and TOO_LARGE did not happen; OUTCOME_UNKNOWN may have. */
    public enum Reason {
        NOT_LEADER,
        OVERLOADED,
        TOO_LARGE,
        OUTCOME_UNKNOWN
    }

    private final Reason reason;

    public ProposalFailed(Reason reason, String message) {
        super(message);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
