package io.kagami.broker.adopt;

/** Why an adoption cannot begin or go on, as a sentence for the operator. */
public final class AdoptionFailed extends RuntimeException {
    private static final long serialVersionUID = 1;

    AdoptionFailed(String message) {
        super(message);
    }

    AdoptionFailed(String message, Throwable cause) {
        super(message, cause);
    }
}
