/** Runs coordinator shards on the loops of their own partitions. */
package io.kagami.broker.coordinator;
