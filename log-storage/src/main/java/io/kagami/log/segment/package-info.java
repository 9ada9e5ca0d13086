/** One segment file and its indexes: write, find, scan, load and repair. */
package io.kagami.log.segment;
