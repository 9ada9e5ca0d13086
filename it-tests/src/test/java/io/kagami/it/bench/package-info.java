/** Kagami beside MirrorMaker 2 and Apache Kafka on one machine: the program that measures, started by {@code it-tests/bench}. */
package io.kagami.it.bench;
