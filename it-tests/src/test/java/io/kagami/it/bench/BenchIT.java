package io.kagami.it.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The benchmark works: a tiny catch-up of all three systems, and a source that is only a script. No speed is asserted. */
class BenchIT {
    @TempDir
    Path dir;

    @Test
    void everySystemCatchesUpAndIsMeasured() throws Exception {
        Options options = options("--rows", "catchup-none-6", "--size", "8", "--runs", "1");
        assertThat(Bench.run(options, Catalogue.choose(options))).isEmpty();
        Results results = Results.open(dir.resolve("results.jsonl"));
        for (String system : List.of(Systems.KAGAMI, Systems.MM2, Systems.FOLLOWER)) {
            for (String figure : List.of("MB/s", "records/s", "peak RSS MiB", "copied share")) {
                assertThat(results.spread("catchup-none-6", system, figure)
                                .orElseThrow()
                                .median())
                        .as("%s of %s", figure, system)
                        .isPositive();
            }
        }
        assertThat(Files.readString(dir.resolve("results.json"))).contains("\"machine\"", "catchup-none-6", "\"mm2\"");
    }

    @Test
    void aScriptedSourceIsMirroredAsARealOne() throws Exception {
        Options options = options("--record-size", "100");
        try (FakeSource source = FakeSource.start(100)) {
            for (int topic = 0; topic < 20; topic++) {
                source.create("scripted-" + topic, 2);
                source.append("scripted-" + topic, 0);
                source.append("scripted-" + topic, 1);
            }
            try (KagamiServer kagami = KagamiServer.start(dir.resolve("kagami"), options, "scripted");
                    RawClient client = new RawClient(kagami.port())) {
                kagami.mirror(source.bootstrap(), "scripted-.*");
                awaitRecords(client, "scripted-19", 2);
                // a long poll is answered when something comes
                source.append("scripted-7", 1);
                awaitRecords(client, "scripted-7", 3);
                ByteBuffer there = source.read(source.find("scripted-7", null), 1, 0, 1 << 20);
                ByteBuffer here = ByteBuffer.allocate(there.remaining());
                client.fetch(
                        "scripted-7",
                        new long[2],
                        new RawClient.FetchLimits(500, 1 << 20, 1 << 20),
                        (partition, buffer, at, length) -> {
                            if (partition == 1) {
                                here.put(buffer.duplicate().limit(at + length).position(at));
                            }
                        });
                assertThat(here.flip()).isEqualTo(there);
            }
        }
    }

    private Options options(String... args) {
        return Options.parse(List.of(args), dir);
    }

    private static void awaitRecords(RawClient client, String topic, long records) {
        Wait.until(records + " records in " + topic, Duration.ofSeconds(30), Duration.ofMillis(20), () -> {
            try {
                return client.count(topic, 2) == records;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
    }
}
