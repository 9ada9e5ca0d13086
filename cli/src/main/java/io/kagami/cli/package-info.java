/** The operator's shell: one-shot commands over the Kafka protocol, and the demo. */
package io.kagami.cli;
