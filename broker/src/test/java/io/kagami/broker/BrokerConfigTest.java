package io.kagami.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class BrokerConfigTest {
    @TempDir
    Path dir;

    private static BrokerConfig parse(String... lines) {
        List<String> all = new ArrayList<>(List.of("log.dirs=/data"));
        all.addAll(Arrays.asList(lines));
        return BrokerConfig.parse(all, "test.properties");
    }

    @Test
    void defaultsListenOnLoopbackOnly() {
        BrokerConfig config = parse();
        assertThat(config.listeners()).hasToString("[PLAINTEXT://127.0.0.1:9092]");
        assertThat(config.metricsListener()).hasToString("127.0.0.1:9464");
        assertThat(config.clusterId()).isNull();
        assertThat(config.metadataDir()).isEqualTo(Path.of("/data/cluster_metadata"));
        assertThat(config.topicDefaults()).isEmpty();
        assertThat(parse("log.segment.bytes=1000").topicDefaults()).isEqualTo(Map.of("segment.bytes", "1000"));
        assertThat(config.warnings()).isEmpty();
    }

    @ParameterizedTest(name = "{0} is refused: {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "no.such.key=1 | unknown key no.such.key",
                "node_id=1 | did you mean node.id?",
                "node.id=-1 | node.id must be between 0 and",
                "node.id=one | node.id must be a whole number",
                "auto.create.topics.enable=yes | auto.create.topics.enable must be one of true; false",
                "log.segment.bytes=13 | log.segment.bytes must be between 14",
                "log.message.timestamp.type=Now | must be one of CreateTime; LogAppendTime",
                "listeners=9092 | is not NAME://host:port",
                "listeners=PLAINTEXT://127.0.0.1:99999 | is not NAME://host:port",
                "listeners=, | must name at least one listener",
                "listeners=PLAINTEXT://127.0.0.1:1,PLAINTEXT://127.0.0.1:2 | named twice",
                "listeners=PLAINTEXT://192.168.1.7:9092 | allow.plaintext=true",
                "listeners=PLAINTEXT://:9092 | allow.plaintext=true",
                "listeners=SSL://127.0.0.1:9092 | only PLAINTEXT is supported yet",
                "listeners=INSIDE://127.0.0.1:9092 | listener.security.protocol.map",
                "advertised.listeners=OTHER://example.org:9092 | there is no listener OTHER",
                "advertised.listeners=PLAINTEXT://0.0.0.0:9092 | clients cannot connect",
                "metrics.listener=127.0.0.1:9464 | is not http://host:port",
                "socket.request.max.bytes=2048 | must not be below message.max.bytes",
                "group.min.session.timeout.ms=2000000 | must not be above group.max.session.timeout.ms",
                "mirror.failed.retry.initial.backoff.ms=400000 | must not be above mirror.failed.retry.max.backoff.ms",
                "mirror.unknown=1 | unknown key mirror.unknown"
            })
    void whatIsWrongIsNamedWithItsLine(String line, String complaint) {
        assertThatThrownBy(() -> parse("# a comment", line))
                .isInstanceOf(ConfigFault.class)
                .hasMessageContaining("test.properties:3: ")
                .hasMessageContaining(complaint);
    }

    @Test
    void theDataDirectoryIsNeeded() {
        assertThatThrownBy(() -> BrokerConfig.parse(List.of("node.id=1"), "test.properties"))
                .hasMessageContaining("test.properties: log.dirs is needed");
    }

    @Test
    void severalDataDirectoriesAreTakenInTheirOrderAndTheFirstHoldsTheMetadata() {
        BrokerConfig config = BrokerConfig.parse(List.of("log.dirs=/a, /b/c"), "test.properties");
        assertThat(config.logDirs()).containsExactly(Path.of("/a"), Path.of("/b/c"));
        assertThat(config.metadataDir()).isEqualTo(Path.of("/a/cluster_metadata"));
    }

    @Test
    void aDataDirectoryNamedTwiceIsRefused() {
        assertThatThrownBy(() -> BrokerConfig.parse(List.of("log.dirs=/a,/b/../a"), "test.properties"))
                .hasMessageContaining("log.dirs: names /b/../a twice");
    }

    @Test
    void aKeySetTwiceNamesBothLines() {
        assertThatThrownBy(() -> parse("node.id=1", "node.id=2"))
                .hasMessage("test.properties:3: node.id is set a second time; the first is at test.properties:2");
    }

    @Test
    void continuedLinesCountAsOne() {
        assertThatThrownBy(() -> parse("listeners=PLAINTEXT://127.0.0.1:1,\\", "  B://127.0.0.1:2", "bad=1"))
                .hasMessageStartingWith("test.properties:4: unknown key bad");
    }

    @Test
    void aPlaintextListenerForOthersIsAllowedWithAWarning() {
        BrokerConfig config = parse("listeners=PLAINTEXT://192.168.1.7:9092", "allow.plaintext=true");
        assertThat(config.warnings()).singleElement().asString().contains("PLAINTEXT://192.168.1.7:9092 is plaintext");
    }

    @Test
    void listeningOnAllAddressesNeedsAnAdvertisedOne() {
        assertThatThrownBy(() -> parse("listeners=PLAINTEXT://0.0.0.0:9092", "allow.plaintext=true"))
                .hasMessageContaining("advertised.listeners must say");
        BrokerConfig config = parse(
                "listeners=PLAINTEXT://0.0.0.0:9092",
                "allow.plaintext=true",
                "advertised.listeners=PLAINTEXT://example.org:19092");
        assertThat(config.advertised()).hasToString("{PLAINTEXT=example.org:19092}");
    }

    @Test
    void otherListenerNamesNeedAProtocol() {
        BrokerConfig config = parse(
                "listeners=PLAINTEXT://127.0.0.1:1,INSIDE://[::1]:2",
                "listener.security.protocol.map=INSIDE:PLAINTEXT");
        assertThat(config.listeners()).hasToString("[PLAINTEXT://127.0.0.1:1, INSIDE://[::1]:2]");
    }

    @Test
    void theCommandLineWinsOverTheFile() throws Exception {
        Path file = dir.resolve("broker.properties");
        Files.write(file, List.of("log.dirs=" + dir, "node.id=1"));
        BrokerConfig config = BrokerConfig.load(file, List.of("node.id=7"));
        assertThat(config.nodeId()).isEqualTo(7);
        assertThatThrownBy(() -> BrokerConfig.load(file, List.of("node.id=x")))
                .hasMessageContaining("--override: node.id must be a whole number");
        assertThatThrownBy(() -> BrokerConfig.load(file, List.of("node.id")))
                .hasMessageContaining("--override needs key=value");
    }

    @Test
    void aMissingFileIsNamed() {
        assertThatThrownBy(() -> BrokerConfig.load(dir.resolve("none"), List.of()))
                .isInstanceOf(ConfigFault.class)
                .hasMessageContaining("none does not exist");
    }

    @Test
    void everyDefaultPassesItsOwnCheck() {
        for (ConfigKey key : ConfigKey.values()) {
            assertThat(key.complaint(key.fallback())).as(key.key()).isNull();
        }
    }

    @Test
    void theReadmeHasEveryKey() throws Exception {
        String readme = Files.readString(Path.of("README.md"));
        assertThat(BrokerConfig.table()).isNotEmpty().allSatisfy(row -> assertThat(readme)
                .contains(row));
    }
}
