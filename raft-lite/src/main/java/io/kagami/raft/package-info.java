/** One Raft group for metadata: a pure core, a durable store, one loop. */
package io.kagami.raft;
