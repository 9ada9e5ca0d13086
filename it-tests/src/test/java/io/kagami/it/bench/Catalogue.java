package io.kagami.it.bench;

import java.util.ArrayList;
import java.util.List;

/** All rows, in the order in which they are measured. */
final class Catalogue {
    /** Records a second of the load for which targets speak of a broker's latency. */
    static final int PACED_RATE = 2_000;

    private static final int FAST_RATE = 20_000;
    private static final List<String> CODECS = List.of("none", "lz4", "zstd");

    private Catalogue() {}

    static List<Row> all() {
        List<Row> rows = new ArrayList<>();
        for (String codec : CODECS) {
            rows.add(new CatchUpRow(codec, 6));
            rows.add(new CatchUpRow(codec, 1));
        }
        rows.add(new KillRow());
        rows.add(new LagRow(PACED_RATE));
        rows.add(new LagRow(FAST_RATE));
        rows.add(new ScaleRow(1_000, false));
        for (String codec : List.of("none", "lz4")) {
            for (String acks : List.of("all", "1")) {
                rows.add(new ProduceRow(codec, acks, 16 * 1024));
                rows.add(new ProduceRow(codec, acks, Pair.LARGE_BATCH));
            }
            rows.add(new ConsumeRow(codec));
            rows.add(new RawFetchRow(codec));
        }
        rows.add(new PacedRow(PACED_RATE));
        rows.add(new PacedRow(FAST_RATE));
        rows.add(new ConnectionsRow());
        rows.add(new StartRow());
        for (int partitions : List.of(100, 1_000, 10_000)) {
            rows.add(new ScaleRow(partitions, true));
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
