/** Promises kept against the real thing: real Kafka sources, real clients, our broker as a user runs it. */
package io.kagami.it;
