package io.kagami.protocol.client;

import java.util.concurrent.CompletableFuture;

/**
 * One request that waits for its answer.
 *
 * @param deadlineNanos of {@link System#nanoTime()}
 */
record InFlight(int correlationId, short apiKey, short version, long deadlineNanos, CompletableFuture<Reply> future) {}
