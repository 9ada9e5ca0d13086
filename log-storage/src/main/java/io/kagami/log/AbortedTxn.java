package io.kagami.log;

/** One aborted transaction as a Fetch answer lists it. */
public record AbortedTxn(long producerId, long firstOffset, long lastOffset) {}
