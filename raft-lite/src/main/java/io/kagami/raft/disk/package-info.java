/** The few file operations that the store needs, as a port, so that a test can crash them. */
package io.kagami.raft.disk;
