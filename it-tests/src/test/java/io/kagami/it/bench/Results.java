package io.kagami.it.bench;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** The runs that are finished, in a file of one JSON line each: what a restarted program finds there it does not measure again. */
final class Results {
    private final Path file;
    private final List<Measurement> all = new ArrayList<>();

    private Results(Path file) {
        this.file = file;
    }

    /** Reads what an earlier start left; a torn last line is cut off. */
    static Results open(Path file) throws IOException {
        Results results = new Results(file);
        if (Files.exists(file)) {
            List<String> kept = new ArrayList<>();
            for (String line : Files.readAllLines(file, StandardCharsets.UTF_8)) {
                Measurement measurement = Measurement.parse(line);
                if (measurement != null) {
                    results.all.add(measurement);
                    kept.add(line);
                }
            }
            Files.write(file, kept, StandardCharsets.UTF_8);
        }
        return results;
    }

    boolean has(String row, String system, int run) {
        return all.stream().anyMatch(m -> m.is(row, system, run));
    }

    void add(Measurement measurement) throws IOException {
        Files.writeString(
                file,
                measurement.json() + "\n",
                StandardCharsets.UTF_8,
                StandardOpenOption.CREATE,
                StandardOpenOption.APPEND);
        all.add(measurement);
    }

    /** In the order in which they were first measured. */
    Set<String> rows() {
        Set<String> rows = new LinkedHashSet<>();
        all.forEach(m -> rows.add(m.row()));
        return rows;
    }

    Set<String> systems(String row) {
        Set<String> systems = new LinkedHashSet<>();
        all.stream().filter(m -> m.row().equals(row)).forEach(m -> systems.add(m.system()));
        return systems;
    }

    Set<String> figures(String row, String system) {
        Set<String> names = new LinkedHashSet<>();
        of(row, system).forEach(m -> names.addAll(m.figures().keySet()));
        return names;
    }

    int runs(String row, String system) {
        return of(row, system).size();
    }

    Optional<Spread> spread(String row, String system, String figure) {
        double[] values = of(row, system).stream()
                .filter(m -> m.figures().containsKey(figure))
                .mapToDouble(m -> m.figures().get(figure))
                .toArray();
        return values.length == 0 ? Optional.empty() : Optional.of(Spread.of(values));
    }

    private List<Measurement> of(String row, String system) {
        return all.stream()
                .filter(m -> m.row().equals(row) && m.system().equals(system))
                .toList();
    }
}
