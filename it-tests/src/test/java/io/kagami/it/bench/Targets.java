package io.kagami.it.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.OptionalDouble;
import java.util.function.Function;

/**
 * What Kagami has to reach on the machine where the others were measured too: the bound that must hold, the one that is aimed at, and
 * what the medians give. A target whose rows were not measured says so.
 */
final class Targets {
    private static final String NONE_6 = "catchup-none-6";
    private static final String NONE_1 = "catchup-none-1";
    private static final String ZSTD_6 = "catchup-zstd-6";
    private static final String PRODUCE_16 = "produce-none-all-16k";
    private static final String PRODUCE_128 = "produce-none-all-128k";
    private static final String CONSUME = "consume-none";
    private static final String RAW = "rawfetch-none";
    private static final String PACED = "paced-" + Catalogue.PACED_RATE;
    private static final String LAG_SLOW = "lag-2000";
    private static final String LAG_FAST = "lag-20000";
    private static final String TOPICS = "topics-1000";
    private static final String KILL = "kill-none-6";
    private static final String CONNECTIONS = "connections";
    private static final String START = "start";
    private static final String FEW = "scale-100";
    private static final String SOME = "scale-1000";
    private static final String MANY = "scale-10000";

    /** Which side of its bounds a measured value has to be on. */
    enum Side {
        AT_LEAST(">="),
        AT_MOST("<=");

        private final String sign;

        Side(String sign) {
            this.sign = sign;
        }

        boolean holds(double value, double bound) {
            return this == AT_LEAST ? value >= bound : value <= bound;
        }
    }

    /** One line. */
    record Target(
            String what, Side side, double must, double aim, String unit, Function<Results, OptionalDouble> value) {
        List<String> line(Results results) {
            OptionalDouble measured = value.apply(results);
            String verdict = measured.isEmpty()
                    ? "not measured"
                    : side.holds(measured.getAsDouble(), aim)
                            ? "aim reached"
                            : side.holds(measured.getAsDouble(), must) ? "must holds" : "MISSED";
            return List.of(
                    what,
                    side.sign + " " + Report.number(must) + unit,
                    side.sign + " " + Report.number(aim) + unit,
                    measured.isEmpty() ? "-" : Report.number(measured.getAsDouble()) + unit,
                    verdict);
        }
    }

    private Targets() {}

    /** The table, its head first. */
    static List<List<String>> lines(Results results) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(List.of("target", "must", "aim", "measured", "verdict"));
        all().forEach(target -> lines.add(target.line(results)));
        return lines;
    }

    /** Names of the rows that targets speak of. */
    static List<String> rows() {
        return List.of(
                NONE_6,
                NONE_1,
                ZSTD_6,
                PRODUCE_16,
                PRODUCE_128,
                CONSUME,
                RAW,
                PACED,
                LAG_SLOW,
                LAG_FAST,
                TOPICS,
                KILL,
                CONNECTIONS,
                START,
                FEW,
                SOME,
                MANY);
    }

    private static List<Target> all() {
        List<Target> all = new ArrayList<>();
        mirroring(all);
        brokers(all);
        sizes(all);
        return all;
    }

    private static void mirroring(List<Target> all) {
        for (String row : List.of(NONE_6, NONE_1)) {
            all.add(times(row + " MB/s against mm2", Side.AT_LEAST, 5, 8, row, "MB/s", Systems.MM2));
        }
        all.add(times(ZSTD_6 + " records/s against mm2", Side.AT_LEAST, 15, 25, ZSTD_6, "records/s", Systems.MM2));
        for (String row : List.of(NONE_6, NONE_1, ZSTD_6)) {
            all.add(times(row + " CPU against mm2", Side.AT_MOST, 1.0 / 8, 1.0 / 20, row, "CPU s/GiB", Systems.MM2));
        }
        for (String row : List.of(NONE_6, NONE_1)) {
            all.add(times(row + " MB/s against follower", Side.AT_LEAST, 1, 1.5, row, "log MB/s", Systems.FOLLOWER));
            all.add(times(
                    row + " CPU against follower", Side.AT_MOST, 0.7, 0.4, row, "log CPU s/GiB", Systems.FOLLOWER));
        }
        all.add(plain(LAG_SLOW + " p50 over source", Side.AT_MOST, 3, 1, " ms", LAG_SLOW, "over source p50 ms"));
        all.add(plain(LAG_SLOW + " p99 over source", Side.AT_MOST, 50, 10, " ms", LAG_SLOW, "over source p99 ms"));
        all.add(plain(LAG_FAST + " p99 against source", Side.AT_MOST, 2, 1.2, "x", LAG_FAST, "times source p99"));
        all.add(new Target(
                LAG_FAST + " growth over source",
                Side.AT_MOST,
                5,
                1,
                " ms",
                results -> combine(
                        median(results, LAG_FAST, Systems.KAGAMI, "mirror growth ms"),
                        median(results, LAG_FAST, Systems.KAGAMI, "source growth ms"),
                        (mirror, source) -> mirror - source)));
        all.add(plain(TOPICS + " start to first record", Side.AT_MOST, 5, 2, " s", TOPICS, "first record s"));
        all.add(plain(TOPICS + " idle CPU of a core", Side.AT_MOST, 5, 1, " %", TOPICS, "idle CPU %"));
        all.add(new Target("peak RSS at catch-up", Side.AT_MOST, 512, 256, " MiB", Targets::largestResident));
        for (String what : List.of("duplicate", "missing", "shifted")) {
            all.add(plain("kill -9: " + what + " batches", Side.AT_MOST, 0, 0, "", KILL, what + " batches"));
        }
        all.add(plain("kill -9: next new record", Side.AT_MOST, 5, 2, " s", KILL, "outage s"));
    }

    private static void brokers(List<Target> all) {
        for (String row : List.of(PRODUCE_16, PRODUCE_128)) {
            all.add(times(row + " MB/s against kafka", Side.AT_LEAST, 1, 1.3, row, "MB/s", Systems.KAFKA));
            all.add(times(row + " CPU against kafka", Side.AT_MOST, 1, 0.6, row, "broker CPU s/GiB", Systems.KAFKA));
        }
        all.add(times(CONSUME + " MB/s against kafka", Side.AT_LEAST, 1, 1.2, CONSUME, "MB/s", Systems.KAFKA));
        all.add(times(
                CONSUME + " CPU against kafka", Side.AT_MOST, 0.8, 0.5, CONSUME, "broker CPU s/GiB", Systems.KAFKA));
        all.add(times(RAW + " MB/s against kafka", Side.AT_LEAST, 1, 1, RAW, "MB/s", Systems.KAFKA));
        // the aim alone speaks of the kernel's own speed
        all.add(times(RAW + " MB/s against sendfile", Side.AT_LEAST, 0, 0.8, RAW, "MB/s", Systems.SENDFILE));
        for (String percentile : List.of("p50", "p99")) {
            all.add(times(
                    PACED + " " + percentile + " against kafka",
                    Side.AT_MOST,
                    1.1,
                    0.8,
                    PACED,
                    "broker since send " + percentile + " ms",
                    Systems.KAFKA));
        }
    }

    private static void sizes(List<Target> all) {
        all.add(plain("connections open in 256 MiB", Side.AT_LEAST, 2500, 2500, "", CONNECTIONS, "open"));
        all.add(plain("start of an empty broker", Side.AT_MOST, 1.5, 0.8, " s", START, "serving after s"));
        all.add(plain("RSS of an idle broker", Side.AT_MOST, 250, 150, " MiB", START, "idle RSS MiB"));
        // the slope from 1,000 to 10,000 over the slope from 100 to 1,000: 1 is linear
        for (String figure : List.of("RSS MiB", "all mirrored s")) {
            all.add(new Target(
                    "growth of " + figure + " is linear",
                    Side.AT_MOST,
                    1.5,
                    1.1,
                    "x",
                    results -> bend(results, figure)));
        }
        all.add(new Target(
                "idle CPU, 10,000 less 100 partitions",
                Side.AT_MOST,
                2,
                0.5,
                " %",
                results -> combine(
                        median(results, MANY, Systems.KAGAMI, "idle CPU %"),
                        median(results, FEW, Systems.KAGAMI, "idle CPU %"),
                        (many, few) -> many - few)));
    }

    private static Target times(
            String what, Side side, double must, double aim, String row, String figure, String other) {
        return new Target(
                what,
                side,
                must,
                aim,
                "x",
                results -> combine(
                        median(results, row, Systems.KAGAMI, figure),
                        median(results, row, other, figure),
                        (ours, theirs) -> ours / theirs));
    }

    private static Target plain(
            String what, Side side, double must, double aim, String unit, String row, String figure) {
        return new Target(what, side, must, aim, unit, results -> median(results, row, Systems.KAGAMI, figure));
    }

    private static OptionalDouble median(Results results, String row, String system, String figure) {
        return results.spread(row, system, figure)
                .map(spread -> OptionalDouble.of(spread.median()))
                .orElse(OptionalDouble.empty());
    }

    private interface Combination {
        double of(double left, double right);
    }

    private static OptionalDouble combine(OptionalDouble left, OptionalDouble right, Combination how) {
        return left.isPresent() && right.isPresent()
                ? OptionalDouble.of(how.of(left.getAsDouble(), right.getAsDouble()))
                : OptionalDouble.empty();
    }

    /** Over all catch-ups: the target holds for every one of them. */
    private static OptionalDouble largestResident(Results results) {
        return results.rows().stream()
                .filter(row -> row.startsWith("catchup-"))
                .map(row -> median(results, row, Systems.KAGAMI, "peak RSS MiB"))
                .filter(OptionalDouble::isPresent)
                .mapToDouble(OptionalDouble::getAsDouble)
                .max();
    }

    private static OptionalDouble bend(Results results, String figure) {
        OptionalDouble few = median(results, FEW, Systems.KAGAMI, figure);
        OptionalDouble some = median(results, SOME, Systems.KAGAMI, figure);
        OptionalDouble many = median(results, MANY, Systems.KAGAMI, figure);
        OptionalDouble early = combine(some, few, (s, f) -> (s - f) / 900);
        OptionalDouble late = combine(many, some, (m, s) -> (m - s) / 9000);
        return combine(late, early, (l, e) -> l / e);
    }
}
