package io.kagami.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ForkedKafkaTest {
    @TempDir
    Path dir;

    @Test
    void startsRunsItsToolsSurvivesAKillAndStops() throws Exception {
        ProcessHandle process;
        try (ForkedKafka kafka = ForkedKafka.start(new ForkedKafka.Options(
                System.getProperty("kafka.version", "4.4.0"), 1, dir, Map.of("num.partitions", "2"), "384m"))) {
            Path out = dir.resolve("tool.out");
            int exit = kafka.runTool(
                    "org.apache.kafka.tools.TopicCommand",
                    List.of("--bootstrap-server", kafka.bootstrap(), "--create", "--topic", "t"),
                    out);
            assertThat(exit).as(Files.readString(out)).isZero();
            kafka.kill(1);
            assertThat(kafka.running(1)).isFalse();
            kafka.resume(1);
            assertThat(Files.exists(kafka.dataOf(1).resolve("t-1"))).isTrue();
            process = kafka.process(1);
            assertThat(process.isAlive()).isTrue();
        }
        assertThat(process.isAlive()).isFalse();
    }
}
