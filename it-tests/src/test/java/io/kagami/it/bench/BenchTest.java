package io.kagami.it.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.within;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the numbers of the benchmark rest on: its statistics, its memory, its choice of rows and its verdicts. */
class BenchTest {
    @TempDir
    Path dir;

    /** Counts how often it is measured; the figure is the run's number. */
    private record Counted(String name, boolean ofTargets, List<String> measured) implements Row {
        @Override
        public List<String> systems() {
            return List.of("a", "b");
        }

        @Override
        public Map<String, Double> measure(String system, int run, Lab lab) {
            measured.add(system + run);
            if (name.equals("broken") && system.equals("b")) {
                throw new IllegalStateException("no luck");
            }
            return Map.of("figure", (double) run);
        }
    }

    private Options options(String... args) {
        List<String> all = new ArrayList<>(List.of(args));
        all.addAll(List.of("--dir", dir.toString()));
        return Options.parse(all, dir);
    }

    @Test
    void theMiddleOfAnOddAndOfAnEvenNumberOfRuns() {
        assertThat(Spread.of(5, 1, 3)).isEqualTo(new Spread(1, 3, 5));
        assertThat(Spread.of(4, 1, 3, 2)).isEqualTo(new Spread(1, 2.5, 4));
        assertThat(Spread.of(7)).isEqualTo(new Spread(7, 7, 7));
        assertThatThrownBy(Spread::of).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void aPercentileIsAValueThatWasMeasured() {
        double[] hundred = new double[100];
        for (int i = 0; i < hundred.length; i++) {
            hundred[i] = i + 1;
        }
        assertThat(Spread.percentile(hundred, 0.5)).isEqualTo(50);
        assertThat(Spread.percentile(hundred, 0.99)).isEqualTo(99);
        assertThat(Spread.percentile(hundred, 0.999)).isEqualTo(100);
        assertThat(Spread.percentile(new double[] {3}, 0.01)).isEqualTo(3);
    }

    @Test
    void aLagThatGrowsIsSeenAndASteadyOneIsNot() {
        double[] growing = new double[400];
        double[] steady = new double[400];
        for (int i = 0; i < growing.length; i++) {
            growing[i] = i;
            steady[i] = i % 4;
        }
        assertThat(PacedLoad.growth(growing)).isEqualTo(300);
        assertThat(PacedLoad.growth(steady)).isZero();
    }

    @Test
    void aMeasurementComesBackFromItsLine() {
        Measurement measured = new Measurement("row-1", "kagami", 3, Map.of("MB/s", 1.5e-7, "records/s", 2.5e9));
        assertThat(Measurement.parse(measured.json())).isEqualTo(measured);
        String line = measured.json();
        for (int cut = 0; cut < line.length(); cut++) {
            assertThat(Measurement.parse(line.substring(0, cut)))
                    .as("cut at %s", cut)
                    .isNull();
        }
    }

    @Test
    void aFigureThatIsNoNumberIsNoMeasurement() {
        assertThatThrownBy(() -> new Measurement("row", "kagami", 1, Map.of("MB/s", Double.NaN)))
                .hasMessageContaining("MB/s");
    }

    @Test
    void anInterruptedProgramGoesOnWhereItStopped() throws Exception {
        List<String> measured = new ArrayList<>();
        Row row = new Counted("row", true, measured);
        assertThat(Bench.run(options("--runs", "2"), List.of(row))).isEmpty();
        assertThat(measured).containsExactly("a1", "b1", "b2", "a2");
        // stopped while it wrote the last line
        Path file = dir.resolve("results.jsonl");
        String text = Files.readString(file);
        Files.writeString(file, text.substring(0, text.length() - 5));
        measured.clear();
        assertThat(Bench.run(options("--runs", "3"), List.of(row))).isEmpty();
        assertThat(measured).containsExactly("a2", "a3", "b3");
        assertThat(Results.open(file).spread("row", "b", "figure")).contains(new Spread(1, 2, 3));
    }

    @Test
    void aRowThatFailsCostsNoOtherRow() throws Exception {
        List<String> broken = new ArrayList<>();
        List<String> whole = new ArrayList<>();
        List<String> failures = Bench.run(
                options("--runs", "2"),
                List.of(new Counted("broken", true, broken), new Counted("whole", false, whole)));
        assertThat(failures).singleElement().asString().contains("broken", "no luck");
        assertThat(broken).containsExactly("a1", "b1");
        assertThat(whole).as("no target is about it: once").containsExactly("a1", "b1");
    }

    @Test
    void aReportMeasuresNothing() throws Exception {
        List<String> measured = new ArrayList<>();
        Bench.run(options("--report"), List.of(new Counted("row", true, measured)));
        assertThat(measured).isEmpty();
        assertThat(dir.resolve("results.json")).content().contains("\"targets\"", "not measured");
    }

    @Test
    void rowsAreChosenByTheBeginningOfTheirNames() {
        assertThat(names("--rows", "catchup-none")).containsExactly("catchup-none-6", "catchup-none-1");
        assertThat(names("--rows", "catchup", "--codec", "zstd", "--partitions", "1"))
                .containsExactly("catchup-zstd-1");
        assertThat(names("--rows", "targets")).contains("catchup-zstd-6").doesNotContain("catchup-lz4-6");
        assertThat(names("--rows", "all")).doesNotHaveDuplicates().hasSameSizeAs(Catalogue.all());
        assertThatThrownBy(() -> names("--rows", "nothing")).hasMessageContaining("nothing");
    }

    private List<String> names(String... args) {
        return Catalogue.choose(options(args)).stream().map(Row::name).toList();
    }

    @Test
    void aWrongFlagIsNamed() {
        assertThatThrownBy(() -> options("--size", "large")).hasMessageContaining("--size");
        assertThatThrownBy(() -> options("--sise", "1")).hasMessageContaining("--sise");
        assertThatThrownBy(() -> Options.parse(List.of("--runs"), dir)).hasMessageContaining("--runs");
    }

    @Test
    void everyTargetSaysWhatWasMeasuredAndWhetherItHolds() throws IOException {
        Results results = Results.open(dir.resolve("results.jsonl"));
        assertThat(verdict(results, "catchup-none-6 MB/s against mm2")).isEqualTo("not measured");
        results.add(new Measurement("catchup-none-6", Systems.KAGAMI, 1, Map.of("MB/s", 400.0)));
        results.add(new Measurement("catchup-none-6", Systems.MM2, 1, Map.of("MB/s", 100.0)));
        assertThat(verdict(results, "catchup-none-6 MB/s against mm2")).isEqualTo("MISSED");
        results.add(new Measurement("catchup-none-6", Systems.MM2, 2, Map.of("MB/s", 40.0)));
        results.add(new Measurement("catchup-none-6", Systems.MM2, 3, Map.of("MB/s", 60.0)));
        assertThat(verdict(results, "catchup-none-6 MB/s against mm2")).isEqualTo("must holds");
        results.add(new Measurement("start", Systems.KAGAMI, 1, Map.of("serving after s", 0.5)));
        assertThat(verdict(results, "start of an empty broker")).isEqualTo("aim reached");
    }

    private static String verdict(Results results, String target) {
        return Targets.lines(results).stream()
                .filter(line -> line.get(0).equals(target))
                .map(line -> line.get(4))
                .findFirst()
                .orElseThrow();
    }

    @Test
    void everyRowOfATargetExists() {
        List<String> rows = Catalogue.all().stream().map(Row::name).toList();
        assertThat(Targets.rows()).isNotEmpty().allSatisfy(row -> assertThat(rows)
                .contains(row));
    }

    @Test
    void theTimeAndMemoryOfAProcessAreReadAsLinuxWritesThem() {
        String stat = "42 (a ) name) S 1 42 42 0 -1 4194560 1000 0 0 0 250 50 0 0 20 0 30 0 100 0 0";
        assertThat(ProcessUse.cpuSeconds(stat)).isEqualTo(3);
        assertThat(ProcessUse.statusMiB("VmPeak:\t 99 kB\nVmHWM:\t  2048 kB\nVmRSS:\t 1024 kB\n", "VmHWM:"))
                .isEqualTo(2);
        assertThat(ProcessUse.residentMiB(ProcessHandle.current().pid())).isGreaterThan(1);
    }

    @Test
    void aTornFileOfResultsKeepsItsWholeLines() throws IOException {
        Path file = dir.resolve("results.jsonl");
        Results results = Results.open(file);
        results.add(new Measurement("row", "a", 1, Map.of("x", 1.0)));
        Files.writeString(file, "{\"row\":\"row\",\"sys", StandardOpenOption.APPEND);
        Results.open(file).add(new Measurement("row", "a", 2, Map.of("x", 3.0)));
        assertThat(Results.open(file).spread("row", "a", "x").orElseThrow().median())
                .isCloseTo(2, within(1e-9));
    }
}
