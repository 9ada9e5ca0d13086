package io.kagami.log.clean.core;

/**
 * Where an active producer stands, so that the batch which says so is kept.
 *
 * @param lastDataOffset last offset of its last batch of records in the current epoch; -1 when that epoch has a marker only
 * @param epoch its current epoch
 */
public record ProducerEnd(long lastDataOffset, short epoch) {}
