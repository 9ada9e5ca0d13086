package io.kagami.it.bench;

import java.util.ArrayList;
import java.util.List;

/** All rows, in the order in which they are measured. */
final class Catalogue {
    private static final List<String> CODECS = List.of("none", "lz4", "zstd");

    private Catalogue() {}

    static List<Row> all() {
        List<Row> rows = new ArrayList<>();
        for (String codec : CODECS) {
            rows.add(new CatchUpRow(codec, 6));
            rows.add(new CatchUpRow(codec, 1));
        }
        return rows;
    }

    /** @throws IllegalArgumentException when a name of {@code --rows} is the beginning of no row's name */
    static List<Row> choose(Options options) {
        List<Row> chosen = new ArrayList<>();
        for (String wanted : options.rows()) {
            List<Row> matching = all().stream()
                    .filter(row -> wanted.equals("all")
                            || (wanted.equals("targets")
                                    ? row.ofTargets()
                                    : row.name().startsWith(wanted)))
                    .toList();
            if (matching.isEmpty()) {
                throw new IllegalArgumentException("no row's name begins with " + wanted + "; --list prints them");
            }
            matching.stream().filter(row -> !chosen.contains(row)).forEach(chosen::add);
        }
        chosen.removeIf(
                row -> !options.codecs().isEmpty() && row.traits().stream().noneMatch(options.codecs()::contains));
        chosen.removeIf(row ->
                !options.partitions().isEmpty() && row.traits().stream().noneMatch(options.partitions()::contains));
        return chosen;
    }
}
