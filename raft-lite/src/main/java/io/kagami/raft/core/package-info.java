/** Decisions of consensus: terms, votes, what is durable, what is committed. No clock, no I/O, no threads. */
package io.kagami.raft.core;
