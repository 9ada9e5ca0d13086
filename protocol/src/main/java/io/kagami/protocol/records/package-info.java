/** Records inside batches: reading them with a bound on what they inflate to, and building batches. */
package io.kagami.protocol.records;
