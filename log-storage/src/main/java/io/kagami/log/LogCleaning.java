package io.kagami.log;

import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.Round;
import io.kagami.log.clean.core.DirtyRange;
import io.kagami.log.clean.core.SegmentFacts;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentList;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.LongSupplier;
import java.util.function.Supplier;

/**
 * Compaction of one log: what of it is dirty, and the way of the compacted segments back into it. Pictures are taken and segments swapped by
 * the log's writer; all between happens on the thread that asks.
 */
final class LogCleaning {
    private final SegmentedLog log;
    private final SegmentChain chain;
    private final RecoveryPoint recovery;
    private volatile long cleanedTo;

    LogCleaning(SegmentedLog log, SegmentChain chain, RecoveryPoint recovery, long cleanedTo) {
        this.log = log;
        this.chain = chain;
        this.recovery = recovery;
        this.cleanedTo = cleanedTo;
    }

    /** End of the last compaction, -1 when there was none. Any thread. */
    long cleanedTo() {
        return cleanedTo;
    }

    /** The log ends here now. Writer only. */
    void lowerTo(long offset) {
        long lower = Math.min(cleanedTo, offset);
        cleanedTo = lower;
    }

    /** Any thread. */
    Optional<DirtyRange> dirty(long nowMs, long bound) {
        LogOptions.Compaction policy = log.options().compaction();
        if (!policy.enabled()) {
            return Optional.empty();
        }
        SegmentedView view = log.view();
        return Optional.of(range(view, policy, nowMs, Math.min(bound, view.lastStableOffset())));
    }

    private DirtyRange range(SegmentedView view, LogOptions.Compaction policy, long nowMs, long bound) {
        DirtyRange.Lags lags = new DirtyRange.Lags(policy.minLagMs(), policy.maxLagMs());
        return DirtyRange.of(view.facts(), view.startOffset(), cleanedTo, bound, lags, nowMs);
    }

    /** See {@link PartitionLog#compact}. */
    Cleaned compact(Compactor compactor, long nowMs, LongSupplier bound, Executor writer)
            throws CleaningFailed, Pace.Stopped {
        log.forceSealed(); // what survives depends on records that must not be lost any more
        Taken taken = onWriter(writer, () -> take(nowMs, bound));
        if (taken == null) {
            return Cleaned.nothing();
        }
        Swapping swap = new Swapping(writer, bound, taken.generation());
        try {
            Cleaned done = compactor.run(taken.round(swap));
            if (done.kind() == Cleaned.Kind.DONE) {
                chain.forceIfChanged();
                onWriter(writer, () -> {
                    if (swap.valid()) {
                        cleanedTo = done.cleanedTo();
                    }
                    return null;
                });
            }
            return done;
        } catch (IOException e) {
            throw new CleaningFailed("cannot compact log " + log.name() + " in " + chain.directory() + ": " + e, e);
        }
    }

    private record Taken(int generation, RoundMaker maker) {
        Round round(Round.Swap swap) {
            return maker.make(swap);
        }
    }

    private interface RoundMaker {
        Round make(Round.Swap swap);
    }

    /** The picture; null when there is nothing to compact. Writer only. */
    private Taken take(long nowMs, LongSupplier bound) {
        LogOptions options = log.options();
        if (!options.compaction().enabled() || log.offline()) {
            return null;
        }
        SegmentedView view = log.view();
        long upTo = Math.min(Math.min(bound.getAsLong(), view.lastStableOffset()), recovery.point());
        DirtyRange dirty = range(view, options.compaction(), nowMs, upTo);
        if (dirty.firstDirtyOffset() >= dirty.uncleanableOffset()) {
            return null;
        }
        SegmentList list = view.segments();
        List<Aborted> aborted = new ArrayList<>();
        list.all().forEach(segment -> aborted.addAll(segment.aborted().entries()));
        List<SegmentFacts> facts = view.facts();
        Set<Long> producers = log.activeProducers();
        return new Taken(
                recovery.cuts(),
                swap -> new Round(
                        chain.disk(),
                        chain.directory(),
                        list.first(list.count() - 1).all(),
                        facts.subList(0, facts.size() - 1),
                        dirty,
                        aborted,
                        producers,
                        chain.settings(),
                        options.segmentBytes(),
                        options.compaction().deleteRetentionMs(),
                        nowMs,
                        swap));
    }

    /** Runs a task on the writer's thread and waits for it. */
    private static <T> T onWriter(Executor writer, Supplier<T> task) throws Pace.Stopped {
        CompletableFuture<T> result = new CompletableFuture<>();
        try {
            writer.execute(() -> {
                try {
                    result.complete(task.get());
                } catch (RuntimeException | Error e) {
                    result.completeExceptionally(e);
                }
            });
            return result.join();
        } catch (RejectedExecutionException e) {
            throw new Pace.Stopped();
        } catch (CompletionException e) {
            if (e.getCause() instanceof RuntimeException failure) {
                throw failure;
            }
            if (e.getCause() instanceof Error broken) {
                throw broken;
            }
            throw e;
        }
    }

    private final class Swapping implements Round.Swap {
        private final Executor writer;
        private final LongSupplier bound;
        private final int generation;

        Swapping(Executor writer, LongSupplier bound, int generation) {
            this.writer = writer;
            this.bound = bound;
            this.generation = generation;
        }

        @Override
        public boolean valid() {
            return !log.offline() && recovery.cuts() == generation;
        }

        @Override
        public boolean replace(List<Segment> old, Segment cleaned, long roundEnd) throws Pace.Stopped {
            return onWriter(
                    writer,
                    () -> valid()
                            && log.options().compaction().enabled()
                            && roundEnd <= bound.getAsLong()
                            && log.replace(old, cleaned));
        }
    }
}
