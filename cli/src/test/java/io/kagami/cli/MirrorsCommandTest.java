package io.kagami.cli;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.protocol.MirrorError;
import io.kagami.protocol.MirrorMessages.CreateClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.ListClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorListing;
import io.kagami.protocol.MirrorMessages.MirrorPartitionDescription;
import io.kagami.protocol.MirrorMessages.MirrorResponse;
import io.kagami.protocol.MirrorMessages.MirrorTopicDescription;
import io.kagami.protocol.MirrorMessages.MirrorTopicsRequest;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.PrivateApi;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class MirrorsCommandTest {
    private static final MirrorResponse DONE = new MirrorResponse((short) 0, null, List.of(), List.of());

    private final ShellRun shell = new ShellRun();

    @TempDir
    Path dir;

    @ParameterizedTest
    @ValueSource(
            strings = {
                "mirrors",
                "mirrors --create --list",
                "mirrors --create --mirror m",
                "mirrors --create --source a:1",
                "mirrors --start --mirror m",
                "mirrors --start --topics all",
                "mirrors --stop --mirror m",
                "mirrors --list --failed",
                "mirrors --list --topics t",
                "mirrors --describe --source a:1",
                "mirrors --pause --mirror m --topics t --watch",
                "mirrors --describe --watch 0",
                "mirrors --describe --watch x",
                "mirrors --describe --watch --json",
                "mirrors --nonsense",
                "mirrors --describe --topics [",
                "mirrors --describe --watch --topics [",
                "demo --source nonsense",
                "demo --source host:99999",
                "topics --list --describe",
                "groups --nonsense",
                "server",
                "nonsense",
                ""
            })
    void wrongUsageEndsWithTwoAndAHint(String line) {
        shell.cluster.answers.put(
                PrivateApi.DESCRIBE_CLUSTER_MIRRORS, new DescribeClusterMirrorsResponse((short) 0, null, List.of()));
        int code = shell.run(line.isEmpty() ? new String[0] : line.split(" "));
        assertThat(code).as(line).isEqualTo(2);
        assertThat(shell.err()).contains("--help");
        assertThat(shell.out()).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "server", "mirrors", "topics", "groups", "demo"})
    void everyCommandHasHelp(String command) {
        assertThat(shell.run((command + " --help").strip().split(" "))).isZero();
        assertThat(shell.out()).contains("Usage: kagami");
        assertThat(shell.err()).isEmpty();
    }

    @Test
    void createSendsTheSourceAndTheFile() throws Exception {
        shell.cluster.answers.put(PrivateApi.CREATE_CLUSTER_MIRROR, DONE);
        Path file = Files.writeString(dir.resolve("m.properties"), "topics.include=a.*\nsasl.jaas.config=hunter2\n");
        int code = shell.run(
                "mirrors", "--create", "--mirror", "a-to-b", "--source", "k:9092", "--mirror-config", file.toString());
        assertThat(code).isZero();
        assertThat(shell.out()).isEqualTo("Created mirror a-to-b.\n").doesNotContain("hunter2");
        assertThat(shell.cluster.asked)
                .containsExactly(new CreateClusterMirrorRequest(
                        "a-to-b",
                        Map.of("bootstrap.servers", "k:9092", "topics.include", "a.*", "sasl.jaas.config", "hunter2")));
        assertThat(shell.cluster.closed).isTrue();
    }

    @Test
    void aConfigFileThatIsMissingOrNamesNoSourceIsRefused() throws Exception {
        assertThat(shell.run("mirrors", "--create", "--mirror", "m", "--mirror-config", "/nowhere/x.properties"))
                .isEqualTo(1);
        assertThat(shell.err()).contains("/nowhere/x.properties", "no such file");
        Path file = Files.writeString(dir.resolve("m.properties"), "sasl.password=hunter2\n");
        assertThat(shell.run("mirrors", "--create", "--mirror", "m", "--mirror-config", file.toString()))
                .isEqualTo(1);
        assertThat(shell.err()).contains("bootstrap.servers").doesNotContain("hunter2");
    }

    @Test
    void startNamesWhatItStarted() {
        shell.cluster.answers.put(
                PrivateApi.START_MIRROR_TOPICS,
                new MirrorResponse(
                        (short) 0,
                        null,
                        List.of(new TopicResult("a", (short) 0, null), new TopicResult("b", (short) 0, null)),
                        List.of("the source has no topic c")));
        assertThat(shell.run("mirrors", "--start", "--mirror", "m", "--topics", "a,b,c", "--exclude", "z.*"))
                .isZero();
        assertThat(shell.out()).isEqualTo("Started 2 topics in mirror m: a, b\n");
        assertThat(shell.err()).isEqualTo("Warning: the source has no topic c\n");
        assertThat(shell.cluster.asked)
                .containsExactly(new MirrorTopicsRequest("m", List.of("a", "b", "c"), List.of("z.*")));
    }

    @Test
    void oneRefusedTopicMakesTheCommandFailAndTheOthersAreNamed() {
        shell.cluster.answers.put(
                PrivateApi.STOP_MIRROR_TOPICS,
                new MirrorResponse(
                        (short) 0,
                        null,
                        List.of(
                                new TopicResult("a", (short) 0, null),
                                new TopicResult("b", MirrorError.TOPIC_NOT_IN_CLUSTER_MIRROR.code(), null)),
                        List.of()));
        assertThat(shell.run("mirrors", "--stop", "--mirror", "m", "--topics", "a,b"))
                .isEqualTo(1);
        assertThat(shell.out()).isEqualTo("Stopped 1 topic in mirror m: a\n");
        assertThat(shell.err()).contains("topic b", "TOPIC_NOT_IN_CLUSTER_MIRROR", "does not belong");
    }

    @Test
    void aRefusalOfTheWholeCallEndsWithOne() {
        shell.cluster.answers.put(
                PrivateApi.DELETE_CLUSTER_MIRROR,
                new MirrorResponse(
                        MirrorError.CLUSTER_MIRROR_NOT_EMPTY.code(), "2 topics are not stopped", List.of(), List.of()));
        assertThat(shell.run("mirrors", "--delete", "--mirror", "m")).isEqualTo(1);
        assertThat(shell.err()).isEqualTo("kagami: Mirror m: 2 topics are not stopped (CLUSTER_MIRROR_NOT_EMPTY)\n");
        assertThat(shell.run("mirrors", "--delete", "--mirror", "m", "--json")).isEqualTo(1);
        assertThat(shell.out()).contains("\"ok\": false", "\"error\": \"CLUSTER_MIRROR_NOT_EMPTY\"");
    }

    @Test
    void recoverSaysThatItIsNotThereYet() {
        assertThat(shell.run("mirrors", "--recover", "--mirror", "m", "--topics", "t"))
                .isEqualTo(1);
        assertThat(shell.err()).contains("--recover is not in this version");
        assertThat(shell.cluster.asked).isEmpty();
    }

    @Test
    void aServerThatIsNotThereIsNamed() {
        assertThat(shell.run("mirrors", "--list", "--bootstrap-server", "k:9093"))
                .isEqualTo(1);
        assertThat(shell.err()).contains("k:9093", "connection refused");
    }

    @Test
    void commandConfigRefusesWhatItDoesNotKnow() throws Exception {
        Path file = Files.writeString(dir.resolve("c.properties"), "sasl.password=hunter2\n");
        assertThat(shell.run("mirrors", "--list", "--command-config", file.toString()))
                .isEqualTo(1);
        assertThat(shell.err()).contains("sasl.password", "c.properties").doesNotContain("hunter2");
    }

    @Test
    void listPrintsTheColumnsAndTheJson() {
        shell.cluster.answers.put(
                PrivateApi.LIST_CLUSTER_MIRRORS,
                new ListClusterMirrorsResponse(
                        (short) 0,
                        null,
                        List.of(
                                new MirrorListing("a-to-b", 12, "gx7qT1", "k1:9092,k2:9092"),
                                new MirrorListing("c", 0, null, "k3:9092"))));
        assertThat(shell.run("mirrors", "--list")).isZero();
        assertThat(shell.out())
                .isEqualTo(
                        """
                        MIRROR  TOPICS  SOURCE-CLUSTER-ID  SOURCE-BOOTSTRAP-SERVER
                        a-to-b      12  gx7qT1             k1:9092,k2:9092
                        c            0  ?                  k3:9092
                        """);
        assertThat(shell.run("mirrors", "--list", "--json")).isZero();
        assertThat(shell.out())
                .isEqualTo(
                        """
                        [
                          {
                            "mirror": "a-to-b",
                            "topics": 12,
                            "sourceClusterId": "gx7qT1",
                            "sourceBootstrapServer": "k1:9092,k2:9092"
                          },
                          {
                            "mirror": "c",
                            "topics": 0,
                            "sourceClusterId": null,
                            "sourceBootstrapServer": "k3:9092"
                          }
                        ]
                        """);
    }

    @Test
    void listShowsTheNamedMirrorAlone() {
        shell.cluster.answers.put(
                PrivateApi.LIST_CLUSTER_MIRRORS,
                new ListClusterMirrorsResponse(
                        (short) 0,
                        null,
                        List.of(new MirrorListing("a", 1, "x", "k1:9092"), new MirrorListing("b", 2, "y", "k2:9092"))));
        assertThat(shell.run("mirrors", "--list", "--mirror", "b")).isZero();
        assertThat(shell.out()).contains("k2:9092").doesNotContain("k1:9092");
        assertThat(shell.run("mirrors", "--list", "--mirror", "c")).isEqualTo(1);
        assertThat(shell.out()).isEmpty();
        assertThat(shell.err()).contains("mirror c", "UNKNOWN_CLUSTER_MIRROR");
    }

    @Test
    void theSourceIsNamedOnce() throws Exception {
        Path file = Files.writeString(dir.resolve("m.properties"), "bootstrap.servers=k:9092\n");
        assertThat(shell.run(
                        "mirrors",
                        "--create",
                        "--mirror",
                        "m",
                        "--source",
                        "k:9092",
                        "--mirror-config",
                        file.toString()))
                .isEqualTo(2);
        assertThat(shell.err()).contains("--source", "bootstrap.servers", "m.properties");
        assertThat(shell.cluster.asked).isEmpty();
    }

    @Test
    void whenNothingMatchesNothingIsClaimed() {
        shell.cluster.answers.put(
                PrivateApi.PAUSE_MIRROR_TOPICS,
                new MirrorResponse(
                        (short) 0,
                        null,
                        List.of(new TopicResult("z", MirrorError.TOPIC_NOT_IN_CLUSTER_MIRROR.code(), null)),
                        List.of()));
        assertThat(shell.run("mirrors", "--pause", "--mirror", "m", "--topics", "z"))
                .isEqualTo(1);
        assertThat(shell.out()).isEmpty();
        assertThat(shell.err()).contains("topic z");
    }

    /** An interrupted thread ends the watch after its first round. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    --topics ord.*                  | 1 topic, 2 partitions
                    --topics other                  | 0 topics, 0 partitions
                    --topics all --exclude orders   | 0 topics, 0 partitions
                    --failed                        | 1 topic, 1 partition, lag ?
                    """)
    void watchShowsOnlyWhatIsWanted(String options, String begin) {
        describe();
        Thread.currentThread().interrupt();
        int code;
        boolean interrupted;
        try {
            code = shell.run(("mirrors --describe --watch 1 " + options).split(" "));
        } finally {
            interrupted = Thread.interrupted();
        }
        assertThat(interrupted).isTrue();
        assertThat(code).isZero();
        assertThat(shell.out()).startsWith(begin);
    }

    @Test
    void describePrintsTheColumnsWithUnknownsAsUnknown() {
        describe();
        assertThat(shell.run("mirrors", "--describe", "--mirror", "a-to-b")).isZero();
        assertThat(shell.out())
                .isEqualTo(
                        """
                        MIRROR  TOPIC   PARTITION  SOURCE-OFFSET  DESTINATION-OFFSET  LAG  STATE
                        a-to-b  orders          0            100                  90   10  MIRRORING
                        a-to-b  orders          1              ?                  50    ?  FAILED
                        """);
        assertThat(shell.err()).isEqualTo("Mirror a-to-b: source unreachable since 12:00: refused\n");
        assertThat(shell.cluster.asked).containsExactly(new DescribeClusterMirrorsRequest(List.of("a-to-b")));
    }

    @Test
    void failedShowsAttemptsAndReason() {
        describe();
        assertThat(shell.run("mirrors", "--describe", "--failed", "--topics", "ord.*"))
                .isZero();
        assertThat(shell.out())
                .isEqualTo(
                        """
                        MIRROR  TOPIC   PARTITION  STATE   RETRY         ERROR
                        a-to-b  orders          1  FAILED  NonRetryable  the topic was deleted at the source
                        """);
        assertThat(shell.run("mirrors", "--describe", "--failed", "--topics", "other"))
                .isZero();
        assertThat(shell.out()).isEmpty();
    }

    @Test
    void describeJsonHasNullForWhatIsUnknown() {
        describe();
        assertThat(shell.run("mirrors", "--describe", "--json")).isZero();
        assertThat(shell.out())
                .startsWith(
                        """
                        [
                          {
                            "mirror": "a-to-b",
                            "sourceClusterId": "gx7qT1",
                            "sourceBootstrapServer": "k1:9092",
                            "sourceStatus": "source unreachable since 12:00: refused",
                            "partitions": [
                              {
                                "mirror": "a-to-b",
                                "topic": "orders",
                                "partition": 0,
                                "sourceOffset": 100,
                                "destinationOffset": 90,
                                "lag": 10,
                                "state": "MIRRORING",
                                "retryAttempt": 0,
                                "errorMessage": null,
                        """)
                .contains(
                        """
                                "partition": 1,
                                "sourceOffset": null,
                                "destinationOffset": 50,
                                "lag": null,
                                "state": "FAILED",
                                "retryAttempt": -1,
                                "errorMessage": "the topic was deleted\\nat the source",
                                "lagBytes": null,
                                "lagMs": null,
                                "measuredAgoMs": null,
                        """);
    }

    @Test
    void anUnknownMirrorIsAReasonNotAnEmptyTable() {
        shell.cluster.answers.put(
                PrivateApi.DESCRIBE_CLUSTER_MIRRORS,
                new DescribeClusterMirrorsResponse(
                        (short) 0,
                        null,
                        List.of(new MirrorDescription(
                                "x", MirrorError.UNKNOWN_CLUSTER_MIRROR.code(), null, null, null, null, List.of()))));
        assertThat(shell.run("mirrors", "--describe", "--mirror", "x")).isEqualTo(1);
        assertThat(shell.err()).contains("mirror x", "UNKNOWN_CLUSTER_MIRROR");
        assertThat(shell.out()).isEmpty();
    }

    private void describe() {
        shell.cluster.answers.put(
                PrivateApi.DESCRIBE_CLUSTER_MIRRORS,
                new DescribeClusterMirrorsResponse(
                        (short) 0,
                        null,
                        List.of(new MirrorDescription(
                                "a-to-b",
                                (short) 0,
                                null,
                                "gx7qT1",
                                "k1:9092",
                                "source unreachable since 12:00: refused",
                                List.of(new MirrorTopicDescription(
                                        "orders",
                                        Uuid.ZERO_UUID,
                                        "MIRRORING",
                                        List.of(
                                                new MirrorPartitionDescription(
                                                        1,
                                                        "FAILED",
                                                        -1,
                                                        -1,
                                                        0,
                                                        50,
                                                        -1,
                                                        -1,
                                                        -1,
                                                        -1,
                                                        500,
                                                        -1,
                                                        "the topic was deleted\nat the source"),
                                                new MirrorPartitionDescription(
                                                        0,
                                                        "MIRRORING",
                                                        0,
                                                        100,
                                                        0,
                                                        90,
                                                        10,
                                                        1000,
                                                        20,
                                                        5,
                                                        9000,
                                                        0,
                                                        null))))))));
    }
}
