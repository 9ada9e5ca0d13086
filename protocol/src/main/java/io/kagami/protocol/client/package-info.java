/** The client side: one connection to one broker, and a cluster of them. */
package io.kagami.protocol.client;
