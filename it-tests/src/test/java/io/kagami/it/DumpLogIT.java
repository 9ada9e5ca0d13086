package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** Kafka's own dump-log tool reads our directories without complaint. */
@ExtendWith(Sources.class)
class DumpLogIT {
    @Test
    void kafkasToolReadsOurLogsAfterACleanStopAndAfterACrash(SourceKafka source) throws IOException {
        String topic = "dumped";
        Fill.create(source.bootstrap(), topic, 2, Map.of());
        Fill.everyKindOfBatch(source.bootstrap(), topic, 2, new Random(5));
        try (KagamiProcess kagami = KagamiProcess.start("dumped", Map.of("log.segment.bytes", "1048576"))) {
            kagami.createMirror("m", source.bootstrap());
            kagami.startTopics("m", topic);
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            kagami.sigterm();
            dump(source, kagami, topic, "after-sigterm");

            kagami.start();
            Fill.everyKindOfBatch(source.bootstrap(), topic, 2, new Random(6));
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            kagami.kill9();
            kagami.start();
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            RawComparer.assertIdentical(source.bootstrap(), kagami.bootstrap(), topic);
            kagami.sigterm();
            dump(source, kagami, topic, "after-kill");
        }
    }

    private static void dump(SourceKafka source, KagamiProcess kagami, String topic, String when) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(kagami.data())) {
            files = all.filter(p -> p.getParent().getFileName().toString().startsWith(topic + "-"))
                    .filter(p -> p.toString().matches(".*\\.(log|index|timeindex|txnindex|snapshot)"))
                    .sorted()
                    .toList();
        }
        assertThat(files).as("segments of two partitions that have rolled").hasSizeGreaterThanOrEqualTo(3 * 4);
        Path out = kagami.dir().resolve("dump-" + when + ".out");
        int exit = source.runTool(
                "org.apache.kafka.tools.DumpLogSegments",
                List.of(
                        "--deep-iteration",
                        "--files",
                        files.stream().map(Path::toString).collect(Collectors.joining(","))),
                out);
        String dumped = Checkout.read(out);
        assertThat(exit).as("exit code of dump-log, see %s", out).isZero();
        assertThat(dumped).contains("isvalid: true").contains("compresscodec: zstd");
        assertThat(dumped.lines().toList())
                .as("complaints of dump-log in %s", out)
                .noneMatch(l -> l.contains("isvalid: false")
                        || l.contains("Mismatch")
                        || l.contains("mismatch")
                        || l.contains("Exception")
                        || l.contains("Non-consecutive")
                        || l.contains("out of order")
                        || l.contains("Found ")
                        || l.contains("invalid"));
        // every file was looked at
        assertThat(dumped.lines().filter(l -> l.startsWith("Dumping "))).hasSize(files.size());
        Path errors = out.resolveSibling(out.getFileName() + ".err");
        if (Files.exists(errors)) {
            assertThat(Checkout.read(errors).lines().filter(l -> l.contains("Exception")))
                    .isEmpty();
        }
    }
}
