/** Sockets, pipelines, dispatch in order. */
package io.kagami.broker.net;
