package io.kagami.log;

import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.core.DirtyRange;
import io.kagami.log.clean.core.RetentionPlan;
import io.kagami.log.core.EpochHistory;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Executor;
import java.util.function.LongSupplier;

/** A log that could not be opened: it has a name, and a reason that every other call answers with. Its files are left as they are. */
final class OfflineLog implements PartitionLog, LogView {
    private final LogName name;
    private final UUID topicId;
    private final StorageFault reason;

    OfflineLog(LogName name, UUID topicId, StorageFault reason) {
        this.name = name;
        this.topicId = topicId;
        this.reason = reason;
    }

    private StorageFault refusal() {
        return new StorageFault("log " + name + " is offline: " + reason.getMessage(), reason);
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
    public LogView view() {
        return this;
    }

    @Override
    public boolean offline() {
        return true;
    }

    @Override
    public boolean readable() {
        return false;
    }

    @Override
    public Optional<StorageFault> fault() {
        return Optional.of(reason);
    }

    @Override
    public void retire() {
        // it never had a writer
    }

    @Override
    public CompletionStage<Void> forceSoon() {
        return CompletableFuture.failedFuture(refusal());
    }

    @Override
    public boolean flushDue() {
        return false;
    }

    @Override
    public Appended append(ByteBuffer batches, int leaderEpoch) {
        throw refusal();
    }

    @Override
    public Appended appendMirrored(ByteBuffer batches) {
        throw refusal();
    }

    @Override
    public void truncateTo(long endOffset) {
        throw refusal();
    }

    @Override
    public void restartAt(long offset) {
        throw refusal();
    }

    @Override
    public void advanceStart(long startOffset) {
        throw refusal();
    }

    @Override
    public void rollIfDue(long nowMs) {
        // nothing to roll
    }

    @Override
    public int expireProducers(long nowMs) {
        return 0;
    }

    @Override
    public RetentionPlan retain(long nowMs, long bound) {
        throw refusal();
    }

    @Override
    public Optional<DirtyRange> dirty(long nowMs, long bound) {
        return Optional.empty();
    }

    @Override
    public Cleaned compact(Compactor compactor, long nowMs, LongSupplier bound, Executor writer) {
        throw refusal();
    }

    @Override
    public void reconfigure(LogOptions options) {
        // read again at the next start
    }

    @Override
    public LogOptions options() {
        return LogOptions.DEFAULT;
    }

    @Override
    public void force() {
        throw refusal();
    }

    @Override
    public long startOffset() {
        return 0;
    }

    @Override
    public long endOffset() {
        return 0;
    }

    @Override
    public long lastStableOffset() {
        return 0;
    }

    @Override
    public int lastEpoch() {
        return EpochHistory.EMPTY.lastEpoch();
    }

    @Override
    public Optional<TimestampOffset> maxTimestamp() {
        throw refusal();
    }

    @Override
    public long sizeInBytes() {
        return 0;
    }

    @Override
    public Optional<LogSlice> read(long offset, long upperOffset, int bytesMax, boolean atLeastOne) {
        throw refusal();
    }

    @Override
    public Optional<LogSlice> batchAtOrAfter(long timestampMs) {
        throw refusal();
    }

    @Override
    public List<AbortedTxn> abortedIn(long fromOffset, long toOffset) {
        throw refusal();
    }

    @Override
    public int epochAt(long offset) {
        return -1;
    }

    @Override
    public Optional<EpochEnd> endOfEpoch(int epoch) {
        throw refusal();
    }

    @Override
    public OptionalLong startOfEpoch(int epoch) {
        return OptionalLong.empty();
    }

    @Override
    public long maxProducerId() {
        return -1;
    }
}
