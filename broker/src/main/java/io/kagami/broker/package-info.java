/** Wires everything; the only package tree that knows all modules. */
package io.kagami.broker;
