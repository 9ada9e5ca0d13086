package io.kagami.broker.clean;

import io.kagami.broker.partition.Cleanable;
import io.kagami.log.StorageFault;
import io.kagami.log.clean.BatchRewriter;
import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Pace;
import java.time.InstantSource;
import java.util.Collection;
import java.util.Optional;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The threads {@code cleaner-0} and so on: each takes the dirtiest log that is due, compacts it, and looks again; when there is none it rests. A log
 * that cannot be compacted is told, counted and tried again later; no failure ends a thread (KAFKA-3894). Touches logs through their loops
 * alone, but for sealed segments, which nobody changes.
 */
public final class CleanerLoop implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(CleanerLoop.class);
    private static final long CLOSE_MS = 10_000;

    /**
     * Of all threads together, but for the limits of each.
     *
     * @param bytesPerSecond read and written
     * @param backoffMs rest when nothing is due
     */
    public record Settings(int threads, double bytesPerSecond, long backoffMs, Compactor.Limits limits) {}

    private final Supplier<Collection<Cleanable>> partitions;
    private final BatchRewriter rewriter;
    private final Settings settings;
    private final CleanerMeters meters;
    private final InstantSource clock;
    private final IoPace pace;
    private final CleanerState state;
    private final ExecutorService threads;

    public CleanerLoop(
            Supplier<Collection<Cleanable>> partitions,
            BatchRewriter rewriter,
            Settings settings,
            CleanerMeters meters,
            InstantSource clock) {
        this.partitions = partitions;
        this.rewriter = rewriter;
        this.settings = settings;
        this.meters = meters;
        this.clock = clock;
        this.pace = new IoPace(settings.bytesPerSecond(), System::nanoTime);
        this.state = new CleanerState(settings.backoffMs());
        AtomicInteger numbers = new AtomicInteger();
        this.threads = Executors.newFixedThreadPool(settings.threads(), task -> {
            Thread made = new Thread(task, "cleaner-" + numbers.getAndIncrement());
            made.setDaemon(true);
            return made;
        });
        meters.state(state::dirtiest, () -> state.failures().size());
    }

    public void start() {
        for (int i = 0; i < settings.threads(); i++) {
            threads.execute(this::run);
        }
    }

    private void run() {
        while (!pace.stopped()) {
            boolean worked = false;
            try {
                worked = step();
            } catch (RuntimeException e) {
                LOG.error("looking for logs to compact failed; it is tried again", e);
            }
            if (!worked) {
                pace.rest(Math.max(1, settings.backoffMs()));
            }
        }
    }

    /** Compacts one log; false when none is due. */
    boolean step() {
        Optional<Cleanable> next = state.take(partitions.get(), clock.millis());
        if (next.isEmpty()) {
            return false;
        }
        Cleanable log = next.get();
        try {
            long begunMs = clock.millis();
            Compactor compactor = new Compactor(rewriter, pace, settings.limits());
            Cleaned cleaned = log.log().compact(compactor, begunMs, log.bound(), log.loop());
            told(log, cleaned, clock.millis() - begunMs);
            state.done(log, cleaned.kind() == Cleaned.Kind.DONE, clock.millis());
        } catch (Pace.Stopped e) {
            state.done(log, false, clock.millis());
        } catch (CleaningFailed | StorageFault e) {
            failed(log, e);
        } catch (RuntimeException e) {
            failed(log, e); // a bug, or an error of the platform: the other logs must not suffer
        }
        return true;
    }

    private void told(Cleanable log, Cleaned cleaned, long tookMs) {
        if (cleaned.kind() != Cleaned.Kind.DONE) {
            LOG.debug("{} was not compacted: {}", log.name(), cleaned.kind());
            return;
        }
        meters.cleaned(cleaned.bytesBefore(), cleaned.bytesAfter());
        LOG.atInfo()
                .addKeyValue("log", log.name())
                .addKeyValue("cleanedTo", cleaned.cleanedTo())
                .addKeyValue("bytesBefore", cleaned.bytesBefore())
                .addKeyValue("bytesAfter", cleaned.bytesAfter())
                .addKeyValue("segmentsBefore", cleaned.segmentsBefore())
                .addKeyValue("segmentsAfter", cleaned.segmentsAfter())
                .addKeyValue("keys", cleaned.keys())
                .addKeyValue("tookMs", tookMs)
                .log(
                        cleaned.mapFull()
                                ? "Log compacted in part: its keys do not all fit in log.cleaner.dedupe.buffer.size"
                                : "Log compacted");
        if (cleaned.keyless() > 0) {
            LOG.atWarn()
                    .addKeyValue("log", log.name())
                    .addKeyValue("records", cleaned.keyless())
                    .log("Compaction dropped records without a key");
        }
    }

    private void failed(Cleanable log, Exception e) {
        CleanerState.Failure failure = state.failed(log, e.toString(), clock.millis());
        meters.failed();
        LOG.atError()
                .addKeyValue("log", log.name())
                .addKeyValue("attempts", failure.attempts())
                .addKeyValue("retryInMs", failure.retryAtMs() - clock.millis())
                .setCause(e)
                .log(
                        "Log cannot be compacted; it stays as it is and is tried again, or when its configuration changes");
        log.look().run();
    }

    CleanerState state() {
        return state;
    }

    /** Ends what is going on between two batches and waits for it; without an interrupt, see {@link IoPace}. */
    @Override
    public void close() {
        pace.stop();
        threads.shutdown();
        try {
            if (!threads.awaitTermination(CLOSE_MS, TimeUnit.MILLISECONDS)) {
                LOG.warn("compaction does not end");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
