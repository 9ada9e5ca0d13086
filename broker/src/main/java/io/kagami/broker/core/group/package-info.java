/** Pure core of consumer groups. */
package io.kagami.broker.core.group;
