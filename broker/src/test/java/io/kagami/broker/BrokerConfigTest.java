package io.kagami.broker;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.broker.api.TopicConfigs;
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
        assertThat(parse("log.segment.bytes=1048576").topicDefaults()).isEqualTo(Map.of("segment.bytes", "1048576"));
        assertThat(config.warnings()).isEmpty();
    }

    @Test
    void compressionOfTheBrokerIsTheDefaultOfTopics() {
        assertThat(parse(
                                "compression.type=zstd",
                                "compression.gzip.level=6",
                                "compression.lz4.level=1",
                                "compression.zstd.level=-7")
                        .topicDefaults())
                .containsExactlyInAnyOrderEntriesOf(Map.of(
                        "compression.type", "zstd",
                        "compression.gzip.level", "6",
                        "compression.lz4.level", "1",
                        "compression.zstd.level", "-7"));
    }

    /** What the file may say is what a topic may have: a broker that accepts its file starts. */
    @ParameterizedTest(name = "{0}={1} is accepted: {2}")
    @CsvSource({
        "log.segment.bytes, 1048576, segment.bytes",
        "log.index.size.max.bytes, 12, segment.index.bytes",
        "compression.gzip.level, -1, compression.gzip.level",
        "compression.gzip.level, 9, compression.gzip.level",
        "compression.lz4.level, 17, compression.lz4.level",
        "compression.zstd.level, -131072, compression.zstd.level",
        "compression.type, uncompressed, compression.type"
    })
    void theSmallestAndLargestValuesAreGoodForTopicsToo(String key, String value, String topicKey) {
        Map<String, String> defaults = parse(key + "=" + value).topicDefaults();
        assertThat(defaults).containsEntry(topicKey, value);
        assertThat(TopicConfigs.problem(Map.of(topicKey, value))).isEmpty();
        TopicConfigs.logOptions(Map.of(), defaults);
    }

    @ParameterizedTest(name = "{0} is refused: {1}")
    @CsvSource(
            delimiter = '|',
            value = {
                "no.such.key=1 | unknown key no.such.key",
                "transactional.id.expiration.ms=1 | does not coordinate transactions yet",
                "max.decompressed.message.bytes=0 | must be",
                "node_id=1 | did you mean node.id?",
                "node.id=-1 | node.id must be between 0 and",
                "node.id=one | node.id must be a whole number",
                "auto.create.topics.enable=yes | auto.create.topics.enable must be one of true; false",
                "log.segment.bytes=1048575 | log.segment.bytes must be between 1048576",
                "compression.type=brotli | compression.type must be one of uncompressed; zstd",
                "compression.gzip.level=0 | compression.gzip.level must be one of -1; 1",
                "compression.lz4.level=18 | compression.lz4.level must be between 1 and 17",
                "compression.zstd.level=23 | compression.zstd.level must be between -131072 and 22",
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
                "socket.send.buffer.bytes=0 | 0 is no size",
                "socket.receive.buffer.bytes=-2 | socket.receive.buffer.bytes",
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
    void logDirStandsInForLogDirsThatAreNotSet() {
        assertThat(BrokerConfig.parse(List.of("log.dir=/a"), "test.properties").logDirs())
                .containsExactly(Path.of("/a"));
        assertThat(parse("log.dir=/a").logDirs()).as("log.dirs wins").containsExactly(Path.of("/data"));
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
