package io.kagami.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.cli.ShellOutput;
import io.kagami.cli.demo.LogComparer.Compared;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.Transports;
import io.kagami.protocol.client.ClientOptions;
import io.kagami.protocol.client.NettyClusterClient;
import io.netty.channel.EventLoopGroup;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The demo's data on a real Kafka: written once, looked at with the comparer and with the shell's commands. */
class SampleDataTest {
    @TempDir
    static Path dir;

    private static final EventLoopGroup GROUP = Transports.newGroup(1, "test");
    private static ForkedKafka kafka;
    private static Wire wire;

    @BeforeAll
    static void fill() {
        kafka = ForkedKafka.start(new ForkedKafka.Options(Demo.SOURCE_VERSION, 1, dir, Demo.SOURCE_PROPS, "512m"));
        ClientOptions options = new ClientOptions(
                List.of(kafka.bootstrap()), "test", Duration.ofSeconds(30), Duration.ofSeconds(10), -1, 1 << 28);
        wire = new Wire(new NettyClusterClient(options, GROUP), options, null);
        new SampleData(new SourceWriter(wire), (topic, done) -> {}).write();
    }

    @AfterAll
    static void stop() {
        wire.close();
        kafka.close();
        GROUP.shutdownGracefully();
    }

    @Test
    void itHasGapsOfCompactionAMovedStartAndAnEmptyTopic() {
        List<Compared> all = LogComparer.compare(wire.client(), wire.client(), SampleData.topics());
        assertThat(all).hasSize(17).allMatch(Compared::identical);
        assertThat(all).filteredOn(c -> c.topic().equals("customers")).allSatisfy(c -> assertThat(c.records())
                .isLessThan(c.endOffset() - c.startOffset()));
        assertThat(all)
                .filteredOn(c -> c.topic().equals("audit"))
                .singleElement()
                .satisfies(c -> assertThat(c.startOffset()).isEqualTo(120));
        assertThat(all).filteredOn(c -> c.topic().equals("returns")).allMatch(c -> c.endOffset() == 0);
        // 16 transactions of 150 records in each partition, and a marker for each
        assertThat(all).filteredOn(c -> c.topic().equals("payments")).allMatch(c -> c.endOffset() == 16 * 151);
    }

    @Test
    void topicsAreListedAndDescribed() {
        ShellOutput shell = new ShellOutput();
        assertThat(shell.run("topics", "--topic", "returns,audit", "--bootstrap-server", kafka.bootstrap()))
                .isZero();
        assertThat(shell.out().lines().map(line -> line.replaceAll(" +", " ")).toList())
                .hasSize(3)
                .contains("TOPIC PARTITIONS RECORDS BYTES MIRROR", "returns 2 0 0 -")
                .anyMatch(line -> line.matches("audit 1 1881 \\d{7} -"));
        assertThat(shell.run(
                        "topics", "--describe", "--json", "--topic", "audit", "--bootstrap-server", kafka.bootstrap()))
                .isZero();
        assertThat(shell.out())
                .contains("\"partition\": 0,", "\"startOffset\": 120,", "\"endOffset\": 2001,", "\"mirror\": null");
        assertThat(shell.run("topics", "--topic", "nope", "--bootstrap-server", kafka.bootstrap()))
                .isEqualTo(1);
        assertThat(shell.err()).contains("nope", "UNKNOWN_TOPIC_OR_PARTITION");
    }

    @Test
    void groupsAreListedAndDescribedWithTheirLag() {
        ShellOutput shell = new ShellOutput();
        assertThat(shell.run("groups", "--bootstrap-server", kafka.bootstrap())).isZero();
        assertThat(shell.out()).contains("analytics", "billing");
        assertThat(shell.run("groups", "--describe", "--group", "billing", "--bootstrap-server", kafka.bootstrap()))
                .isZero();
        assertThat(shell.out().lines().map(line -> line.replaceAll(" +", " ")).toList())
                .contains(
                        "GROUP TOPIC PARTITION COMMITTED-OFFSET END-OFFSET LAG STATE MEMBERS",
                        "billing orders 0 10000 10000 0 Empty 0",
                        "billing orders 2 0 10000 10000 Empty 0",
                        "billing payments 1 1200 2416 1216 Empty 0");
        assertThat(shell.run("groups", "--describe", "--group", "nobody", "--bootstrap-server", kafka.bootstrap()))
                .isEqualTo(1);
        assertThat(shell.err()).contains("there is no group nobody");
    }

    @Test
    void anOrdinaryKafkaHasNoMirrors() {
        ShellOutput shell = new ShellOutput();
        assertThat(shell.run("mirrors", "--list", "--bootstrap-server", kafka.bootstrap()))
                .isEqualTo(1);
        assertThat(shell.err()).contains("has no mirrors", "not at the source");
    }
}
