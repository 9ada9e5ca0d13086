package io.kagami.mirror.core;

import java.util.List;

/** Answer of the lifecycle to an event. */
public sealed interface Decision {
    /** The next state (its state epoch is the one before: the journal counts) and what to do once it is durable. */
    record Step(PartitionState next, List<Effect> effects) implements Decision {}

    /** The event is not legal in this state: an error to the caller, never dropped as success. */
    record Illegal(String reason) implements Decision {}
}
