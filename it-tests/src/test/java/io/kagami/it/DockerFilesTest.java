package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.broker.BrokerConfig;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** The container files agree with each other and with the broker; no image is built here. */
class DockerFilesTest {
    private static final Path DOCKER = Checkout.root().resolve("docker");

    private static List<String> matches(String file, String pattern) {
        return Pattern.compile(pattern, Pattern.MULTILINE)
                .matcher(Checkout.read(DOCKER.resolve(file)))
                .results()
                .map((MatchResult match) -> match.group(1))
                .toList();
    }

    @Test
    void theBrokerTakesItsConfiguration() {
        BrokerConfig config = BrokerConfig.load(DOCKER.resolve("kagami.properties"), List.of());
        assertThat(config.listeners()).extracting(BrokerConfig.Listener::name).containsExactly("HOST", "NETWORK");
        assertThat(config.advertised().get("NETWORK").host()).isEqualTo("kagami");
        assertThat(matches("prometheus.yml", "targets: \\[\"kagami:(\\d+)\"]"))
                .containsExactly(String.valueOf(config.metricsListener().port()));
    }

    @Test
    void composeNamesFilesThatExistAndPublishesPortsOnThisMachineAlone() {
        assertThat(matches("compose.yaml", "dockerfile: (\\S+)"))
                .isNotEmpty()
                .allSatisfy(file -> assertThat(Checkout.root().resolve(file)).exists());
        assertThat(matches("compose.yaml", "- (\\./[^:]+):"))
                .isNotEmpty()
                .allSatisfy(file -> assertThat(DOCKER.resolve(file)).exists());
        assertThat(matches("compose.yaml", "- \"([^\"]+:\\d+:\\d+)\""))
                .hasSize(3)
                .allMatch(p -> p.startsWith("127.0.0.1:"));
        assertThat(matches("compose.yaml", "^(\\t)")).isEmpty();
    }

    @Test
    void theImageTakesWhatTheBuildMakes() {
        List<String> copied = matches("Dockerfile", "^COPY (?:--from=build /src/)?(\\S+) /");
        assertThat(copied).contains("cli/target/kagami", "docker/kagami.properties");
        assertThat(Files.exists(DOCKER.resolve("kagami.properties"))).isTrue();
        assertThat(matches("Dockerfile", "^ENTRYPOINT \\[\"/opt/kagami/bin/(\\w+)\""))
                .containsExactly("kagami");
    }
}
