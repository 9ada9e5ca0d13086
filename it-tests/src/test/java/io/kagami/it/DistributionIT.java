package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The distribution as it is handed out: programs, exit codes, what they print. */
@ExtendWith(Sources.class)
class DistributionIT {
    private static final Path BIN = Checkout.distribution().resolve("bin");

    @Test
    void theServerStartsWithoutAWarningOfTheJvmAndEndsCleanly() {
        try (KagamiProcess kagami = KagamiProcess.start("distribution")) {
            assertThat(kagami.httpStatus("/health/live")).isEqualTo(200);
            assertThat(kagami.httpStatus("/health/ready")).isEqualTo(200);
            assertThat(kagami.http("/metrics").body()).contains("# TYPE").contains("kagami");
            kagami.sigterm();
            assertThat(kagami.logText().lines())
                    .noneMatch(l -> l.contains("WARN")
                            || l.contains("ERROR")
                            || l.startsWith("OpenJDK")
                            || l.contains("SLF4J"));
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"--help", "mirrors --help", "topics --help", "groups --help", "demo --help", "server --help"})
    void helpIsNoError(String arguments) {
        Cli.Result result = Cli.kagami(arguments.split(" "));
        assertThat(result.exitCode()).isZero();
        assertThat(result.out()).contains("Usage:");
        assertThat(result.err()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"mirrors", "mirrors --no-such-option", "no-such-command", "server", "mirrors --create --mirror m"
            })
    void wrongUsageIsTwo(String arguments) {
        Cli.Result result = Cli.kagami(arguments.split(" "));
        assertThat(result.exitCode()).as("%s", result).isEqualTo(2);
        assertThat(result.err()).isNotBlank();
    }

    @Test
    void whatCannotBeDoneIsOneAndSaysWhy() {
        int nobody = Ports.free();
        Cli.Result result = Cli.kagami("mirrors", "--bootstrap-server", "127.0.0.1:" + nobody, "--list");
        assertThat(result.exitCode()).as("%s", result).isEqualTo(1);
        assertThat(result.err()).contains("127.0.0.1:" + nobody).doesNotContain("\tat ");
    }

    @ParameterizedTest
    @ValueSource(strings = {"no.such.key=1", "log.segment.bytes=many", "listeners=PLAINTEXT://0.0.0.0:0"})
    void aBadConfigurationStopsTheStartAndNamesKeyAndLine(String line) throws IOException {
        Path dir = TestDirs.fresh("bad-config");
        Path file = dir.resolve("kagami.properties");
        String key = line.substring(0, line.indexOf('='));
        Files.write(
                file,
                line.startsWith("listeners")
                        ? List.of("node.id=1", line, "log.dirs=" + dir)
                        : List.of("node.id=1", line, "log.dirs=" + dir, "listeners=PLAINTEXT://127.0.0.1:0"));
        Cli.Result result = Cli.kagami("server", "--config", file.toString());
        assertThat(result.exitCode()).as("%s", result).isEqualTo(1);
        assertThat(result.err() + result.out()).contains(key).doesNotContain("\tat ");
        if (!line.startsWith("listeners")) {
            assertThat(result.err() + result.out()).containsPattern("line 2|:2\\b");
        }
    }

    @Test
    void kafkasScriptNameGivesKafkasColumns(SourceKafka source) {
        String topic = "columns";
        Fill.create(source.bootstrap(), topic, 1, Map.of());
        Fill.everyKindOfBatch(source.bootstrap(), topic, 1, Seed.random(topic));
        try (KagamiProcess kagami = KagamiProcess.start("columns")) {
            kagami.createMirror("a-to-b", source.bootstrap());
            assertThat(kagami.startTopics("a-to-b", topic).out())
                    .contains("a-to-b")
                    .contains(topic);
            Eventually.mirrored(Duration.ofSeconds(60), source.bootstrap(), kagami.bootstrap(), List.of(topic));
            List<String> list = script(kagami, "--list");
            assertThat(list.get(0).split("\\s+"))
                    .containsExactly("MIRROR", "TOPICS", "SOURCE-CLUSTER-ID", "SOURCE-BOOTSTRAP-SERVER");
            assertThat(list.get(1).split("\\s+")).contains("a-to-b", "1", source.bootstrap());
            List<String> described = script(kagami, "--describe", "--mirror", "a-to-b");
            assertThat(described.get(0).split("\\s+"))
                    .containsExactly(
                            "MIRROR", "TOPIC", "PARTITION", "SOURCE-OFFSET", "DESTINATION-OFFSET", "LAG", "STATE");
            Eventually.succeeds(
                    Duration.ofSeconds(10), () -> assertThat(script(kagami, "--describe", "--mirror", "a-to-b")
                                    .get(1)
                                    .split("\\s+"))
                            .containsExactly("a-to-b", topic, "0", "220", "220", "0", "MIRRORING"));
            String json = kagami.mirrors("--describe", "--mirror", "a-to-b", "--json")
                    .ok()
                    .out();
            assertThat(json)
                    .contains("\"mirror\"", "\"topic\"", "\"partition\"", "\"sourceOffset\"", "\"destinationOffset\"")
                    .contains("\"lag\"", "\"state\"", "\"lagBytes\"", "\"lagMs\"", "\"measuredAgoMs\"");
            kagami.mirrors("--pause", "--mirror", "a-to-b", "--topics", topic).ok();
            Eventually.succeeds(Duration.ofSeconds(10), () -> assertThat(kagami.states("a-to-b"))
                    .containsEntry(topic + "-0", "PAUSED"));
            kagami.mirrors("--resume", "--mirror", "a-to-b", "--topics", topic).ok();
            Eventually.succeeds(Duration.ofSeconds(10), () -> assertThat(kagami.states("a-to-b"))
                    .containsEntry(topic + "-0", "MIRRORING"));
            Cli.Result refused = kagami.mirrors("--delete", "--mirror", "a-to-b");
            assertThat(refused.exitCode()).isEqualTo(1);
            assertThat(refused.err()).contains("a-to-b");
            kagami.mirrors("--stop", "--mirror", "a-to-b", "--topics", topic).ok();
            kagami.mirrors("--delete", "--mirror", "a-to-b").ok();
            assertThat(Cli.kagami("topics", "--bootstrap-server", kagami.bootstrap(), "--list")
                            .ok()
                            .out())
                    .contains(topic);
        }
    }

    private static List<String> script(KagamiProcess kagami, String... args) {
        List<String> all = new java.util.ArrayList<>(List.of("--bootstrap-server", kagami.bootstrap()));
        all.addAll(List.of(args));
        return Cli.run(BIN.resolve("kafka-cluster-mirrors.sh").toString(), all)
                .ok()
                .out()
                .lines()
                .filter(l -> !l.isBlank())
                .map(String::strip)
                .toList();
    }
}
