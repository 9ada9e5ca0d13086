package io.kagami.mirror.core;

/**
 * Why a partition cannot go on.
 *
 * @param text a sentence for the operator
 * @param permanent needs an operator; never retried
 * @param realign the retry must go through LOG_ALIGNMENT, because the log may not fit the source's any more
 * @param endless retried for as long as it takes, without long pauses
 */
public record Failure(String text, boolean permanent, boolean realign, boolean endless) {
    public static Failure retryable(String text) {
        return new Failure(text, false, false, false);
    }

    public static Failure realign(String text) {
        return new Failure(text, false, true, false);
    }

    /** The local disk took no write. It says itself when it does again, and then nothing should wait. */
    public static Failure storage(String text) {
        return new Failure(text, false, true, true);
    }

    public static Failure permanent(String text) {
        return new Failure(text, true, false, false);
    }
}
