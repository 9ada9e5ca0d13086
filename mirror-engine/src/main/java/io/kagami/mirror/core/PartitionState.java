package io.kagami.mirror.core;

/**
 * Durable state of one mirror partition.
 *
 * @param phase actual state
 * @param stateEpoch grows by one with every accepted change; 0 before the first
 * @param previous state before PAUSED or FAILED, else null
 * @param retryAttempt attempts so far; -1 = permanent failure
 * @param errorMessage null unless FAILED
 */
public record PartitionState(Phase phase, int stateEpoch, Phase previous, int retryAttempt, String errorMessage) {}
