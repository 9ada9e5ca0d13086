package io.kagami.it.bench;

import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;

/** The results as a table for people and as JSON for programs. */
final class Report {
    private Report() {}

    /** Everything: the machine, every row with smallest, middle and largest of each figure, and the targets. */
    static String table(Results results, Map<String, String> machine, Options options) {
        StringBuilder out = new StringBuilder();
        machine.forEach(
                (name, value) -> out.append(name).append(": ").append(value).append('\n'));
        out.append("sizes: ").append(sizes(options)).append("\n\n");
        List<List<String>> lines = new ArrayList<>();
        lines.add(List.of("row", "system", "figure", "min", "median", "max", "runs"));
        for (String row : results.rows()) {
            for (String system : results.systems(row)) {
                for (String figure : results.figures(row, system)) {
                    results.spread(row, system, figure)
                            .ifPresent(spread -> lines.add(List.of(
                                    row,
                                    system,
                                    figure,
                                    number(spread.min()),
                                    number(spread.median()),
                                    number(spread.max()),
                                    Integer.toString(results.runs(row, system)))));
                }
            }
        }
        out.append(Table.of(lines)).append('\n');
        out.append(Table.of(Targets.lines(results)));
        return out.toString();
    }

    static String json(Results results, Map<String, String> machine, Options options) {
        StringJoiner rows = new StringJoiner(",\n    ", "[\n    ", "\n  ]");
        for (String row : results.rows()) {
            for (String system : results.systems(row)) {
                StringJoiner figures = new StringJoiner(", ", "{", "}");
                for (String figure : results.figures(row, system)) {
                    results.spread(row, system, figure)
                            .ifPresent(s -> figures.add(quoted(figure) + ": {\"min\": " + s.min() + ", \"median\": "
                                    + s.median() + ", \"max\": " + s.max() + "}"));
                }
                rows.add("{\"row\": " + quoted(row) + ", \"system\": " + quoted(system) + ", \"runs\": "
                        + results.runs(row, system) + ", \"figures\": " + figures + "}");
            }
        }
        StringJoiner facts = new StringJoiner(", ", "{", "}");
        machine.forEach((name, value) -> facts.add(quoted(name) + ": " + quoted(value)));
        StringJoiner targets = new StringJoiner(",\n    ", "[\n    ", "\n  ]");
        for (List<String> line :
                Targets.lines(results).subList(1, Targets.lines(results).size())) {
            targets.add("{\"what\": " + quoted(line.get(0)) + ", \"must\": " + quoted(line.get(1)) + ", \"aim\": "
                    + quoted(line.get(2)) + ", \"measured\": " + quoted(line.get(3)) + ", \"verdict\": "
                    + quoted(line.get(4)) + "}");
        }
        return "{\n  \"machine\": " + facts + ",\n  \"sizes\": " + quoted(sizes(options)) + ",\n  \"rows\": " + rows
                + ",\n  \"targets\": " + targets + "\n}\n";
    }

    /** One line while measuring. */
    static String brief(Map<String, Double> figures) {
        StringJoiner line = new StringJoiner(", ");
        figures.forEach((name, value) -> line.add(name + " " + number(value)));
        return line.toString();
    }

    /** Three digits that mean something, or all digits of a large number. */
    static String number(double value) {
        double size = Math.abs(value);
        if (size >= 100 || size == 0) {
            return String.format(Locale.ROOT, "%.0f", value);
        }
        return String.format(Locale.ROOT, size >= 10 ? "%.1f" : size >= 1 ? "%.2f" : "%.3f", value);
    }

    private static String sizes(Options options) {
        return options.sizeMiB() + " MiB mirrored, " + options.brokerMiB() + " MiB per broker run, records of "
                + options.recordBytes() + " bytes, catch-up measured for at most " + options.boxSeconds() + " s";
    }

    private static String quoted(String text) {
        return "\"" + text.replace("\\", "\\\\").replace("\"", "\\\"") + "\"";
    }
}
