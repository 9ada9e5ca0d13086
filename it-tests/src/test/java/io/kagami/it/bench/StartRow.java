package io.kagami.it.bench;

import io.kagami.cli.demo.ForkedKafka;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;

/** How long an empty broker takes from the start of its process to its first answer, and what it holds when nobody calls. */
record StartRow() implements Row {
    private static final Duration IDLE = Duration.ofSeconds(3);
    private static final Duration PATIENCE = Duration.ofMinutes(1);
    private static final Duration LOOK = Duration.ofMillis(2);

    @Override
    public String name() {
        return "start";
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.KAFKA);
    }

    @Override
    public boolean ofTargets() {
        return true;
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        lab.quiet();
        if (system.equals(Systems.KAGAMI)) {
            long began = System.nanoTime();
            try (KagamiServer server = KagamiServer.start(lab.dir("kagami"), lab.options(), name() + "-" + run)) {
                return figures(Wait.secondsSince(began), server.pid());
            }
        }
        // formatted and started once before: an empty broker's own start is what is measured
        try (ForkedKafka kafka = lab.destination()) {
            kafka.stop(1);
            int port = kafka.port(1);
            long began = System.nanoTime();
            CompletableFuture<Double> serving = CompletableFuture.supplyAsync(() -> {
                Wait.until("Kafka serves", PATIENCE, LOOK, () -> RawClient.serves(port));
                return Wait.secondsSince(began);
            });
            kafka.resume(1);
            return figures(serving.get(), kafka.process(1).pid());
        } finally {
            Directories.remove(lab.dir("destination"));
        }
    }

    private static Map<String, Double> figures(double seconds, long pid) {
        Wait.pass(IDLE);
        Map<String, Double> figures = new LinkedHashMap<>();
        figures.put("serving after s", seconds);
        figures.put("idle RSS MiB", ProcessUse.residentMiB(pid));
        return figures;
    }
}
