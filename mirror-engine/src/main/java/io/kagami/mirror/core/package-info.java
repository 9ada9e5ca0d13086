/** Decisions of mirroring: pure functions and tables, without clock, I/O or threads. */
package io.kagami.mirror.core;
