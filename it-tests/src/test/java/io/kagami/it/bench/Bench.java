package io.kagami.it.bench;

import io.kagami.it.Checkout;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The program: measures the chosen rows, run by run and system by system in turn, keeps each finished run in a file, and prints the
 * table, the JSON and the targets. Started by {@code it-tests/bench}.
 */
public final class Bench {
    private Bench() {}

    /** Exit code 0 when all was measured, 1 when a run failed, 2 when the command line is wrong. */
    public static void main(String[] args) throws Exception {
        if (List.of(args).contains("--help") || List.of(args).contains("-h")) {
            System.out.print(Options.HELP);
            return;
        }
        Options options;
        List<Row> rows;
        try {
            options = Options.parse(List.of(args), Checkout.root().resolve("it-tests/target/bench"));
            rows = Catalogue.choose(options);
        } catch (IllegalArgumentException e) {
            System.err.println("bench: " + e.getMessage());
            System.exit(2);
            return;
        }
        if (options.listOnly()) {
            rows.forEach(row -> System.out.println(row.name() + (row.ofTargets() ? "  (of the targets)" : "")));
            return;
        }
        List<String> failures = run(options, rows);
        // Netty and Kafka's clients have threads of their own; all that was started has been ended
        System.exit(failures.isEmpty() ? 0 : 1);
    }

    /** Measures what is not measured yet, writes the reports; returns what failed, a sentence each. */
    static List<String> run(Options options, List<Row> rows) throws Exception {
        Files.createDirectories(options.dir());
        Results results = Results.open(options.dir().resolve("results.jsonl"));
        List<String> failures = new ArrayList<>();
        if (!options.reportOnly()) {
            try (Lab lab = new Lab(options)) {
                for (Row row : rows) {
                    measure(row, lab, results, failures);
                }
            }
        }
        write(options, results);
        failures.forEach(failure -> System.out.println("FAILED " + failure));
        return failures;
    }

    private static void measure(Row row, Lab lab, Results results, List<String> failures) throws IOException {
        for (int run = 1; run <= lab.options().runs(); run++) {
            List<String> systems = new ArrayList<>(row.systems());
            // nobody always goes first
            Collections.rotate(systems, 1 - run);
            for (String system : systems) {
                if (run > row.runs(system, lab.options().runs()) || results.has(row.name(), system, run)) {
                    continue;
                }
                String what = row.name() + ", " + system + ", run " + run;
                long began = System.nanoTime();
                try {
                    Measurement measured = new Measurement(row.name(), system, run, row.measure(system, run, lab));
                    results.add(measured);
                    Progress.say(what + ": " + Report.brief(measured.figures())
                            + String.format("  (%.0f s)", Wait.secondsSince(began)));
                } catch (Exception e) {
                    // one failure must not cost the other rows; it is told now and again at the end
                    Progress.say(what + " failed: " + e);
                    e.printStackTrace(System.out);
                    failures.add(what + ": " + e.getMessage());
                    return;
                }
            }
        }
    }

    private static void write(Options options, Results results) throws IOException {
        Path json = options.dir().resolve("results.json");
        String table = Report.table(results, Machine.describe(options.dir()), options);
        Files.writeString(json, Report.json(results, Machine.describe(options.dir()), options));
        Files.writeString(options.dir().resolve("results.txt"), table);
        System.out.println(table);
        System.out.println("written: " + json);
    }
}
