package io.kagami.raft.core;

import java.util.List;

/**
 * What the shell has to do now, in this order: make {@code hardState} and {@code entries} durable, send {@code messages}, report
 * {@link RaftCore#persisted}, apply {@code committed} and report {@link RaftCore#applied}.
 *
 * @param hardState null when unchanged
 * @param entries to be appended to the store
 * @param mustSync whether anything has to reach the disk before the messages leave
 * @param committed durable and committed, not yet applied; in index order, no-ops included
 * @param messages to be sent only once the rest is durable
 */
public record Ready(
        HardState hardState, List<Entry> entries, boolean mustSync, List<Entry> committed, List<Message> messages) {}
