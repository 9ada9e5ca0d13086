package io.kagami.mirror.core;

/** What the loop does after a new state is durable. */
public sealed interface Effect {
    /** Ask the source where the two logs stand; ends in {@link Lifecycle#onAligned} or a failure. */
    record Align() implements Effect {}

    /** Raise the local leader epoch above the source's; ends in {@link Lifecycle#onEpochRaised}. */
    record RaiseEpoch() implements Effect {}

    /** Fetch from the local log end on. */
    record Fetch() implements Effect {}

    /** Remove the partition from its fetcher; an answer still to come for it is dropped. */
    record StopFetch() implements Effect {}

    /** As {@link StopFetch}, then wait for the append in flight; ends in {@link Lifecycle#onQuiet}. */
    record Quiesce() implements Effect {}

    /** Raise the local leader epoch above every mirrored one; ends in {@link Lifecycle#onHandedOver}. */
    record HandOver() implements Effect {}

    /** Nothing of the mirror may append any more and clients may. */
    record Release() implements Effect {}

    /** Run {@link Lifecycle#onRetryDue} after the delay. */
    record RetryAfter(long delayMs) implements Effect {}
}
