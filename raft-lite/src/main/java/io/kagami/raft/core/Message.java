package io.kagami.raft.core;

/** What voters say to each other. Every message carries its sender's term. */
public sealed interface Message {
    int from();

    int to();

    long term();

    /** A candidate asks for a vote; {@code lastIndex} and {@code lastTerm} name the last entry of its log. */
    record Vote(int from, int to, long term, long lastIndex, long lastTerm) implements Message {}

    /** The answer; {@code term} is that of the voter. */
    record VoteAnswer(int from, int to, long term, boolean granted) implements Message {}
}
