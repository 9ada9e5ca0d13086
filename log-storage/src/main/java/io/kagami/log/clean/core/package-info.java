/** What retention and compaction decide: which segments go, which are dirty, which records survive. */
package io.kagami.log.clean.core;
