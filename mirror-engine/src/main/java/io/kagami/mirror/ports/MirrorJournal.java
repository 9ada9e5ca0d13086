package io.kagami.mirror.ports;

import io.kagami.mirror.core.PartitionState;
import java.util.Map;
import java.util.concurrent.CompletionStage;

/** Durable, ordered record of partition states. */
public interface MirrorJournal {
    /** Every known state of a mirror's partitions. */
    Map<MirrorPartition, PartitionState> states(String mirror);

    /**
     * Makes {@code next} durable if the stored state epoch equals {@code expectedStateEpoch} (0 when nothing is stored); completes with
     * the stored state, whose stateEpoch is one higher. A fenced proposal fails with {@link Fenced}.
     */
    CompletionStage<PartitionState> propose(MirrorPartition partition, PartitionState next, int expectedStateEpoch);

    /** Another state was stored meanwhile: re-read and decide again. */
    final class Fenced extends RuntimeException {
        private static final long serialVersionUID = 1L;

        public Fenced(String message) {
            super(message);
        }
    }
}
