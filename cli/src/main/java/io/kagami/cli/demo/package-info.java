/** A real Kafka as child processes, the demo that mirrors it, and the byte-for-byte comparison of two clusters. */
package io.kagami.cli.demo;
