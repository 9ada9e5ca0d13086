package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.kagami.log.CompactedView.Row;
import io.kagami.log.clean.Cleaned;
import io.kagami.log.clean.Cleaned.Kind;
import io.kagami.log.clean.CleaningFailed;
import io.kagami.log.clean.Compactor;
import io.kagami.log.clean.Keyed;
import io.kagami.log.clean.Pace;
import io.kagami.log.clean.PlainRewriter;
import io.kagami.log.clean.core.RetentionPlan;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Executor;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.LongSupplier;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class CompactionTest {
    private static final LogName NAME = new LogName("orders", 0);
    private static final Compactor.Limits LIMITS = new Compactor.Limits(1 << 20, 0.9, 4096, 1 << 20);

    @TempDir
    Path root;

    private long nowMs = 1_000_000;
    private final InstantSource clock = () -> Instant.ofEpochMilli(nowMs);
    private LogOptions options = new LogOptions(200, Long.MAX_VALUE, 0, 1 << 12)
            .with(new LogOptions.Compaction(true, 1_000, 0, Long.MAX_VALUE, 0.01))
            .with(new LogOptions.Retention(false, -1, -1, 0));
    private LogDirectory directory;
    private PartitionLog log;

    private void fresh() {
        directory = FileLogDirectory.open(root, name -> options, clock);
        log = directory.create(NAME, UUID.randomUUID(), options);
    }

    private void reopen() {
        directory.close();
        directory = FileLogDirectory.open(root, name -> options, clock);
        log = directory.get(NAME).orElseThrow();
    }

    @AfterEach
    void close() {
        directory.close();
    }

    private Cleaned compact() {
        return compact(LIMITS);
    }

    private Cleaned compact(Compactor.Limits limits) {
        return compact(limits, () -> Long.MAX_VALUE, Runnable::run);
    }

    private Cleaned compact(Compactor.Limits limits, LongSupplier bound, Executor writer) {
        try {
            return run(limits, bound, writer);
        } catch (CleaningFailed | Pace.Stopped e) {
            throw new AssertionError(e);
        }
    }

    private Cleaned run(Compactor.Limits limits, LongSupplier bound, Executor writer)
            throws CleaningFailed, Pace.Stopped {
        return log.compact(new Compactor(new PlainRewriter(), Pace.UNLIMITED, limits), nowMs, bound, writer);
    }

    private void put(String key, String value) {
        log.append(Keyed.batch().at(nowMs).put(key, value).build(), 0);
    }

    /** Everything so far is in a sealed segment afterwards. */
    private void roll() {
        for (long before = log.view().endOffset(), filler = 0;
                filler < 2 || log.view().endOffset() == before;
                filler++) {
            put("filler" + log.view().endOffset(), "x".repeat(200));
        }
    }

    @Test
    void theLastRecordOfEachKeyStaysWhereItWas() throws IOException {
        fresh();
        for (int i = 0; i < 20; i++) {
            put("k" + i % 3, "v" + i);
        }
        roll();
        Cleaned cleaned = compact();
        assertThat(cleaned.kind()).isEqualTo(Kind.DONE);
        List<Row> rows = CompactedView.uncommitted(log.view());
        assertThat(rows.subList(0, 3))
                .extracting(Row::offset, Row::key, Row::value)
                .containsExactly(
                        org.assertj.core.groups.Tuple.tuple(17L, "k2", "v17"),
                        org.assertj.core.groups.Tuple.tuple(18L, "k0", "v18"),
                        org.assertj.core.groups.Tuple.tuple(19L, "k1", "v19"));
        assertThat(log.view().startOffset()).isZero();
        reopen();
        assertThat(CompactedView.uncommitted(log.view())).isEqualTo(rows);
        assertThat(compact().kind()).isEqualTo(Kind.NOTHING);
    }

    @Test
    void kafka4529_aTombstoneGoesAfterItsRetentionAndNotBefore() throws IOException {
        fresh();
        put("gone", "v");
        log.append(Keyed.batch().at(nowMs).remove("gone").build(), 0);
        roll();
        compact();
        assertThat(rows().get(0)).isEqualTo(new Row(1, nowMs, "gone", null));
        nowMs += 500;
        roll();
        compact();
        assertThat(rows().get(0)).isEqualTo(new Row(1, 1_000_000, "gone", null));
        nowMs += 501;
        roll();
        compact();
        assertThat(rows()).noneMatch(row -> "gone".equals(row.key()));
    }

    private List<Row> rows() throws IOException {
        return CompactedView.uncommitted(log.view());
    }

    @Test
    void kafka1641_theCheckpointOfTheCleanerFollowsATruncation() throws IOException {
        fresh();
        for (int i = 0; i < 12; i++) {
            put("k" + i % 3, "v" + i);
        }
        roll();
        long cleanedTo = compact().cleanedTo();
        directory.checkpoint();
        Path file = root.resolve(OffsetFiles.CLEANED_OFFSETS);
        assertThat(file).hasContent("0\n1\norders 0 " + cleanedTo);
        log.truncateTo(11);
        assertThat(file).hasContent("0\n1\norders 0 10"); // where the segment that was cut begins
        assertThat(log.dirty(nowMs, Long.MAX_VALUE).orElseThrow().firstDirtyOffset())
                .isEqualTo(log.view().endOffset());
        reopen();
        assertThat(log.dirty(nowMs, Long.MAX_VALUE).orElseThrow().firstDirtyOffset())
                .isEqualTo(log.view().endOffset());
        directory.delete(NAME);
        assertThat(file).hasContent("0\n0");
    }

    @Test
    void kafka2235_keysThatDoNotFitInMemoryAreLeftForTheNextCompactions() throws IOException {
        fresh();
        for (int i = 0; i < 60; i++) {
            put("k" + i % 30, "v" + i);
        }
        roll();
        Compactor.Limits tiny = new Compactor.Limits(24 * 10, 0.9, 256, 1 << 20);
        int passes = 0;
        for (Cleaned each = compact(tiny); each.kind() == Kind.DONE; each = compact(tiny)) {
            assertThat(each.keys()).isLessThanOrEqualTo(9);
            assertThat(++passes).isLessThan(20);
        }
        assertThat(passes).isGreaterThan(3);
        assertThat(rows().stream().filter(row -> row.key().startsWith("k"))).hasSize(30);
    }

    @Test
    void kafka3587_aBatchThatIsLargerThanEveryBufferIsCompacted() throws IOException {
        fresh();
        put("big", "a".repeat(20_000));
        put("big", "b".repeat(20_000));
        roll();
        assertThat(compact().kind()).isEqualTo(Kind.DONE);
        assertThat(rows().get(0).value()).startsWith("bb");
    }

    @Test
    void kafka3894_aDamagedBatchFailsTheCompactionAndChangesNothing() throws IOException {
        fresh();
        for (int i = 0; i < 8; i++) {
            put("k" + i % 2, "v" + i);
        }
        roll();
        List<Row> before = rows();
        Path file = root.resolve(NAME.toString()).resolve("00000000000000000000.log");
        byte[] bytes = Files.readAllBytes(file);
        byte[] damaged = bytes.clone();
        damaged[70] ^= 1;
        Files.write(file, damaged);
        assertThatThrownBy(() -> run(LIMITS, () -> Long.MAX_VALUE, Runnable::run))
                .isInstanceOf(CleaningFailed.class)
                .hasMessageContaining("base offset 0 at position 0")
                .hasMessageContaining("checksum");
        assertThat(log.offline()).isFalse();
        try (var files = Files.list(file.getParent())) {
            assertThat(files.map(Path::toString)).noneMatch(name -> name.endsWith(".cleaned"));
        }
        Files.write(file, bytes);
        assertThat(rows()).isEqualTo(before);
        assertThat(compact().kind()).isEqualTo(Kind.DONE);
    }

    @Test
    void kafka12840_nothingIsSwappedInOnceThePolicyHasChanged() throws IOException {
        fresh();
        fill();
        List<Row> before = rows();
        AtomicInteger turns = new AtomicInteger();
        Cleaned cleaned = compact(LIMITS, () -> Long.MAX_VALUE, task -> {
            if (turns.incrementAndGet() == 2) { // the first is the picture, the second the swap
                log.reconfigure(options.with(LogOptions.Compaction.NONE));
            }
            task.run();
        });
        assertThat(cleaned.kind()).isEqualTo(Kind.LOG_CHANGED);
        assertThat(rows()).isEqualTo(before);
        assertThat(log.dirty(nowMs, Long.MAX_VALUE)).isEmpty();
    }

    @Test
    void rp5991_nothingIsSwappedInOnceTheLogWasCut() throws IOException {
        for (long cut = 1; cut < 12; cut++) {
            nowMs += 1;
            if (directory == null) {
                fresh();
            } else {
                log.restartAt(0);
            }
            fill();
            long at = cut;
            AtomicInteger turns = new AtomicInteger();
            Cleaned cleaned = compact(LIMITS, () -> Long.MAX_VALUE, task -> {
                if (turns.incrementAndGet() == 2) {
                    log.truncateTo(at);
                }
                task.run();
            });
            assertThat(cleaned.kind()).isEqualTo(Kind.LOG_CHANGED);
            assertThat(rows()).extracting(Row::offset).containsExactlyElementsOf(offsets(at));
            assertThat(log.view().endOffset()).isEqualTo(at);
        }
    }

    private static List<Long> offsets(long end) {
        return java.util.stream.LongStream.range(0, end).boxed().toList();
    }

    @Test
    void nothingIsSwappedInOnceTheBoundHasFallen() throws IOException {
        fresh();
        fill();
        List<Row> before = rows();
        AtomicInteger asked = new AtomicInteger();
        assertThat(compact(LIMITS, () -> asked.incrementAndGet() == 1 ? Long.MAX_VALUE : 3, Runnable::run)
                        .kind())
                .isEqualTo(Kind.LOG_CHANGED);
        assertThat(rows()).isEqualTo(before);
    }

    @Test
    void nothingAtOrAboveTheBoundIsTouched() throws IOException {
        fresh();
        fill();
        List<Row> before = rows();
        assertThat(compact(LIMITS, () -> 7, Runnable::run).cleanedTo()).isEqualTo(7);
        List<Row> after = rows();
        assertThat(after).containsAll(before.subList(7, before.size()));
        assertThat(after.size()).isLessThan(before.size());
        assertThat(compact(LIMITS, () -> 7, Runnable::run).kind()).isEqualTo(Kind.NOTHING);
        assertThat(compact(LIMITS, () -> 0, Runnable::run).kind()).isEqualTo(Kind.NOTHING);
    }

    @Test
    void aTransactionWhoseMarkerMayStillBeCutIsOpenAlsoWhenTheProducersWereReset() throws IOException {
        fresh();
        put("a", "old");
        log.append(
                Keyed.batch()
                        .at(nowMs)
                        .producer(5, 0, 0)
                        .transactional()
                        .put("a", "new")
                        .build(),
                0);
        roll();
        long bound = log.view().endOffset();
        log.append(Keyed.marker(0, 0, nowMs, 5, 0, ControlRecord.COMMIT), 0);
        log.append(Keyed.marker(0, 0, nowMs, -1, -1, ControlRecord.MIRROR_PID_RESET), 0);
        roll();
        compact(LIMITS, () -> bound, Runnable::run);
        log.truncateTo(bound);
        assertThat(log.view().lastStableOffset()).isEqualTo(1);
        assertThat(CompactedView.committed(log.view())).extracting(Row::value).containsExactly("old");
    }

    @Test
    void kafka8764_gapsInTheOffsetsDoNotKeepACompactionFromItsEnd() throws IOException {
        fresh();
        for (int i = 0; i < 12; i++) {
            log.appendMirrored(Keyed.batch()
                    .offset(i * 1_000L)
                    .at(nowMs)
                    .put("k" + i % 2, "v" + i)
                    .build());
        }
        roll();
        assertThat(compact().kind()).isEqualTo(Kind.DONE);
        assertThat(compact().kind()).isEqualTo(Kind.NOTHING);
        assertThat(rows().subList(0, 2)).extracting(Row::offset).containsExactly(10_000L, 11_000L);
        assertThat(log.view().startOffset()).isZero();
    }

    @Test
    void kafka5490_transactionsKeepTheirMarkersAndLoseTheirAbortedRecords() throws IOException {
        fresh();
        log.appendMirrored(Keyed.batch()
                .offset(0)
                .producer(5, 0, 0)
                .transactional()
                .put("a", "aborted")
                .build());
        log.appendMirrored(Keyed.batch()
                .offset(1)
                .producer(6, 0, 0)
                .transactional()
                .put("b", "kept")
                .build());
        roll(); // both span segments
        long end = log.view().endOffset();
        log.appendMirrored(Keyed.marker(end, 0, nowMs, 5, 0, 0));
        log.appendMirrored(Keyed.marker(end + 1, 0, nowMs, 6, 0, 1));
        log.appendMirrored(Keyed.batch()
                .offset(end + 2)
                .at(nowMs)
                .producer(7, 0, 0)
                .transactional()
                .put("c", "open")
                .build());
        roll();
        compact();
        assertThat(CompactedView.uncommitted(log.view())).noneMatch(row -> "aborted".equals(row.value()));
        assertThat(CompactedView.committed(log.view())).anyMatch(row -> "kept".equals(row.value()));
        assertThat(log.view().lastStableOffset()).isEqualTo(end + 2);
        assertThat(rows()).anyMatch(row -> "open".equals(row.value()));
        assertThat(markers()).isEqualTo(2);
        log.appendMirrored(Keyed.marker(log.view().endOffset(), 0, nowMs, 7, 0, 1));
        for (int producer = 5; producer < 8; producer++) { // later batches of theirs say where they are now
            long at = log.view().endOffset();
            log.appendMirrored(Keyed.batch()
                    .offset(at)
                    .at(nowMs)
                    .producer(producer, 0, 1)
                    .put("d", "v")
                    .build());
        }
        roll();
        compact(); // the aborted batch, the last of its producer until now, goes
        roll();
        compact(); // its marker is superfluous, and gets its horizon
        assertThat(markers()).isEqualTo(3);
        nowMs += 1_001;
        roll();
        compact();
        assertThat(markers()).isEqualTo(2);
        reopen();
        assertThat(CompactedView.committed(log.view())).anyMatch(row -> "kept".equals(row.value()));
    }

    private long markers() throws IOException {
        return CompactedView.batches(log.view()).stream()
                .filter(batch -> BatchHeader.control(batch, 0) && BatchHeader.recordCount(batch, 0) > 0)
                .count();
    }

    @Test
    void theProducerResetOfAMirrorStays() throws IOException {
        fresh();
        log.appendMirrored(Keyed.marker(0, 0, nowMs, -1, -1, 10_100));
        fill();
        for (int i = 0; i < 3; i++) {
            nowMs += 2_000;
            roll();
            compact();
        }
        assertThat(markers()).isOne();
    }

    @Test
    void messagesOfTheOldFormatAreCompactedToo() throws IOException {
        fresh();
        for (int i = 0; i < 9; i++) {
            log.appendMirrored(Keyed.message(i, nowMs, "k" + i % 3, i == 8 ? null : "v" + i));
        }
        roll();
        compact();
        assertThat(rows().subList(0, 3)).extracting(Row::offset).containsExactly(6L, 7L, 8L);
        List<Row> rows = rows();
        reopen();
        assertThat(rows()).isEqualTo(rows);
    }

    @Test
    void noKeyComesBackWhenItsTombstoneGoesFirst() throws IOException {
        fresh();
        for (int i = 0; i < 5; i++) { // the last one ends a segment
            log.appendMirrored(Keyed.message(i, nowMs, "k" + i, "v" + i));
        }
        put("filler", "x".repeat(150));
        for (int i = 0; i < 5; i++) {
            log.append(Keyed.batch().at(nowMs).remove("k" + i).build(), 0);
        }
        for (int i = 0; i < 3; i++) {
            roll();
            compact();
            assertThat(CompactedView.table(rows())).doesNotContainKeys("k0", "k1", "k2", "k3", "k4");
            nowMs += 1_001;
        }
        assertThat(rows()).noneMatch(row -> row.key().startsWith("k"));
    }

    @Test
    void kafka1641_whatIsAppendedBehindACutInsideABatchIsDirty() throws IOException {
        fresh();
        log.append(
                Keyed.batch()
                        .at(nowMs)
                        .put("a", "1")
                        .put("b", "1")
                        .put("c", "1")
                        .put("d", "1")
                        .build(),
                0);
        roll();
        assertThat(compact().cleanedTo()).isGreaterThanOrEqualTo(4);
        log.truncateTo(3);
        assertThat(log.view().endOffset()).isZero();
        put("a", "2");
        put("a", "3");
        put("a", "4");
        put("a", "5");
        roll();
        assertThat(log.dirty(nowMs, Long.MAX_VALUE).orElseThrow().firstDirtyOffset())
                .isZero();
        compact();
        assertThat(rows().get(0)).isEqualTo(new Row(3, nowMs, "a", "5"));
    }

    @Test
    void readersOfSegmentsThatWereReplacedGoOn() throws IOException {
        fresh();
        fill();
        LogView old = log.view();
        LogSlice slice = old.read(0, Long.MAX_VALUE, 1 << 20, true).orElseThrow();
        List<Row> before = CompactedView.uncommitted(old);
        compact();
        assertThat(LogModel.entries(slice).get(0).base()).isZero();
        slice.close();
        assertThat(CompactedView.uncommitted(old)).isEqualTo(before);
        nowMs += 60_000;
        directory.removeDeleted();
        assertThatThrownBy(() -> CompactedView.uncommitted(old)).hasMessageContaining("was removed");
        assertThat(rows()).isNotEmpty();
    }

    /** A process may have 65,530 mappings on Linux, and ends when it needs one more. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void kafka4614_noIndexStaysMappedOnceItsSegmentIsGone() throws IOException {
        fresh();
        fill();
        assertThat(mapped()).isPositive();
        compact();
        nowMs += 60_000;
        directory.removeDeleted();
        long indexes = 2L * ((SegmentedLog) log).view().segments().count();
        // unmapping is done by a thread of the library
        await().untilAsserted(() -> assertThat(mapped()).isBetween(1L, indexes));
        directory.close();
        await().untilAsserted(() -> assertThat(mapped()).isZero());
    }

    private long mapped() throws IOException {
        try (var lines = Files.lines(Path.of("/proc/self/maps"))) {
            return lines.filter(line -> line.contains(root.toString())).count();
        }
    }

    @Test
    void retentionRenamesFilesAndRemovesThemLater() throws IOException {
        options = options.with(LogOptions.Compaction.NONE).with(new LogOptions.Retention(true, 5_000, -1, 700));
        fresh();
        fill();
        nowMs += 6_000;
        long end = log.view().endOffset();
        put("young", "v");
        assertThat(log.retain(nowMs, 0).segments()).as("none above the bound").isZero();
        log.retain(nowMs, Long.MAX_VALUE);
        assertThat(rows()).extracting(Row::key).contains("young");
        assertThat(log.retain(nowMs, Long.MAX_VALUE).segments()).isZero();
        assertThat(log.view().startOffset()).isPositive();
        assertThat(deleted()).isPositive();
        nowMs += 699;
        directory.removeDeleted();
        assertThat(deleted()).isPositive();
        nowMs += 1;
        directory.removeDeleted();
        assertThat(deleted()).isZero();
        long start = log.view().startOffset();
        nowMs += 6_000;
        RetentionPlan all = log.retain(nowMs, Long.MAX_VALUE);
        assertThat(all.all()).isTrue();
        assertThat(log.view().startOffset()).isEqualTo(log.view().endOffset()).isGreaterThan(start);
        assertThat(log.retain(nowMs, Long.MAX_VALUE).segments()).isZero();
        reopen();
        assertThat(log.view().startOffset()).isEqualTo(log.view().endOffset()).isEqualTo(end + 1);
        assertThat(deleted()).isZero();
    }

    @Test
    void kafka6324_filesThatAreGoneAlreadyDoNotStopADeletion() throws IOException {
        options = options.with(new LogOptions.Retention(true, 5_000, -1, 0));
        fresh();
        fill();
        Path first = root.resolve(NAME.toString()).resolve("00000000000000000000.log");
        Files.delete(first);
        Files.delete(first.resolveSibling("00000000000000000000.index"));
        nowMs += 6_000;
        assertThat(log.retain(nowMs, Long.MAX_VALUE).all()).isTrue();
        try (var files = Files.list(first.getParent())) {
            for (Path file : files.filter(each -> each.toString().endsWith(".timeindex.deleted"))
                    .toList()) {
                Files.delete(file);
            }
        }
        directory.removeDeleted();
        assertThat(deleted()).isZero();
        assertThat(log.offline()).isFalse();
    }

    private long deleted() throws IOException {
        try (var files = Files.list(root.resolve(NAME.toString()))) {
            return files.filter(each -> each.toString().endsWith(".deleted")).count();
        }
    }

    /** Twelve records of three keys, in segments that can be compacted. */
    private void fill() {
        for (int i = 0; i < 12; i++) {
            put("k" + i % 3, "v" + i);
        }
        roll();
    }
}
