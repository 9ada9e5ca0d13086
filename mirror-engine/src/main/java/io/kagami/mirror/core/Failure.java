package io.kagami.mirror.core;

/**
 * Why a partition cannot go on.
 *
 * @param text a sentence for the operator
 * @param permanent needs an operator; never retried
 * @param realign the retry must go through LOG_ALIGNMENT, because the log may not fit the source's any more
 */
public record Failure(String text, boolean permanent, boolean realign) {
    public static Failure retryable(String text) {
        return new Failure(text, false, false);
    }

    public static Failure realign(String text) {
        return new Failure(text, false, true);
    }

    public static Failure permanent(String text) {
        return new Failure(text, true, false);
    }
}
