package io.kagami.log;

import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.core.DirtyRange;
import io.kagami.log.clean.core.RetentionPlan;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.BatchWalker;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.EpochHistory;
import io.kagami.log.core.ProducerCheck;
import io.kagami.log.core.ProducerEntry.Batch;
import io.kagami.log.core.ProducerFault;
import io.kagami.log.core.ProducerFault.Reason;
import io.kagami.log.core.ProducerTable;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.disk.Disk;
import io.kagami.log.segment.Segment;
import io.kagami.log.segment.SegmentSettings;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A log as a list of segments. An {@link InternalError} is what the JVM makes of a page of a mapped index that the disk cannot give. One
 * writer thread; {@link #force()} may come from any thread, so that waiting for a disk need not
 * hold up appends.
 */
final class SegmentedLog implements PartitionLog {
    private static final Logger LOG = LoggerFactory.getLogger(SegmentedLog.class);

    private final LogName name;
    private final UUID topicId;
    private final InstantSource clock;
    private final SegmentChain chain;
    private final RecoveryPoint recovery;
    private final LogCleaning cleaning;
    private volatile LogOptions options;
    private long startOffset;
    private long endOffset;
    private EpochHistory epochs;
    private ProducerTable producers;
    private final ProducerSnapshots snapshots;
    private volatile SegmentedView view;
    private final Fence fence;
    private volatile long forcedMs;
    private FlushLoop flusher;
    private boolean released;

    SegmentedLog(
            Disk disk,
            Path directory,
            LogName name,
            UUID topicId,
            LogOptions options,
            InstantSource clock,
            RecoveryPoint.Lowering lowering,
            LogLoader.State state,
            long recoveryPoint,
            long cleanedTo,
            RemovedSegments removed) {
        this.name = name;
        this.topicId = topicId;
        this.options = options;
        this.clock = clock;
        this.chain = new SegmentChain(disk, directory, settings(options), state.segments(), removed);
        this.recovery =
                new RecoveryPoint(name, lowering, Math.min(recoveryPoint, state.endOffset()), state.startOffset());
        this.cleaning = new LogCleaning(this, chain, recovery, cleanedTo);
        this.startOffset = state.startOffset();
        this.endOffset = state.endOffset();
        this.epochs = state.epochs();
        this.producers = state.producers();
        this.snapshots = state.snapshots();
        this.fence = new Fence(name, directory);
        this.forcedMs = clock.millis();
        publish();
    }

    @Override
    public LogName name() {
        return name;
    }

    @Override
    public UUID topicId() {
        return topicId;
    }

    @Override
    public SegmentedView view() {
        return view;
    }

    /** What is known of the producers; the writer's own. */
    ProducerTable producers() {
        return producers;
    }

    @Override
    public boolean offline() {
        return fence.fault() != null;
    }

    @Override
    public boolean readable() {
        return fence.readable();
    }

    @Override
    public Optional<StorageFault> fault() {
        return Optional.ofNullable(fence.fault());
    }

    @Override
    public void retire() {
        fence.retire();
    }

    /** Whether the writer is through with it, so that its files may be opened anew. Any thread. */
    boolean retired() {
        return fence.retired();
    }

    /** Who forces without holding up the writer; set before the log is used. */
    SegmentedLog flushedBy(FlushLoop loop) {
        flusher = loop;
        return this;
    }

    @Override
    public Appended append(ByteBuffer batches, int leaderEpoch) {
        requireOnline();
        long next = endOffset;
        int limit = batches.limit();
        ProducerCheck check = new ProducerCheck(producers);
        Batch original = null;
        boolean news = false;
        for (int at = batches.position(); at < limit; at += BatchHeader.sizeInBytes(batches, at)) {
            requireWhole(batches, at);
            if (BatchHeader.magic(batches, at) != 2) {
                throw new IllegalArgumentException(
                        "only v2 batches are appended to " + name + ", not v" + BatchHeader.magic(batches, at));
            }
            BatchHeader.stampBaseOffset(batches, at, next);
            BatchHeader.stampLeaderEpoch(batches, at, leaderEpoch);
            next = BatchHeader.lastOffset(batches, at) + 1;
            Batch found = check.onBatch(batches, at, control(batches, at));
            original = original == null ? found : original;
            news |= found == null;
        }
        if (original == null) {
            return write(batches, endOffset);
        }
        if (news) {
            throw new ProducerFault(
                    Reason.OUT_OF_ORDER_SEQUENCE, "some of these batches are in " + name + " already, others are not");
        }
        batches.position(limit);
        return new Appended(original.firstOffset(), endOffset, 0, true, original.timestampMs());
    }

    private static ControlRecord control(ByteBuffer batches, int at) {
        return ControlRecord.of(batches, at, at + BatchHeader.sizeInBytes(batches, at));
    }

    @Override
    public Appended appendMirrored(ByteBuffer batches) {
        requireOnline();
        long next = endOffset;
        int limit = batches.limit();
        for (int at = batches.position(); at < limit; at += BatchHeader.sizeInBytes(batches, at)) {
            requireWhole(batches, at);
            long base = BatchHeader.baseOffset(batches, at);
            if (base < next) {
                throw new IllegalArgumentException("batch with base offset " + base + " does not continue " + name
                        + ", which ends at " + next + " with the batches before it");
            }
            next = BatchHeader.lastOffset(batches, at) + 1;
        }
        return write(batches, batches.hasRemaining() ? BatchHeader.baseOffset(batches, batches.position()) : endOffset);
    }

    private void requireWhole(ByteBuffer batches, int at) {
        int rest = batches.limit() - at;
        String wrong = rest < BatchHeader.MAGIC_END || rest < BatchHeader.sizeMin(BatchHeader.magic(batches, at))
                ? "it is torn"
                : BatchWalker.headerFault(batches, at);
        if (wrong == null && BatchHeader.sizeInBytes(batches, at) > rest) {
            wrong = "it is torn";
        }
        if (wrong != null) {
            throw new IllegalArgumentException(
                    "batch at byte " + (at - batches.position()) + " cannot be appended to " + name + ": " + wrong);
        }
    }

    /** Writes checked batches in as few writes as segments allow: one, unless a segment ends in between. */
    private Appended write(ByteBuffer batches, long baseOffset) {
        int start = batches.position();
        int limit = batches.limit();
        int runStart = start;
        int entries = 0;
        Segment active = chain.active();
        long since = active.bytesSinceEntry();
        long nowMs = clock.millis();
        try {
            for (int at = start; at < limit; ) {
                int size = BatchHeader.sizeInBytes(batches, at);
                long last = BatchHeader.lastOffset(batches, at);
                boolean full = active.isFullFor(at - runStart, entries, size, last, options.segmentBytes());
                if (full || isDue(BatchHeader.maxTimestamp(batches, at), nowMs)) {
                    writeRun(batches, runStart, at);
                    chain.rollFor(batches, at, endOffset, nowMs);
                    snapshots.take(endOffset, producers);
                    active = chain.active();
                    runStart = at;
                    entries = 0;
                    since = 0;
                }
                if (since > active.indexIntervalBytes()) {
                    entries++;
                    since = 0;
                }
                since += size;
                at += size;
            }
            writeRun(batches, runStart, limit);
        } catch (IOException | InternalError e) {
            throw goOffline(Fence.APPEND, e);
        }
        publish();
        batches.position(limit);
        return new Appended(baseOffset, endOffset, limit - start);
    }

    private boolean isDue(long timestampMs, long nowMs) {
        Segment active = chain.active();
        return active.size() > 0 && active.ageMs(timestampMs, nowMs) > options.rollMs(active.baseOffset());
    }

    private void writeRun(ByteBuffer batches, int from, int to) throws IOException {
        if (from == to) {
            return;
        }
        Segment active = chain.active();
        active.write(batches.duplicate().position(from).limit(to));
        int position = active.size();
        for (int at = from; at < to; ) {
            int size = BatchHeader.sizeInBytes(batches, at);
            active.learn(batches, at, position);
            epochs = epochs.assign(BatchHeader.leaderEpoch(batches, at), BatchHeader.baseOffset(batches, at));
            Aborted aborted = producers.onBatch(batches, at, control(batches, at));
            if (aborted != null) {
                active.aborted().append(aborted);
            }
            endOffset = BatchHeader.lastOffset(batches, at) + 1;
            position += size;
            at += size;
        }
        active.publish(position);
    }

    /** Between appends; the snapshot is all that tells of the producers once the segments before it are deleted. */
    private void roll(long nowMs) {
        try {
            chain.roll(endOffset, nowMs);
            snapshots.take(endOffset, producers);
        } catch (IOException | InternalError e) {
            throw goOffline(Fence.ROLL, e);
        }
    }

    @Override
    public void rollIfDue(long nowMs) {
        if (fence.fault() == null && isDue(nowMs, nowMs)) {
            roll(nowMs);
            publish();
        }
    }

    @Override
    public void truncateTo(long newEnd) {
        requireOnline();
        if (newEnd < startOffset) {
            restartAt(newEnd);
            return;
        }
        if (newEnd >= endOffset) {
            epochs = epochs.truncateFromEnd(newEnd);
            publish();
            return;
        }
        long bytesBefore = chain.sizeInBytes();
        try {
            // the cut may fall into a batch or into missing offsets; it does not go below the segment
            recovery.lowerTo(chain.baseOffsetAt(newEnd), newEnd);
            snapshots.removeAbove(newEnd);
            cleaning.lowerTo(newEnd);
            endOffset = chain.cutAt(newEnd, clock.millis());
            epochs = epochs.truncateFromEnd(endOffset);
            cleaning.lowerTo(endOffset); // below what was asked when that lay inside a batch
            snapshots.removeAbove(endOffset);
            if (!producers.unchangedBelow(newEnd)) {
                producers = rebuiltProducers();
            }
            snapshots.take(endOffset, producers);
        } catch (IOException | InternalError e) {
            throw goOffline("truncate", e);
        }
        if (endOffset < startOffset) {
            restartAt(startOffset); // the batch that holds the log start was cut
            return;
        }
        LOG.atInfo()
                .addKeyValue("log", name)
                .addKeyValue("asked", newEnd)
                .addKeyValue("endOffset", endOffset)
                .addKeyValue("bytesRemoved", bytesBefore - chain.sizeInBytes())
                .log("Log truncated");
        publishCut();
    }

    private void publishCut() {
        publish();
        recovery.cutIsVisible();
    }

    /** From the newest snapshot that is left and the batches behind it, or from all batches. */
    private ProducerTable rebuiltProducers() throws IOException {
        ProducerSnapshots.Loaded newest = snapshots.load(endOffset);
        ProducerTable table = newest == null ? new ProducerTable() : newest.table();
        table.atLeast(producers.maxProducerId());
        long from = newest == null ? 0 : newest.offset();
        if (!ProducerRebuild.from(from, chain.list(), table)) {
            throw new IOException("a batch that the producers depend on cannot be read");
        }
        return table;
    }

    @Override
    public void restartAt(long offset) {
        requireOnline();
        if (offset < 0) {
            throw new IllegalArgumentException("log " + name + " cannot start at " + offset);
        }
        try {
            recovery.lowerTo(0, offset); // half way there, the log may end anywhere
            snapshots.removeAbove(-1);
            cleaning.lowerTo(offset);
            chain.restartAt(offset, clock.millis());
        } catch (IOException | InternalError e) {
            throw goOffline("restart", e);
        }
        long maxProducerId = producers.maxProducerId();
        producers = new ProducerTable();
        producers.atLeast(maxProducerId);
        epochs = EpochHistory.EMPTY;
        startOffset = offset;
        endOffset = offset;
        recovery.startToWrite(offset);
        LOG.atInfo().addKeyValue("log", name).addKeyValue("offset", offset).log("Log emptied and restarted");
        publishCut();
    }

    @Override
    public void advanceStart(long newStart) {
        requireOnline();
        if (newStart > endOffset) {
            throw new IllegalArgumentException(
                    "log " + name + " cannot start at " + newStart + ", above its end " + endOffset);
        }
        if (newStart > startOffset) {
            startOffset = newStart;
            recovery.startToWrite(newStart);
            epochs = epochs.truncateFromStart(newStart);
            dropBelowStart();
        }
    }

    /** Also segments that were appended to when the start passed them, and were kept for that. */
    private void dropBelowStart() {
        List<Segment> dropped = chain.dropBelow(startOffset);
        publish();
        if (dropped.isEmpty()) {
            return;
        }
        try {
            // what the dropped batches said of their producers is nowhere else
            snapshots.write();
            chain.delete(dropped, clock.millis(), options.retention().fileDeleteDelayMs());
            // after their segments: one that a power cut brings back needs what came before it, an open transaction
            // above all
            snapshots.removeBelow(chain.list().get(0).baseOffset());
        } catch (IOException | InternalError e) {
            throw goOffline(Fence.DELETE, e);
        }
    }

    @Override
    public int expireProducers(long nowMs) {
        return fence.fault() == null ? producers.expire(nowMs, options.producerExpiryMs()) : 0;
    }

    @Override
    public RetentionPlan retain(long nowMs, long bound) {
        requireOnline();
        LogOptions.Retention policy = options.retention();
        RetentionPlan.Limits limits = new RetentionPlan.Limits(policy.enabled(), policy.ms(), policy.bytes());
        RetentionPlan plan = RetentionPlan.of(view.facts(), startOffset, Math.min(bound, endOffset), limits, nowMs);
        if (plan.segments() == 0) {
            return plan;
        }
        if (plan.all()) {
            roll(nowMs);
        }
        LOG.atInfo()
                .addKeyValue("log", name)
                .addKeyValue("segments", plan.segments())
                .addKeyValue("bytes", plan.bytes())
                .addKeyValue("startOffset", plan.startOffset())
                .log("Retention deletes segments");
        advanceStart(plan.startOffset());
        dropBelowStart();
        return plan;
    }

    @Override
    public Optional<DirtyRange> dirty(long nowMs, long bound) {
        return fence.fault() == null ? cleaning.dirty(nowMs, bound) : Optional.empty();
    }

    @Override
    public Cleaned compact(Compactor compactor, long nowMs, LongSupplier bound, Executor writer)
            throws CleaningFailed, Pace.Stopped {
        return cleaning.compact(compactor, nowMs, bound, writer);
    }

    /** Swaps a compacted segment in; false when the old ones are no longer all there. */
    boolean replace(List<Segment> old, Segment cleaned) {
        requireOnline();
        try {
            boolean done = chain.replace(
                    old, cleaned, clock.millis(), options.retention().fileDeleteDelayMs());
            publish();
            return done;
        } catch (IOException | InternalError e) {
            throw goOffline("replace segments of", e);
        }
    }

    /** Ids of the producers that are remembered. */
    Set<Long> activeProducers() {
        Set<Long> ids = new HashSet<>();
        producers.entries().forEach(entry -> ids.add(entry.producerId()));
        return ids;
    }

    /** End of the last compaction, -1 when there was none. Any thread. */
    long cleanedTo() {
        return cleaning.cleanedTo();
    }

    @Override
    public void reconfigure(LogOptions newOptions) {
        options = newOptions;
        chain.settings(settings(newOptions));
    }

    @Override
    public LogOptions options() {
        return options;
    }

    @Override
    public void force() {
        force(true);
    }

    /** Forces the segments that are no longer appended to, as a rule long after the kernel has written them. Any thread. */
    void forceSealed() {
        force(false);
    }

    @Override
    public boolean flushDue() {
        return endOffset - recovery.point() >= options.flush().messages();
    }

    @Override
    public CompletionStage<Void> forceSoon() {
        return flusher.force(this);
    }

    /** Whether {@code flush.ms} is over for something that was appended. Any thread. */
    boolean flushDue(long nowMs) {
        return fence.fault() == null
                && options.flush().ms() < Long.MAX_VALUE
                && nowMs - forcedMs >= options.flush().ms()
                && view.endOffset() > recovery.point();
    }

    private void force(boolean activeToo) {
        requireOnline();
        try {
            long begunMs = clock.millis();
            snapshots.write();
            recovery.force(() -> view, activeToo, chain);
            if (activeToo) {
                forcedMs = begunMs;
            }
        } catch (IOException | InternalError e) {
            throw goOffline("force", e);
        }
    }

    /** All bytes below are on disk. Any thread. */
    long recoveryPoint() {
        return recovery.point();
    }

    /** The log start to write down; lowered before a restart below it. Any thread. */
    long startToWrite() {
        return recovery.startToWrite();
    }

    /** Ends the log: everything on disk, files closed once their last reader is gone. False when that cannot be vouched for. */
    boolean close() {
        boolean clean = fence.fault() == null;
        if (clean) {
            try {
                chain.active().seal();
                snapshots.take(endOffset, producers);
                force();
                LogLoader.writeEpochs(chain.disk(), chain.directory(), epochs);
            } catch (IOException | InternalError | StorageFault e) {
                LOG.atError().addKeyValue("log", name).setCause(e).log("Log could not be closed cleanly");
                clean = false;
            }
        }
        return release("it is closed") && clean;
    }

    /** Gives up the files without touching them further. */
    boolean release(String why) {
        if (released) {
            return true;
        }
        released = true;
        fence.closeQuietly(why);
        return chain.release();
    }

    private static SegmentSettings settings(LogOptions options) {
        return new SegmentSettings(options.indexIntervalBytes(), options.indexBytesMax());
    }

    private void publish() {
        view = new SegmentedView(
                name,
                chain.list(),
                startOffset,
                endOffset,
                producers.lastStableOffset(endOffset),
                epochs,
                producers.maxProducerId(),
                chain.sizeInBytes());
    }

    private void requireOnline() {
        fence.requireOpen();
    }

    /** Takes the log offline for a reason of its directory. Any thread. */
    void fence(StorageFault why) {
        fence.close(why);
    }

    private StorageFault goOffline(String doing, Throwable e) {
        return fence.close(doing, e, view.endOffset());
    }
}
