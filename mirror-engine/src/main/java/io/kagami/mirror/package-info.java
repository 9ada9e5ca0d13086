/** Pull, append, converge, hand over: the mirror engine. */
package io.kagami.mirror;
