/** The command {@code kagami storage adopt}: reads the directories of a stopped broker, prints the plan, carries it out. */
package io.kagami.broker.adopt;
