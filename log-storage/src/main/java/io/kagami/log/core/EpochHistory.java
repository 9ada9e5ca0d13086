package io.kagami.log.core;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * Which leader epoch begins at which offset (KIP-101). Immutable; epochs and start offsets both increase. Bounded by the number of
 * leader changes whose batches are in the log.
 */
public final class EpochHistory {
    public static final EpochHistory EMPTY = new EpochHistory(new int[0], new long[0]);

    private final int[] epochs;
    private final long[] starts;

    private EpochHistory(int[] epochs, long[] starts) {
        this.epochs = epochs;
        this.starts = starts;
    }

    /** An epoch and its first offset. */
    public record Entry(int epoch, long startOffset) {}

    /** An epoch and its end, exclusive. */
    public record End(int epoch, long endOffset) {}

    /**
     * The history after a batch with this epoch at this offset. The same object when the epoch goes on or is -1; entries that
     * contradict (a larger epoch, or a start at or above the offset) give way to the batch.
     */
    public EpochHistory assign(int epoch, long startOffset) {
        if (epoch < 0 || (epochs.length > 0 && epoch == lastEpoch() && startOffset >= starts[starts.length - 1])) {
            return this;
        }
        int keep = 0;
        while (keep < epochs.length && epochs[keep] < epoch && starts[keep] < startOffset) {
            keep++;
        }
        int[] newEpochs = Arrays.copyOf(epochs, keep + 1);
        long[] newStarts = Arrays.copyOf(starts, keep + 1);
        newEpochs[keep] = epoch;
        newStarts[keep] = startOffset;
        return new EpochHistory(newEpochs, newStarts);
    }

    /** Forgets epochs that begin at or above the end offset. */
    public EpochHistory truncateFromEnd(long endOffset) {
        int keep = epochs.length;
        while (keep > 0 && starts[keep - 1] >= endOffset) {
            keep--;
        }
        return keep == epochs.length ? this : slice(0, keep);
    }

    /** Forgets epochs that end at or below the start offset; the one that goes on begins there from now on. */
    public EpochHistory truncateFromStart(long startOffset) {
        int drop = floor(startOffset);
        if (drop < 0 || (drop == 0 && starts[0] == startOffset)) {
            return this;
        }
        EpochHistory rest = slice(drop, epochs.length);
        rest.starts[0] = startOffset;
        return rest;
    }

    /**
     * End of an epoch as a Kafka leader answers it (KIP-279): of the largest epoch here not above the asked one. An epoch older than all
     * here is answered by itself and the start of the oldest one. Empty when the epoch is -1 or newer than all here.
     */
    public Optional<End> endOf(int epoch, long logEndOffset) {
        int last = epochs.length - 1;
        if (epoch < 0 || last < 0 || epoch > epochs[last]) {
            return Optional.empty();
        }
        if (epoch == epochs[last]) {
            return Optional.of(new End(epoch, logEndOffset));
        }
        int found = Arrays.binarySearch(epochs, epoch);
        int at = found >= 0 ? found : -found - 2;
        return Optional.of(at < 0 ? new End(epoch, starts[0]) : new End(epochs[at], starts[at + 1]));
    }

    public OptionalLong startOf(int epoch) {
        int at = Arrays.binarySearch(epochs, epoch);
        return at >= 0 ? OptionalLong.of(starts[at]) : OptionalLong.empty();
    }

    /** Epoch in force at an offset, -1 when unknown. */
    public int epochAt(long offset) {
        int at = floor(offset);
        return at < 0 ? -1 : epochs[at];
    }

    /** -1 when there is none. */
    public int lastEpoch() {
        return epochs.length == 0 ? -1 : epochs[epochs.length - 1];
    }

    public List<Entry> entries() {
        List<Entry> entries = new ArrayList<>(epochs.length);
        for (int i = 0; i < epochs.length; i++) {
            entries.add(new Entry(epochs[i], starts[i]));
        }
        return entries;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof EpochHistory that
                && Arrays.equals(epochs, that.epochs)
                && Arrays.equals(starts, that.starts);
    }

    @Override
    public int hashCode() {
        return 31 * Arrays.hashCode(epochs) + Arrays.hashCode(starts);
    }

    @Override
    public String toString() {
        return entries().toString();
    }

    private int floor(long offset) {
        int found = Arrays.binarySearch(starts, offset);
        return found >= 0 ? found : -found - 2;
    }

    private EpochHistory slice(int from, int to) {
        return new EpochHistory(Arrays.copyOfRange(epochs, from, to), Arrays.copyOfRange(starts, from, to));
    }
}
