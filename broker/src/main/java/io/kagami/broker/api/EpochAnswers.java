package io.kagami.broker.api;

import io.kagami.log.LogView;
import io.kagami.log.LogView.EpochEnd;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.kafka.common.protocol.Errors;

/**
 * Where an epoch ends, as clients are told (KIP-101, KIP-279, KIP-320). The local leader epoch has no entry in the epoch history before
 * something is written in it, and on a mirrored partition nothing ever is: there it lies above every epoch of the batches. So an epoch
 * between the last one of the history and the leader epoch ends at the log end, or consumers would take the answer for a truncation.
 */
final class EpochAnswers {
    static final int UNDEFINED = -1;

    private EpochAnswers() {}

    /** Epoch -1 and offset -1 when nothing is known of it. */
    static EpochEnd endOf(LogView view, int leaderEpoch, int requested) {
        if (requested < 0 || requested > leaderEpoch) {
            return new EpochEnd(UNDEFINED, UNDEFINED);
        }
        int last = view.lastEpoch();
        if (last < 0) {
            return new EpochEnd(requested, view.endOffset());
        }
        if (requested >= last) {
            return new EpochEnd(last, view.endOffset());
        }
        Optional<EpochEnd> known = view.endOfEpoch(requested);
        if (known.isPresent()) {
            return known.get();
        }
        // below the whole history: such an epoch ended where the history begins
        OptionalLong begin = view.startOfEpoch(view.epochAt(view.startOffset()));
        return new EpochEnd(requested, begin.orElse(view.startOffset()));
    }

    /** Whether the client's idea of the leader epoch fits; -1 means that it has none. */
    static Errors fence(int currentLeaderEpoch, int leaderEpoch) {
        if (currentLeaderEpoch < 0 || currentLeaderEpoch == leaderEpoch) {
            return Errors.NONE;
        }
        return currentLeaderEpoch < leaderEpoch ? Errors.FENCED_LEADER_EPOCH : Errors.UNKNOWN_LEADER_EPOCH;
    }
}
