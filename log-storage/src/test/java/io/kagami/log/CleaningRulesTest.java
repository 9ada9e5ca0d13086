package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.CompactedView.Row;
import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.Cleaned.Kind;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Keyed;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.PlainRewriter;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ProducerEntry;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What compaction and deletion must leave as it was, each rule under the number of the bug report it comes from. */
class CleaningRulesTest {
    private static final LogName NAME = new LogName("orders", 0);

    @TempDir
    Path root;

    private long nowMs = 1_000_000;
    private LogOptions options = options(400);
    private LogDirectory directory;
    private PartitionLog log;

    private static LogOptions options(int segmentBytes) {
        return new LogOptions(segmentBytes, Long.MAX_VALUE, 0, 1 << 12)
                .with(new LogOptions.Compaction(true, 1_000, 0, Long.MAX_VALUE, 0.01))
                .with(new LogOptions.Retention(false, -1, -1, 0));
    }

    private void open() {
        directory = FileLogDirectory.open(root, name -> options, () -> Instant.ofEpochMilli(nowMs));
        log = directory.get(NAME).orElseGet(() -> directory.create(NAME, new UUID(1, 2), options));
    }

    /** As after a crash, and without what would spare reading the batches. */
    private void rebuilt() throws IOException {
        directory.close();
        Files.delete(root.resolve(FileLogDirectory.CLEAN));
        try (var files = Files.list(root.resolve(NAME.toString()))) {
            for (Path file :
                    files.filter(each -> each.toString().endsWith(".snapshot")).toList()) {
                Files.delete(file);
            }
        }
        open();
    }

    @AfterEach
    void close() {
        directory.close();
    }

    private Cleaned compact(int bufferBytes) {
        Compactor.Limits limits = new Compactor.Limits(1 << 20, 0.9, bufferBytes, 1 << 20);
        try {
            return log.compact(
                    new Compactor(new PlainRewriter(), Pace.UNLIMITED, limits),
                    nowMs,
                    () -> Long.MAX_VALUE,
                    Runnable::run);
        } catch (CleaningFailed | Pace.Stopped e) {
            throw new AssertionError(e);
        }
    }

    private Keyed at(long offset) {
        return Keyed.batch().offset(offset).at(nowMs);
    }

    private long end() {
        return log.view().endOffset();
    }

    /** Everything so far is in sealed segments afterwards. */
    private void roll() {
        for (long before = end(); end() < before + 3; ) {
            log.appendMirrored(at(end()).put("filler" + end(), "x".repeat(300)).build());
        }
    }

    /** Epoch and last sequence by producer id. */
    private Map<Long, String> producers() {
        Map<Long, String> all = new TreeMap<>();
        for (ProducerEntry each : ((SegmentedLog) log).producers().entries()) {
            all.put(each.producerId(), each.epoch() + ":" + each.lastSequence());
        }
        return all;
    }

    @Test
    void kafka7385_aSegmentOfNothingButEmptyBatchesIsCompactedAgain() throws IOException {
        open();
        for (int i = 0; i < 12; i++) {
            log.appendMirrored(at(i).producer(i, 0, 5).put("same", "v" + i).build());
        }
        roll();
        for (int i = 0; i < 4; i++) {
            log.appendMirrored(at(end()).put("same", "again" + i).build());
            roll();
            long end = end();
            Map<Long, String> before = producers();
            assertThat(compact(4096).kind()).isEqualTo(Kind.DONE);
            List<ByteBuffer> batches = CompactedView.batches(log.view());
            for (int offset = 0; offset < 12; offset++) {
                assertThat(BatchHeader.baseOffset(batches.get(offset), 0)).isEqualTo(offset);
                assertThat(BatchHeader.lastOffset(batches.get(offset), 0)).isEqualTo(offset);
                assertThat(BatchHeader.recordCount(batches.get(offset), 0)).isZero();
            }
            assertThat(end()).isEqualTo(end);
            rebuilt();
            assertThat(end()).isEqualTo(end);
            assertThat(producers()).isEqualTo(before);
        }
    }

    @Test
    void kafka8351_markersStayWithTransactionsThatSpanSegmentsWhateverIsCompactedTogether() throws IOException {
        for (int segmentBytes : new int[] {150, 900, 100_000}) {
            options = options(150);
            if (directory == null) {
                open();
            } else {
                log.reconfigure(options);
                log.restartAt(0);
            }
            for (int round = 0; round < 4; round++) {
                for (int producer = 0; producer < 3; producer++) {
                    for (int i = 0; i < 3; i++) {
                        log.appendMirrored(at(end())
                                .producer(producer, 0, round * 3 + i)
                                .transactional()
                                .put("k" + (round + i) % 5, producer + "-" + round + "-" + i)
                                .build());
                    }
                }
                for (int producer = 0; producer < 3; producer++) {
                    log.appendMirrored(Keyed.marker(end(), 0, nowMs, producer, 0, (producer + round) % 3 == 0 ? 0 : 1));
                }
            }
            roll();
            options = options(segmentBytes); // how many are made into one
            log.reconfigure(options);
            Map<String, Row> wanted = CompactedView.table(CompactedView.committed(log.view()));
            Map<Long, String> producers = producers();
            for (int again = 0; again < 2; again++) {
                compact(4096);
                List<Row> committed = CompactedView.committed(log.view());
                assertThat(CompactedView.table(committed)).isEqualTo(wanted);
                assertThat(producers()).isEqualTo(producers);
                rebuilt();
                assertThat(CompactedView.committed(log.view())).isEqualTo(committed);
                assertThat(producers()).isEqualTo(producers);
                assertThat(log.view().lastStableOffset()).isEqualTo(end());
                nowMs += 2_000; // markers may go once nothing is left of their transactions
                log.appendMirrored(at(end()).put("fresh" + again, "v").build());
                roll();
                wanted = CompactedView.table(CompactedView.committed(log.view()));
            }
        }
    }

    /** The horizon of a delete becomes the base of all timestamps in the batch: each record needs more bytes than before. */
    @Test
    void kafka5316_kafka6834_aBatchThatGrowsBeyondEveryBufferIsCompacted() throws IOException {
        nowMs = 1_700_000_000_000L;
        options = options(30_000);
        open();
        Keyed batch = Keyed.batch().offset(0).at(1);
        for (int i = 0; i < 1_500; i++) {
            batch.remove("k" + i);
        }
        ByteBuffer original = batch.build();
        log.appendMirrored(original.duplicate());
        log.appendMirrored(at(end()).put("last", "x".repeat(30_000)).build());
        log.appendMirrored(at(end()).put("active", "x").build());
        assertThat(compact(512).kind()).isEqualTo(Kind.DONE);
        ByteBuffer grown = CompactedView.batches(log.view()).get(0);
        assertThat(grown.limit()).isGreaterThan(original.limit() + 4_000);
        assertThat(BatchHeader.crcValid(grown, 0)).isTrue();
        List<Row> rows = CompactedView.uncommitted(log.view());
        assertThat(rows.subList(0, 1_500)).allMatch(row -> row.value() == null && row.timestampMs() < 1_600);
        rebuilt();
        assertThat(CompactedView.uncommitted(log.view())).isEqualTo(rows);
    }

    @Test
    void kafka9133_compactionEndsWhereverTheLogStartLies() throws IOException {
        open();
        for (long start = 0; start < 24; start += 3) {
            log.restartAt(100); // the checkpoint is above the new batches for a moment
            for (int i = 0; i < 10; i++) {
                log.appendMirrored(at(end())
                        .put("k" + i % 3, "v" + i)
                        .put("k" + (i + 1) % 3, "w" + i)
                        .build());
            }
            roll();
            if (start % 2 == 0) {
                compact(4096);
            }
            log.advanceStart(100 + start);
            Map<String, Row> wanted = CompactedView.table(CompactedView.uncommitted(log.view()));
            int rounds = 0;
            while (compact(4096).kind() != Kind.NOTHING) {
                assertThat(++rounds).isLessThan(5);
            }
            assertThat(CompactedView.table(CompactedView.uncommitted(log.view())))
                    .isEqualTo(wanted);
            assertThat(log.view().startOffset()).isEqualTo(100 + start);
        }
    }

    @Test
    void kafka1819_whatWasKnownOfADeletedLogIsNotKnownOfItsSuccessor() throws IOException {
        open();
        for (int i = 0; i < 12; i++) {
            log.appendMirrored(at(i).producer(3, 4, i).put("k" + i % 2, "v" + i).build());
        }
        roll();
        compact(4096);
        log.advanceStart(5);
        log.force();
        directory.checkpoint();
        UUID other = new UUID(8, 9);
        directory.delete(NAME);
        log = directory.create(NAME, other, options);
        for (String file :
                List.of(OffsetFiles.RECOVERY_POINTS, OffsetFiles.START_OFFSETS, OffsetFiles.CLEANED_OFFSETS)) {
            assertThat(Files.readString(root.resolve(file))).as(file).doesNotContain("orders 0 1", "orders 0 5");
        }
        for (int start = 0; start < 2; start++) {
            assertThat(log.topicId()).isEqualTo(other);
            assertThat(log.view().startOffset()).isZero();
            assertThat(producers()).isEmpty();
            assertThat(log.view().lastEpoch()).isEqualTo(start == 0 ? -1 : 0);
            log.appendMirrored(at(end()).put("k", "v").build());
            long end = end();
            rebuilt();
            assertThat(end()).isEqualTo(end);
            assertThat(log.offline()).isFalse();
        }
    }
}
