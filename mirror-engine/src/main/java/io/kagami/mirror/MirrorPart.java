package io.kagami.mirror;

import io.kagami.mirror.core.Decision;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.MirrorPartition;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Supplier;
import org.apache.kafka.common.Uuid;

/** What a mirror holds of one of its partitions. Owned by the mirror's loop; nothing here is durable but {@link #state}, a copy of the journal's. */
final class MirrorPart {
    final MirrorPartition id;
    /** Names the partition at the source; a topic without id has the zero id. */
    final SourceKey source;

    /** As the journal has it; null = none. */
    PartitionState state;
    /** A proposal is in flight; events wait in {@link #waiting}. */
    boolean proposing;

    final Deque<Supplier<Decision>> waiting = new ArrayDeque<>();
    /** Desired state at the last evaluation, null before the first. */
    Desired evaluatedFor;
    /** Grows when the work of the current state is replaced; what finishes with an older number is ignored. */
    long work;

    Turns.Cancel retry = () -> {};

    /** The state wants a fetcher. */
    boolean wantFetch;
    /** The fetcher that has it, or null. */
    SourceFetcher fetcher;
    /** Grows with every detach; appends of an older generation change nothing here. */
    long generation;

    int appendsInFlight;
    /** Someone waits for {@link #appendsInFlight} to become 0. */
    boolean quiescing;

    boolean raising;
    boolean advancing;
    boolean released;
    /** Largest batch epoch seen, also of batches that were not appended. */
    int seenEpoch = -1;
    /** Answers in a row in which the source did not know our epoch. */
    int undefinedEpochs;
    /** Leader errors in a row, for the backoff. */
    int leaderErrors;

    long sourceStart = -1;
    long sourceEnd = -1;
    long measuredAtMs = -1;
    long mirroredBytes;
    /** What a retention gap lost since this broker started, or null. */
    String gap;
    /** Detail for describe that is no failure, or null. */
    String note;

    MirrorPart(MirrorPartition id, Uuid sourceTopicId) {
        this.id = id;
        this.source = new SourceKey(id.topic(), sourceTopicId, id.partition());
    }

    /** Names a partition at the source. */
    record SourceKey(String topic, Uuid topicId, int partition) {}

    Phase phase() {
        return state == null ? null : state.phase();
    }

    @Override
    public String toString() {
        return id.toString();
    }
}
