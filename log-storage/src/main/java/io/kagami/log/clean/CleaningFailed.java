package io.kagami.log.clean;

/** A log that cannot be compacted for now; it is as it was, and the message says which file, where and why. */
public final class CleaningFailed extends Exception {
    private static final long serialVersionUID = 1L;

    public CleaningFailed(String message, Throwable cause) {
        super(message, cause);
    }
}
