package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Kafka's own dump-log tool reads all that lies in our data directory without complaint: mirrored, produced, compacted, transactional. */
@ExtendWith(Sources.class)
class KafkaToolsReadOurFilesIT {
    private static final String TOOL = "org.apache.kafka.tools.DumpLogSegments";
    private static final List<String> MIRRORED = List.of("dumped", "dumped-transactions");
    private static final List<String> PRODUCED = List.of("dumped-own", "dumped-compacted");

    @Test
    void afterACleanStopAndAfterACrash(SourceKafka source) throws IOException {
        Fill.create(source.bootstrap(), "dumped", 2, Map.of());
        Fill.everyKindOfBatch(source.bootstrap(), "dumped", 2, new Random(5));
        Fill.create(source.bootstrap(), "dumped-transactions", 2, Map.of());
        try (KafkaProducer<byte[], byte[]> open =
                        CompactedAndTransactionalIT.transactions(source, "dumped-transactions");
                KagamiProcess kagami = KagamiProcess.start(
                        "dumped", Map.of("log.segment.bytes", "1048576", "log.cleaner.backoff.ms", "300"))) {
            kagami.createMirror("m", source.bootstrap());
            kagami.startTopics("m", String.join(",", MIRRORED));
            Fill.create(kagami.bootstrap(), "dumped-own", 2, Map.of());
            Fill.everyKindOfBatch(kagami.bootstrap(), "dumped-own", 2, new Random(7));
            CompactedAndTransactionalIT.compacted(kagami.bootstrap(), "dumped-compacted");
            mirrored(source, kagami);
            open.abortTransaction();
            mirrored(source, kagami);
            kagami.sigterm();
            dump(source, kagami, "after-sigterm");

            kagami.start();
            Fill.everyKindOfBatch(source.bootstrap(), "dumped", 2, new Random(6));
            Fill.everyKindOfBatch(kagami.bootstrap(), "dumped-own", 2, new Random(8));
            mirrored(source, kagami);
            kagami.kill9();
            kagami.start();
            mirrored(source, kagami);
            RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), "dumped");
            kagami.sigterm();
            dump(source, kagami, "after-kill");
        }
    }

    private static void mirrored(SourceKafka source, KagamiProcess kagami) {
        Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), MIRRORED);
    }

    private static void dump(SourceKafka source, KagamiProcess kagami, String when) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(kagami.data())) {
            files = all.filter(p -> ours(p.getParent().getFileName().toString()))
                    .filter(p -> p.toString().matches(".*\\.(log|index|timeindex|txnindex|snapshot)"))
                    .sorted()
                    .toList();
        }
        assertThat(files).as("segments of partitions that have rolled").hasSizeGreaterThanOrEqualTo(3 * 6);
        for (String kind : List.of("txnindex", "snapshot")) {
            assertThat(files).as(kind).anyMatch(p -> p.toString().endsWith("." + kind));
        }
        List<String> dumped = run(source, kagami, "dump-" + when, files, "--deep-iteration", "--print-data-log");
        assertThat(dumped)
                .anyMatch(line -> line.contains("compresscodec: zstd"))
                .anyMatch(line -> line.contains("endTxnMarker: ABORT"))
                .anyMatch(line -> line.contains("payload: round "));
        List<Path> indexes = files.stream()
                .filter(p -> p.toString().matches(".*\\.(index|timeindex|txnindex)"))
                .toList();
        List<String> checked = run(source, kagami, "sanity-" + when, indexes, "--index-sanity-check");
        assertThat(checked.stream()
                        .filter(line -> line.endsWith(" passed sanity check.") || line.endsWith("index is empty.")))
                .hasSize((int) indexes.stream()
                        .filter(p -> !p.toString().endsWith("txnindex"))
                        .count());
    }

    private static boolean ours(String directory) {
        return Stream.concat(MIRRORED.stream(), PRODUCED.stream()).anyMatch(t -> directory.matches(t + "-\\d+"));
    }

    /** What the tool printed; it complained of nothing and left no file out. */
    private static List<String> run(
            SourceKafka source, KagamiProcess kagami, String name, List<Path> files, String... options)
            throws IOException {
        Path out = kagami.dir().resolve(name + ".out");
        List<String> args = new ArrayList<>(List.of(options));
        args.add("--files");
        args.add(files.stream().map(Path::toString).collect(Collectors.joining(",")));
        int exit = source.runTool(TOOL, args, out);
        List<String> lines = Checkout.read(out).lines().toList();
        assertThat(exit).as("exit code of dump-log, see %s", out).isZero();
        assertThat(lines.stream().filter(l -> l.startsWith("Dumping "))).hasSize(files.size());
        // records are printed too: what they hold is no complaint
        assertThat(lines.stream().filter(l -> !l.contains("| offset:")).toList())
                .as("complaints of dump-log in %s", out)
                .noneMatch(l -> l.contains("isvalid: false")
                        || l.contains("Mismatch")
                        || l.contains("mismatch")
                        || l.contains("Exception")
                        || l.contains("Non-consecutive")
                        || l.contains("out of order")
                        || l.contains("Found ")
                        || l.contains("invalid"));
        Path errors = out.resolveSibling(out.getFileName() + ".err");
        if (Files.exists(errors)) {
            assertThat(Checkout.read(errors).lines().filter(l -> l.contains("Exception")))
                    .isEmpty();
        }
        return lines;
    }
}
