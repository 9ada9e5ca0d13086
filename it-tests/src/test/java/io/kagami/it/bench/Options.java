package io.kagami.it.bench;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The flags of the program.
 *
 * @param rows names, beginnings of names, {@code targets} or {@code all}
 * @param sizeMiB record bytes of each topic that is mirrored
 * @param brokerMiB record bytes of each run against a broker alone
 * @param recordBytes of one record's value
 * @param codecs only rows of these; empty = any
 * @param partitions only rows with these; empty = any
 * @param runs of the rows that targets are about; all others run once
 * @param boxSeconds a catch-up is measured for at most this long after its first byte
 * @param pacedSeconds a paced load is measured for this long
 * @param connections idle connections to open; a quarter as many again are active
 * @param dir for data, logs and results; what lies there is gone on with
 * @param heap of Kagami, such as 512m; null = what its launcher gives it
 * @param profile record each Kagami with the JDK's flight recorder
 * @param reportOnly measure nothing, print what is there
 * @param listOnly measure nothing, print the names of the rows
 */
record Options(
        List<String> rows,
        int sizeMiB,
        int brokerMiB,
        int recordBytes,
        Set<String> codecs,
        Set<String> partitions,
        int runs,
        int boxSeconds,
        int pacedSeconds,
        int connections,
        Path dir,
        String heap,
        boolean profile,
        boolean reportOnly,
        boolean listOnly) {
    static final String HELP =
            """
            bench [FLAG VALUE]...   measures Kagami beside MirrorMaker 2 and Apache Kafka on this machine
              --rows LIST         names or beginnings of names, or: targets, all        [targets]
              --size MIB          record bytes of each mirrored topic                   [4096]
              --broker-size MIB   record bytes of each run against one broker           [1024]
              --record-size BYTES                                                       [1024]
              --codec LIST        only rows of these codecs (none, lz4, zstd)           [any]
              --partitions LIST   only rows with so many partitions (1, 6)              [any]
              --runs N            runs of each row that a target is about               [5]
              --box SECONDS       a catch-up is measured at most so long                [20]
              --paced SECONDS     a paced load is measured so long                      [6]
              --connections N     idle connections; N/4 more are active                 [2000]
              --dir DIR           data, logs, results.jsonl, results.json               [it-tests/target/bench]
              --heap SIZE         heap of Kagami                                        [its launcher's]
              --profile           a flight recording of each Kagami in DIR/profiles
              --report            measure nothing, print what DIR has
              --list              print the names of the rows
            A run that is in results.jsonl is not repeated: after an interruption the same command goes on.
            """;

    private static final Set<String> SWITCHES = Set.of("--profile", "--report", "--list");
    private static final Set<String> VALUES = Set.of(
            "--rows",
            "--size",
            "--broker-size",
            "--record-size",
            "--codec",
            "--partitions",
            "--runs",
            "--box",
            "--paced",
            "--connections",
            "--dir",
            "--heap");

    /** @throws IllegalArgumentException with a sentence for the user */
    static Options parse(List<String> args, Path defaultDir) {
        Map<String, String> given = new LinkedHashMap<>();
        for (int i = 0; i < args.size(); i++) {
            String flag = args.get(i);
            if (SWITCHES.contains(flag)) {
                given.put(flag, "");
            } else if (!VALUES.contains(flag)) {
                throw new IllegalArgumentException("no flag is called " + flag + "; try --help");
            } else if (i + 1 == args.size()) {
                throw new IllegalArgumentException(flag + " needs a value");
            } else {
                given.put(flag, args.get(++i));
            }
        }
        String dir = given.get("--dir");
        return new Options(
                list(given.getOrDefault("--rows", "targets")),
                number(given, "--size", 4096),
                number(given, "--broker-size", 1024),
                number(given, "--record-size", 1024),
                Set.copyOf(list(given.getOrDefault("--codec", ""))),
                Set.copyOf(list(given.getOrDefault("--partitions", ""))),
                number(given, "--runs", 5),
                number(given, "--box", 20),
                number(given, "--paced", 6),
                number(given, "--connections", 2000),
                dir == null ? defaultDir : Path.of(dir).toAbsolutePath(),
                given.get("--heap"),
                given.containsKey("--profile"),
                given.containsKey("--report"),
                given.containsKey("--list"));
    }

    long records() {
        return Math.max(1, ((long) sizeMiB << 20) / recordBytes);
    }

    long brokerRecords() {
        return Math.max(1, ((long) brokerMiB << 20) / recordBytes);
    }

    private static List<String> list(String text) {
        return text.isBlank() ? List.of() : List.of(text.split(","));
    }

    private static int number(Map<String, String> given, String flag, int otherwise) {
        String text = given.get(flag);
        if (text == null) {
            return otherwise;
        }
        if (!text.matches("[1-9][0-9]{0,8}")) {
            throw new IllegalArgumentException(flag + " is a number above 0, not \"" + text + "\"");
        }
        return Integer.parseInt(text);
    }
}
