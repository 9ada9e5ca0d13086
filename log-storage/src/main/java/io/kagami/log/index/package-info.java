/** Sparse indexes of one segment: offset, timestamp, aborted transactions; derived from the batches and rebuilt when in doubt. */
package io.kagami.log.index;
