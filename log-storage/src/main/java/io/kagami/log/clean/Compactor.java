package io.kagami.log.clean;

import io.kagami.log.clean.core.BelowBound;
import io.kagami.log.clean.core.EmptyBatch;
import io.kagami.log.clean.core.OffsetMap;
import io.kagami.log.clean.core.ProducerEnd;
import io.kagami.log.clean.core.SegmentFacts;
import io.kagami.log.clean.core.SegmentGroups;
import io.kagami.log.clean.core.SegmentGroups.Group;
import io.kagami.log.clean.core.Survivors;
import io.kagami.log.clean.core.TransactionSweep;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import io.kagami.log.core.ProducerTable.Aborted;
import io.kagami.log.index.OffsetIndex;
import io.kagami.log.index.TimeIndex;
import io.kagami.log.segment.BatchScan;
import io.kagami.log.segment.FileNames;
import io.kagami.log.segment.Segment;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Compacts one log at a time: notes the last offset of each key in the dirty part, as far as memory allows, then copies the segments from the
 * first one on without what is superfluous, and has each copy swapped in. Needs no lock and no loop while it copies: sealed
 * segments do not change, and the swap looks whether they are still there. One thread; several compactors work side by side.
 */
public final class Compactor {
    private final BatchRewriter rewriter;
    private final Pace pace;
    private final Limits limits;

    /**
     * Memory of one compactor.
     *
     * @param mapBytes for the offsets of keys
     * @param loadFactor part of the map that may be filled
     * @param bufferBytes for reading, and again for writing
     * @param batchBytesMax largest batch
     */
    public record Limits(long mapBytes, double loadFactor, int bufferBytes, int batchBytesMax) {}

    public Compactor(BatchRewriter rewriter, Pace pace, Limits limits) {
        this.rewriter = rewriter;
        this.pace = pace;
        this.limits = limits;
    }

    /**
     * Carries out one compaction. Segments are read under leases, so the log may lose them meanwhile.
     *
     * @throws IOException when the disk fails; what was swapped in until then stays
     */
    public Cleaned run(Round round) throws IOException, CleaningFailed, Pace.Stopped {
        int held = 0;
        List<Segment> sources = round.sealed();
        try {
            while (held < sources.size() && sources.get(held).retain()) {
                held++;
            }
            return held < sources.size() ? Cleaned.logChanged() : new Work(round).run();
        } catch (IOException | CleaningFailed e) {
            if (!round.swap().valid()) {
                return Cleaned.logChanged(); // of course it found less than it was told
            }
            throw e;
        } finally {
            for (Segment source : sources.subList(0, held)) {
                source.release();
            }
        }
    }

    private interface Look {
        void onBatch(ByteBuffer buf, int at, int controlType);
    }

    private final class Work {
        private final Round round;
        private final OffsetMap last;
        private final BatchReader reader;
        private final ByteBuffer writeBuffer;
        private Map<Long, ProducerEnd> producers = Map.of();
        private long to;
        private long roundEnd;
        private boolean full;
        private long keyless;
        private long bytesBefore;
        private long bytesAfter;
        private int segmentsBefore;
        private int segmentsAfter;

        Work(Round round) {
            this.round = round;
            this.last = new OffsetMap(limits.mapBytes(), limits.loadFactor());
            this.reader = new BatchReader(limits.bufferBytes(), limits.batchBytesMax(), pace);
            this.writeBuffer = ByteBuffer.allocateDirect(limits.bufferBytes());
        }

        Cleaned run() throws IOException, CleaningFailed, Pace.Stopped {
            look();
            noteKeys();
            if (roundEnd <= round.dirty().firstDirtyOffset()) {
                return Cleaned.nothing();
            }
            int below = 0;
            while (below < round.facts().size() && round.facts().get(below).baseOffset() < roundEnd) {
                below++;
            }
            int entriesMax =
                    round.settings().indexBytesMax() / Math.max(OffsetIndex.ENTRY_BYTES, TimeIndex.ENTRY_BYTES);
            List<Group> groups = SegmentGroups.of(round.facts().subList(0, below), round.segmentBytes(), entriesMax);
            Survivors survivors = new Survivors(
                    last,
                    roundEnd,
                    producers,
                    new TransactionSweep(round.aborted(), round.facts().get(0).baseOffset()),
                    round.nowMs(),
                    round.deleteRetentionMs());
            for (Group group : groups) {
                if (!clean(group, survivors)) {
                    return Cleaned.logChanged();
                }
            }
            return new Cleaned(
                    Cleaned.Kind.DONE,
                    roundEnd,
                    bytesBefore,
                    bytesAfter,
                    segmentsBefore,
                    segmentsAfter,
                    last.count(),
                    full,
                    keyless);
        }

        /** Finds out, by headers, how far what lies below the bound is settled by what lies below the bound. */
        private void look() throws IOException {
            to = round.dirty().uncleanableOffset();
            BelowBound below = new BelowBound();
            look(below::onTransaction); // also when no producer is known: the reset that made the log forget them
            // may be cut
            to = below.stableEnd(to);
            if (!round.producers().isEmpty()) {
                look(below::onProducer);
                producers = below.endsOf(round.producers());
            }
        }

        private void look(Look each) throws IOException {
            for (int i = 0; i < round.facts().size() && round.facts().get(i).baseOffset() < to; i++) {
                BatchScan scan = new BatchScan(
                        round.sealed().get(i).channel(), 0, round.facts().get(i).sizeInBytes());
                while (scan.next() && scan.baseOffset() < to) {
                    int controlType = scan.control().type(); // may move the window
                    each.onBatch(scan.header(), scan.at(), controlType);
                }
            }
        }

        /** Fills the map from the first dirty offset on; {@code roundEnd} is where it is no longer complete. */
        private void noteKeys() throws IOException, CleaningFailed, Pace.Stopped {
            long from = round.dirty().firstDirtyOffset();
            TransactionSweep sweep = null;
            roundEnd = from;
            for (int i = 0; i < round.facts().size() && !full; i++) {
                SegmentFacts facts = round.facts().get(i);
                if (facts.endOffset() > from && facts.baseOffset() < to) {
                    sweep = sweep == null ? new TransactionSweep(round.aborted(), facts.baseOffset()) : sweep;
                    noteKeys(round.sealed().get(i), sweep, from, to);
                    if (!full) {
                        roundEnd = Math.min(to, facts.endOffset());
                    }
                }
            }
        }

        private void noteKeys(Segment segment, TransactionSweep sweep, long from, long to)
                throws IOException, CleaningFailed, Pace.Stopped {
            reader.open(segment, 0);
            while (!full && reader.next()) {
                ByteBuffer buf = reader.buffer();
                boolean begins =
                        BatchHeader.magic(buf, reader.at()) < 2 || BatchHeader.baseOffset(buf, reader.at()) < to;
                if (!begins) {
                    return;
                }
                boolean skipped = BatchHeader.control(buf, reader.at());
                if (skipped) {
                    sweep.onControl(buf, reader.at(), reader.controlType());
                } else {
                    skipped = sweep.onData(buf, reader.at());
                }
                if (!skipped && BatchHeader.lastOffset(buf, reader.at()) >= from) {
                    read((offset, key, hasValue) -> note(offset, key, from, to));
                }
            }
        }

        private void note(long offset, ByteBuffer key, long from, long to) {
            if (full || offset < from || offset >= to) {
                return;
            }
            if (key != null && !last.put(key, offset)) {
                full = true;
                return;
            }
            roundEnd = offset + 1;
        }

        private void read(BatchRewriter.Sink sink) throws CleaningFailed {
            try {
                rewriter.read(reader.batch(), sink);
            } catch (BatchRewriter.Unreadable e) {
                throw reader.failed(e.getMessage(), e);
            }
        }

        /** Copies some neighbouring segments into one and has it swapped in; false when the log has changed. */
        private boolean clean(Group group, Survivors survivors) throws IOException, CleaningFailed, Pace.Stopped {
            List<Segment> old = round.sealed().subList(group.from(), group.to());
            long base = old.get(0).baseOffset();
            Segment cleaned = Segment.create(
                    round.disk(), round.directory(), base, FileNames.CLEANED, round.settings(), round.nowMs());
            boolean swapped = false;
            try {
                CleanedWriter writer = new CleanedWriter(cleaned, writeBuffer, pace);
                for (Segment source : old) {
                    copy(source, source == old.get(old.size() - 1), survivors, writer, cleaned);
                }
                writer.finish();
                int written = cleaned.size();
                swapped = round.swap().replace(old, cleaned, roundEnd);
                if (swapped) {
                    old.forEach(source -> bytesBefore += source.size());
                    bytesAfter += written;
                    segmentsBefore += old.size();
                    segmentsAfter++;
                }
                return swapped;
            } finally {
                if (!swapped) {
                    cleaned.release();
                    Segment.deleteFiles(round.disk(), round.directory(), base, FileNames.CLEANED);
                }
            }
        }

        private void copy(
                Segment source, boolean lastSource, Survivors survivors, CleanedWriter writer, Segment cleaned)
                throws IOException, CleaningFailed, Pace.Stopped {
            Map<Long, Aborted> byMarker = new HashMap<>();
            source.aborted().entries().forEach(entry -> byMarker.put(entry.lastOffset(), entry));
            reader.open(source, 0);
            while (reader.next()) {
                ByteBuffer buf = reader.buffer();
                int controlType = reader.controlType();
                if (survivors.begin(buf, reader.at(), controlType, lastSource && reader.lastOfSegment())) {
                    read((offset, key, hasValue) -> {
                        keyless += key == null && offset < roundEnd ? 1 : 0;
                        survivors.onRecord(offset, key, hasValue);
                    });
                }
                ByteBuffer result = result(survivors);
                if (result == null) {
                    continue;
                }
                writer.add(result);
                if (lastSource && reader.lastOfSegment() && endsEarly(result)) {
                    writer.add(EmptyBatch.of(buf, reader.at())); // the segments are to meet without a gap
                }
                Aborted aborted = byMarker.get(BatchHeader.lastOffset(buf, reader.at()));
                if (aborted != null && controlType == ControlRecord.ABORT && BatchHeader.recordCount(result, 0) > 0) {
                    cleaned.aborted().append(aborted);
                }
            }
        }

        /** Whether a v0/v1 wrapper lost its last records, and so its last offset. */
        private boolean endsEarly(ByteBuffer result) {
            return BatchHeader.lastOffset(result, result.position())
                    < BatchHeader.lastOffset(reader.buffer(), reader.at());
        }

        private ByteBuffer result(Survivors survivors) throws CleaningFailed {
            return switch (survivors.end()) {
                case COPY -> reader.batch();
                case EMPTY -> EmptyBatch.of(reader.buffer(), reader.at());
                case REWRITE -> rewritten(survivors);
                case DROP -> null;
            };
        }

        private ByteBuffer rewritten(Survivors survivors) throws CleaningFailed {
            try {
                return rewriter.rewrite(reader.batch(), survivors.kept(), survivors.newHorizonMs());
            } catch (BatchRewriter.Unreadable e) {
                throw reader.failed(e.getMessage(), e);
            }
        }
    }
}
