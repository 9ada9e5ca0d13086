/** Translation between a Kafka message and one call to an owner of state. */
package io.kagami.broker.api;
