package io.kagami.log;

/**
 * What an append did.
 *
 * @param baseOffset first offset of the first batch
 * @param endOffset log end after the append, exclusive
 * @param bytes bytes written
 */
public record Appended(long baseOffset, long endOffset, int bytes) {}
