package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;

/** The demo of the README: it starts a real Kafka, mirrors it and proves that all is identical. */
@ExtendWith(Sources.class)
class DemoIT {
    private static final long TIMEOUT_SECONDS = 180;

    @Test
    void theDemoMirrorsEverythingAndSaysThatItIsIdentical() {
        Cli.Result result = Cli.run(
                Checkout.distribution().resolve("bin/kagami").toString(),
                List.of("demo", "--once"),
                Map.of(),
                TIMEOUT_SECONDS);
        assertIdentical(result);
    }

    @Test
    void theDemoTakesTheUsersOwnSource(SourceKafka source) {
        Fill.create(source.bootstrap(), "demo-own", 2, Map.of());
        Fill.everyKindOfBatch(source.bootstrap(), "demo-own", 2, Seed.random("demo"));
        Cli.Result result = Cli.run(
                Checkout.distribution().resolve("bin/kagami").toString(),
                List.of("demo", "--once", "--source", source.bootstrap()),
                Map.of(),
                TIMEOUT_SECONDS);
        assertIdentical(result);
        assertThat(result.out()).contains("demo-own");
    }

    private static void assertIdentical(Cli.Result result) {
        assertThat(result.exitCode()).as("%s", result).isZero();
        List<String> table = result.out()
                .lines()
                .filter(l -> l.strip().matches(".*\\s\\d[\\d,. ]*\\s.*\\b(yes|no)\\s*$"))
                .toList();
        assertThat(table).as("the table in %s", result.out()).isNotEmpty().allMatch(l -> l.strip()
                .endsWith("yes"));
        assertThat(result.out()).contains("Every batch is identical on both sides");
    }
}
