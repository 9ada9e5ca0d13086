/** Speak Kafka, as server and as client: the API table, requests and responses, the private mirror messages. */
package io.kagami.protocol;
