package io.kagami.log.clean.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.clean.core.SegmentGroups.Group;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.IntRange;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CleaningPlansTest {
    private static final long NOW = 1_000_000;

    /** Segments of 100 offsets and 10 bytes, a second apart, the last one active and begun right now. */
    private static List<SegmentFacts> segments(int count) {
        List<SegmentFacts> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            long ms = NOW - (count - 1 - i) * 1_000L;
            all.add(new SegmentFacts(i * 100L, i * 100L + 100, 10, 1, ms, ms));
        }
        return all;
    }

    @ParameterizedTest(name = "{0}: {7} of 5 segments go")
    @CsvSource({
        "no limits,                  true,  -1,   -1,  0,   500, 0, 0",
        "older than 1.5 s,           true,  1500, -1,  0,   500, 0, 3",
        "exactly 2 s is not older,   true,  2000, -1,  0,   500, 0, 2",
        "everything,                 true,  -1,   0,   0,   500, 0, 5",
        "all is young,               true,  9000, -1,  0,   500, 0, 0",
        "25 bytes remain at least,   true,  -1,   25,  0,   500, 0, 2",
        "50 bytes remain at least,   true,  -1,   50,  0,   500, 0, 0",
        "both,                       true,  3500, 45,  0,   500, 0, 1",
        "the start is inside,        true,  -1,   -1,  250, 500, 0, 2",
        "start without delete,       false, 1,    1,   250, 500, 0, 2",
        "not above the bound,        true,  0,    0,   0,   299, 0, 2",
        "nothing is safe,            true,  0,    0,   0,   0,   0, 0",
    })
    void kafka5634_theOldestSegmentsGoUpToTheFirstThatMayNot(
            String name, boolean delete, long ms, long bytes, long start, long bound, int unused, int gone) {
        RetentionPlan plan =
                RetentionPlan.of(segments(5), start, bound, new RetentionPlan.Limits(delete, ms, bytes), NOW);
        assertThat(plan.segments()).as(name).isEqualTo(gone);
        assertThat(plan.startOffset()).isEqualTo(Math.max(start, gone * 100L));
        assertThat(plan.bytes()).isEqualTo(gone * 10L);
        assertThat(plan.all()).isEqualTo(gone == 5);
    }

    @Test
    void anEmptyActiveSegmentIsNotRolledAgainAndAgain() {
        List<SegmentFacts> one = List.of(new SegmentFacts(500, 500, 0, 0, -1, NOW - 99_999));
        assertThat(RetentionPlan.of(one, 500, 500, new RetentionPlan.Limits(true, 0, 0), NOW)
                        .segments())
                .isZero();
    }

    @Property(tries = 500)
    void kafka12177_aSecondLookDeletesNothing(@ForAll long seed) {
        Random random = new Random(seed);
        List<SegmentFacts> all = segments(random.nextInt(1, 8));
        RetentionPlan.Limits limits =
                new RetentionPlan.Limits(random.nextBoolean(), random.nextLong(-1, 6_000), random.nextLong(-1, 90));
        long start = random.nextLong(all.size() * 100L);
        long bound = random.nextLong(all.size() * 100L + 1);
        RetentionPlan plan = RetentionPlan.of(all, start, bound, limits, NOW);
        long end = all.size() * 100L;
        List<SegmentFacts> rest = new ArrayList<>(all.subList(plan.segments(), all.size()));
        if (rest.isEmpty()) {
            rest.add(new SegmentFacts(end, end, 0, 0, -1, NOW));
        }
        assertThat(plan.startOffset()).isLessThanOrEqualTo(Math.max(start, bound));
        assertThat(RetentionPlan.of(rest, plan.startOffset(), bound, limits, NOW)
                        .segments())
                .isZero();
    }

    private static DirtyRange dirty(long cleanedTo, long bound, long minLag, long maxLag) {
        return DirtyRange.of(segments(5), 0, cleanedTo, bound, new DirtyRange.Lags(minLag, maxLag), NOW);
    }

    @Test
    void theActiveSegmentAndWhatIsAboveTheBoundStay() {
        assertThat(dirty(-1, 500, 0, Long.MAX_VALUE)).isEqualTo(new DirtyRange(0, 400, 0, 40, false));
        assertThat(dirty(200, 500, 0, Long.MAX_VALUE)).isEqualTo(new DirtyRange(200, 400, 20, 20, false));
        assertThat(dirty(200, 350, 0, Long.MAX_VALUE)).isEqualTo(new DirtyRange(200, 350, 20, 10, false));
        assertThat(dirty(200, 100, 0, Long.MAX_VALUE).isDue(0)).isFalse();
    }

    @Test
    void kafka3330_aCheckpointOutsideOfTheLogIsNotBelieved() {
        List<SegmentFacts> from200 = segments(5).subList(2, 5);
        DirtyRange.Lags none = new DirtyRange.Lags(0, Long.MAX_VALUE);
        assertThat(DirtyRange.of(from200, 250, 100, 500, none, NOW).firstDirtyOffset())
                .as("not the log start inside the segment: a tombstone below it must not go before what it deletes")
                .isEqualTo(200);
        assertThat(DirtyRange.of(from200, 250, 100, 250, none, NOW).isDue(0)).isFalse();
        assertThat(dirty(501, 500, 0, Long.MAX_VALUE).firstDirtyOffset()).isZero();
    }

    @Test
    void youngSegmentsWaitAndOldOnesDoNot() {
        assertThat(dirty(-1, 500, 2_500, Long.MAX_VALUE).uncleanableOffset()).isEqualTo(200);
        assertThat(dirty(300, 500, 2_500, Long.MAX_VALUE).isDue(0)).isFalse();
        assertThat(dirty(300, 500, 0, 500)).isEqualTo(new DirtyRange(300, 400, 30, 10, true));
        assertThat(dirty(300, 500, 0, 500).isDue(0.9)).isTrue();
        assertThat(dirty(300, 500, 0, 5_000).isDue(0.9)).isFalse();
        assertThat(dirty(300, 500, 0, 5_000).isDue(0.2)).isTrue();
    }

    @Test
    void kafka2024_segmentsAreGroupedByBytesEntriesAndOffsets() {
        List<SegmentFacts> five = segments(5);
        assertThat(SegmentGroups.of(five, 100, 100)).containsExactly(new Group(0, 5));
        assertThat(SegmentGroups.of(five, 25, 100)).containsExactly(new Group(0, 2), new Group(2, 4), new Group(4, 5));
        assertThat(SegmentGroups.of(five, 100, 6)).containsExactly(new Group(0, 2), new Group(2, 4), new Group(4, 5));
        assertThat(SegmentGroups.of(five, 5, 1)).hasSize(5);
        long far = Integer.MAX_VALUE;
        List<SegmentFacts> wide = List.of(
                new SegmentFacts(0, far, 10, 1, 1, 1),
                new SegmentFacts(far, far + 1, 10, 1, 1, 1),
                new SegmentFacts(far + 1, far + 2, 10, 1, 1, 1));
        assertThat(SegmentGroups.of(wide, 100, 100)).containsExactly(new Group(0, 2), new Group(2, 3));
    }

    @Test
    void kafka4451_theEmptySegmentInFrontOfAJumpStays() {
        long far = 1L << 32;
        List<SegmentFacts> jump = List.of(
                new SegmentFacts(0, 10, 10, 1, 1, 1),
                new SegmentFacts(10, far, 0, 0, -1, 1),
                new SegmentFacts(far, far + 5, 10, 1, 1, 1));
        assertThat(SegmentGroups.of(jump, 100, 100)).containsExactly(new Group(0, 1), new Group(2, 3));
    }

    @Property(tries = 200)
    void theOffsetMapKnowsTheLastOffsetOfEachKeyThatFits(
            @ForAll long seed, @ForAll @IntRange(min = 1, max = 4_000) int keys) {
        Random random = new Random(seed);
        OffsetMap map = new OffsetMap(24L * random.nextInt(4, 6_000), 0.9);
        Map<String, Long> model = new HashMap<>();
        boolean full = false;
        for (long offset = 0; offset < keys && !full; offset++) {
            String key = "key" + random.nextInt(keys);
            full = !map.put(bytes(key), offset);
            if (full) {
                assertThat(model).hasSize(map.countMax()).doesNotContainKey(key);
            } else {
                model.put(key, offset);
            }
        }
        assertThat(map.count()).isEqualTo(model.size());
        model.forEach((key, offset) -> assertThat(map.get(bytes(key))).isEqualTo(offset));
        assertThat(map.get(bytes("another"))).isEqualTo(-1);
    }

    private static ByteBuffer bytes(String key) {
        return ByteBuffer.wrap(key.getBytes(StandardCharsets.UTF_8));
    }
}
