/** Retention and compaction of all partitions in the background. */
package io.kagami.broker.clean;
