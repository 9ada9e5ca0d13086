/** The broker side of the mirror engine's ports. */
package io.kagami.broker.mirror;
