/**
 * Runs coordinator shards on the loops of their own partitions.
 *
 * <p>A shard is what its partition of {@code __consumer_offsets} says when it is read from start to end, plus who is waiting right now.
 * {@link io.kagami.broker.coordinator.ShardHost} does the rest in this order: decide, append, replay, answer. The topic has
 * {@code cleanup.policy=compact}, but nothing compacts it yet, so it grows with every commit and a start reads all of it, in chunks of
 * 1 MiB and with memory for the latest values alone.
 */
package io.kagami.broker.coordinator;
