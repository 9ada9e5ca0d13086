package io.kagami.mirror.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.core.BatchWalker.Walk;
import io.kagami.mirror.core.EpochFence.Action;
import io.kagami.mirror.core.MetadataDiff.Finding;
import io.kagami.mirror.core.OffsetRules.EpochAnswer;
import io.kagami.mirror.core.OffsetRules.Verdict;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DecisionTablesTest {
    @ParameterizedTest
    @CsvSource({
        "1, 0.999999, 100",
        "2, 0.999999, 200",
        "5, 0.5, 800",
        "13, 0.999999, 300000",
        "20, 0.999999, 300000",
        "2000000000, 0.999999, 300000",
        "1, 0, 1",
    })
    void theRetryDelayDoublesWithFullJitterUpToTheMaximum(int attempt, double jitter, long expected) {
        assertThat(RetryPolicy.DEFAULT.delayMs(attempt, jitter)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        // batch, metadata, local, action, target
        "0, 0, 10, APPEND, -1",
        "7, 7, 10, APPEND, -1",
        "8, 8, 10, APPEND_AND_RAISE, 18",
        "10, 10, 10, APPEND_AND_RAISE, 20",
        "11, 11, 10, FENCE, 21",
        "-1, -1, 0, APPEND_AND_RAISE, 10",
        "3, 12, 10, APPEND_AND_RAISE, 22",
        "1073741824, 1073741824, 1073741824, APPEND_AND_RAISE, 1073741834",
        "1073741825, -1, 1073741825, FAIL, -1",
        "100010, -1, 10, FENCE, 100020",
        "100011, -1, 10, FAIL, -1",
        "2147483647, -1, 10, FAIL, -1",
        "-1, 2147483647, 10, FAIL, -1",
    })
    void theLocalEpochStaysAboveTheSources(int batch, int metadata, int local, Action action, int target) {
        EpochFence.Verdict verdict = EpochFence.judge(batch, metadata, local);
        assertThat(verdict.action()).isEqualTo(action);
        assertThat(verdict.target()).isEqualTo(target);
        assertThat(verdict.text() != null).isEqualTo(action == Action.FAIL);
    }

    @Test
    void epochArithmeticDoesNotWrap() {
        assertThat(EpochFence.initial(-1)).isEqualTo(10);
        assertThat(EpochFence.initial(5)).isEqualTo(15);
        assertThatThrownBy(() -> EpochFence.initial(Integer.MAX_VALUE)).isInstanceOf(ArithmeticException.class);
        assertThatThrownBy(() -> EpochFence.handOver(Integer.MAX_VALUE, 3)).isInstanceOf(ArithmeticException.class);
        assertThat(EpochFence.handOver(7, 12)).isEqualTo(13);
        assertThat(EpochFence.refusal(1 << 30)).isNull();
        assertThat(EpochFence.refusal((1 << 30) + 1)).contains("1073741825");
    }

    private static Verdict offsets(
            long start, long end, int lastEpoch, long sourceStart, EpochAnswer answer, int before) {
        return OffsetRules.judge(new OffsetRules.Facts(start, end, lastEpoch, sourceStart, answer, before));
    }

    @Test
    void whereTwoLogsStandToEachOther() {
        assertThat(offsets(0, 0, -1, 0, null, 0)).isEqualTo(new Verdict.Aligned());
        assertThat(offsets(0, 0, -1, 70, null, 0)).isEqualTo(new Verdict.StartAt(70));
        assertThat(offsets(50, 50, -1, 70, null, 0)).isEqualTo(new Verdict.RetentionGap(50, 70));
        assertThat(offsets(50, 50, -1, 50, null, 0)).isEqualTo(new Verdict.Aligned());
        assertThat(offsets(10, 50, 3, 50, new EpochAnswer(3, 90), 0)).isEqualTo(new Verdict.Aligned());
        assertThat(offsets(10, 50, 3, 51, new EpochAnswer(3, 90), 0)).isEqualTo(new Verdict.RetentionGap(50, 51));
        assertThat(offsets(10, 50, 3, 0, new EpochAnswer(3, 50), 0)).isEqualTo(new Verdict.Aligned());
        assertThat(offsets(10, 50, 3, 0, new EpochAnswer(3, 49), 0)).isEqualTo(new Verdict.Diverged(3, 49));
        assertThat(offsets(10, 50, 3, 0, new EpochAnswer(2, 60), 0)).isEqualTo(new Verdict.Diverged(2, 60));
        assertThat(offsets(10, 50, -1, 0, null, 0)).isEqualTo(new Verdict.Aligned());
        assertThat(offsets(10, 50, 3, 0, new EpochAnswer(-1, -1), 0)).isEqualTo(new Verdict.AskAgain(1));
        assertThat(offsets(10, 50, 3, 0, new EpochAnswer(-1, -1), 1)).isEqualTo(new Verdict.AskAgain(2));
        assertThat(offsets(10, 50, 3, 0, new EpochAnswer(-1, -1), 2))
                .isInstanceOfSatisfying(Verdict.Failed.class, f -> {
                    assertThat(f.failure().permanent()).isTrue();
                    assertThat(f.failure().text()).contains("does not know epoch 3");
                });
    }

    @ParameterizedTest
    @CsvSource({
        // sourceEnd, localEndOfEpoch, localStart, localEnd, cut
        "40, 45, 0, 50, 40",
        "60, 45, 0, 50, 45",
        "60, -1, 0, 50, 50",
        "5, 45, 10, 50, 10",
    })
    void theWouldBeCutLiesInsideTheLocalLog(long sourceEnd, long ours, long start, long end, long cut) {
        assertThat(OffsetRules.cut(sourceEnd, ours, start, end)).isEqualTo(cut);
    }

    @ParameterizedTest
    @CsvSource({"100, 90, true, 10", "100, 100, true, 0", "99, 100, true, -1", "100, 90, false, -1", "-1, 0, true, -1"})
    void lagIsNeverZeroWhenItIsUnknown(long source, long local, boolean current, long lag) {
        assertThat(OffsetRules.lag(source, local, current)).isEqualTo(lag);
    }

    private static Walk walk(long first, long next, int firstEpoch, int maxEpoch, String fault) {
        boolean none = first < 0;
        return new Walk(none ? 0 : 1, none ? 0 : 100, first, next, firstEpoch, maxEpoch, maxEpoch, 1, fault);
    }

    private static BatchRules.Verdict batches(
            Walk walk, long asked, int askedEpoch, boolean empty, int meta, int local) {
        return BatchRules.judge(walk, new BatchRules.Facts(asked, askedEpoch, empty, meta, local));
    }

    @Test
    void mayTheBatchesOfAnAnswerBeAppended() {
        assertThat(batches(walk(-1, -1, -1, -1, null), 5, -1, false, 1, 11))
                .isEqualTo(new BatchRules.Verdict.Nothing());
        assertThat(batches(walk(-1, -1, -1, -1, "bad CRC"), 5, -1, false, 1, 11))
                .isInstanceOf(BatchRules.Verdict.Failed.class);
        // what stands before a bad batch is good; the bad one comes first in the next answer
        assertThat(batches(walk(5, 9, 1, 1, "bad CRC"), 5, 1, false, 1, 11))
                .isEqualTo(new BatchRules.Verdict.Append(100, -1, -1));
        assertThat(batches(walk(7, 9, 1, 1, null), 5, 1, false, 1, 11))
                .isEqualTo(new BatchRules.Verdict.Append(100, -1, -1));
        assertThat(batches(walk(3, 9, 1, 1, null), 5, 1, false, 1, 11)).isInstanceOf(BatchRules.Verdict.Failed.class);
        assertThat(batches(walk(3, 9, 1, 1, null), 5, -1, true, 1, 11))
                .isEqualTo(new BatchRules.Verdict.Append(100, 3, -1));
        assertThat(batches(walk(3, 5, 1, 1, null), 5, -1, true, 1, 11)).isInstanceOf(BatchRules.Verdict.Failed.class);
        assertThat(batches(walk(5, 9, 0, 1, null), 5, 1, false, 1, 11))
                .isInstanceOfSatisfying(
                        BatchRules.Verdict.Failed.class,
                        f -> assertThat(f.failure().realign()).isTrue());
        assertThat(batches(walk(5, 9, 2, 2, null), 5, 1, false, 1, 11))
                .isInstanceOf(BatchRules.Verdict.RefreshMetadata.class);
        assertThat(batches(walk(5, 9, 12, 12, null), 5, 1, false, 12, 11)).isEqualTo(new BatchRules.Verdict.Fence());
        assertThat(batches(walk(5, 9, 10, 10, null), 5, 1, false, 10, 11))
                .isEqualTo(new BatchRules.Verdict.Append(100, -1, 20));
        assertThat(batches(walk(5, 9, -1, -1, null), 5, 4, false, -1, 11))
                .isInstanceOf(BatchRules.Verdict.Append.class);
        assertThat(batches(walk(5, 9, 200_000, 200_000, null), 5, 1, false, -1, 11))
                .isInstanceOfSatisfying(
                        BatchRules.Verdict.Failed.class,
                        f -> assertThat(f.failure().permanent()).isTrue());
    }

    @Test
    void includeAndExcludeAreFullMatchesAndExcludeWins() {
        TopicSelector some = TopicSelector.of(List.of("orders.*", "a|b"), List.of("__.*", ".*-tmp"));
        assertThat(some.matches("orders")).isTrue();
        assertThat(some.matches("orders-tmp")).isFalse();
        assertThat(some.excludedBy("orders-tmp")).isEqualTo(".*-tmp");
        assertThat(some.matches("my-orders")).isFalse();
        assertThat(some.matches("ab")).isFalse();
        assertThat(some.matches("b")).isTrue();
        TopicSelector all = TopicSelector.of(List.of("all"), List.of("__.*"));
        assertThat(all.matches("anything")).isTrue();
        assertThat(all.matches("__consumer_offsets")).isFalse();
        assertThatThrownBy(() -> TopicSelector.of(List.of("a("), List.of()))
                .isInstanceOf(IllegalArgumentException.class)
                .hasMessageContaining("a(");
        assertThatThrownBy(() -> TopicSelector.of(List.of("a".repeat(1001)), List.of()))
                .hasMessageContaining("1001");
    }

    @Test
    void aPatternThatWouldTakeAgesToBacktrackMatchesInLinearTime() {
        TopicSelector evil = TopicSelector.of(List.of("(a+)+b"), List.of());
        assertThat(evil.matches("a".repeat(200) + "c")).isFalse();
    }

    @ParameterizedTest
    @CsvSource({"a.b-c_D9, true", "a*, false", "., false", ".., false", "a b, false", "ä, false"})
    void namesAreToldFromPatterns(String word, boolean name) {
        assertThat(TopicSelector.plainName(word)).isEqualTo(name);
    }

    @Test
    void whatARefreshOfTheMetadataAsksOfUs() {
        Uuid a = Uuid.randomUuid();
        Uuid b = Uuid.randomUuid();
        TopicSelector none = TopicSelector.of(List.of(), List.of("__.*", "secret"));
        List<Finding> findings = MetadataDiff.compare(
                List.of(
                        new MetadataDiff.Local("same", a, 2, Desired.MIRRORING),
                        new MetadataDiff.Local("grown", a, 2, Desired.MIRRORING),
                        new MetadataDiff.Local("shrunk", a, 2, Desired.PAUSED),
                        new MetadataDiff.Local("gone", a, 2, Desired.MIRRORING),
                        new MetadataDiff.Local("stopped", a, 2, Desired.STOPPED),
                        new MetadataDiff.Local("hidden", a, 2, Desired.MIRRORING),
                        new MetadataDiff.Local("again", a, 2, Desired.MIRRORING),
                        new MetadataDiff.Local("no-id", Uuid.ZERO_UUID, 2, Desired.MIRRORING),
                        new MetadataDiff.Local("secret", a, 2, Desired.MIRRORING)),
                Set.of("same", "taken"),
                Map.of(
                        "same", new MetadataDiff.Source("same", a, 2),
                        "grown", new MetadataDiff.Source("grown", a, 3),
                        "shrunk", new MetadataDiff.Source("shrunk", a, 1),
                        "again", new MetadataDiff.Source("again", b, 2),
                        "no-id", new MetadataDiff.Source("no-id", b, 2),
                        "secret", new MetadataDiff.Source("secret", a, 2),
                        "new-1", new MetadataDiff.Source("new-1", b, 2),
                        "taken", new MetadataDiff.Source("taken", b, 2),
                        "other", new MetadataDiff.Source("other", b, 2)),
                Set.of("hidden"),
                TopicSelector.of(List.of("new-.*", "taken"), List.of()),
                none);
        assertThat(findings)
                .containsExactlyInAnyOrder(
                        new Finding.Grown("grown", 2, 3),
                        new Finding.Shrunk("shrunk", 2, 1),
                        new Finding.Missing("gone"),
                        new Finding.Recreated("again", a, b),
                        new Finding.Excluded("secret", "secret"),
                        new Finding.Occupied("taken"),
                        new Finding.NewTopic("new-1"));
    }

    @Test
    void aRequestAsksForNoMoreThanTheBudgetHasLeft() {
        FetchPlan.Limits limits = new FetchPlan.Limits(500, 1, 10_000, 1000);
        assertThat(FetchPlan.within(limits, 20_000)).isEqualTo(limits);
        assertThat(FetchPlan.within(limits, 3000).responseBytes()).isEqualTo(3000);
        assertThat(FetchPlan.shareMin(limits)).isEqualTo(1000);
        assertThat(FetchPlan.connection("t", 0, 1)).isZero();
        assertThat(FetchPlan.connection("t", 0, 3)).isNotEqualTo(FetchPlan.connection("t", 1, 3));
    }
}
