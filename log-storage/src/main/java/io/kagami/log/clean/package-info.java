/** Compaction: copies sealed segments without what later records of the same key made superfluous. */
package io.kagami.log.clean;
