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
import java.io.IOException;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
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
        return compact(Long.MAX_VALUE);
    }

    private Cleaned compact(long bound) {
        try {
            Compactor compactor = new Compactor(new PlainRewriter(), Pace.UNLIMITED, LIMITS);
            return log.compact(compactor, nowMs, () -> bound, Runnable::run);
        } catch (CleaningFailed | Pace.Stopped e) {
            throw new AssertionError(e);
        }
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
    void aTombstoneGoesAfterItsRetention() throws IOException {
        fresh();
        put("gone", "v");
        log.append(Keyed.batch().at(nowMs).remove("gone").build(), 0);
        roll();
        compact();
        assertThat(CompactedView.uncommitted(log.view()).get(0)).isEqualTo(new Row(1, nowMs, "gone", null));
        nowMs += 500;
        roll();
        compact();
        assertThat(CompactedView.uncommitted(log.view()).get(0)).isEqualTo(new Row(1, 1_000_000, "gone", null));
        nowMs += 501;
        roll();
        compact();
        assertThat(CompactedView.uncommitted(log.view())).noneMatch(row -> "gone".equals(row.key()));
    }
}
