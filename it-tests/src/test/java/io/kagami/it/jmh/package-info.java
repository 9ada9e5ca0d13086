/** The innermost steps of the two hot paths under JMH, started by hand: {@code it-tests/bench --jmh}. */
package io.kagami.it.jmh;
