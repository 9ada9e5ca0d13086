package io.kagami.log.core;

/**
 * A batch that its producer may not append here; nothing was written. There is no reason for a producer id that nobody knows: since
 * KIP-360 such a batch is taken with any sequence.
 */
public final class ProducerFault extends RuntimeException {
    private static final long serialVersionUID = 1L;

    private final Reason reason;

    /** Why, in the words of Apache Kafka's errors. */
    public enum Reason {
        /** A sequence is missing, or came before and is no longer remembered. */
        OUT_OF_ORDER_SEQUENCE,
        /** A newer instance of the producer has written already. */
        INVALID_PRODUCER_EPOCH,
        /** A plain batch in the middle of the producer's transaction. */
        INVALID_TXN_STATE,
        /** A marker of a transaction coordinator that has been replaced. */
        COORDINATOR_FENCED
    }

    /** @param message says which producer, what it sent and what is known */
    public ProducerFault(Reason reason, String message) {
        super(message, null, false, false);
        this.reason = reason;
    }

    public Reason reason() {
        return reason;
    }
}
