package io.kagami.it.bench;

import io.kagami.cli.demo.ForkedKafka;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Thousands of clients that say nothing and hundreds that ask all the time: memory, and CPU while all are quiet. */
record ConnectionsRow() implements Row {
    private static final String SMALL_HEAP = "256m";
    private static final int ACTIVE_OF_IDLE = 4;
    private static final Duration QUIET = Duration.ofSeconds(5);
    private static final Duration BUSY = Duration.ofSeconds(5);

    @Override
    public String name() {
        return "connections";
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.KAFKA);
    }

    @Override
    public boolean ofTargets() {
        return true;
    }

    /** A count, not a speed: once. */
    @Override
    public int runs(String system, int wanted) {
        return 1;
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        lab.quiet();
        if (system.equals(Systems.KAGAMI)) {
            try (KagamiServer server =
                    KagamiServer.start(lab.dir("kagami"), lab.options(), name() + "-" + run, SMALL_HEAP)) {
                return measure(server.port(), server.pid(), lab.options().connections());
            }
        }
        try (ForkedKafka kafka = lab.destination()) {
            return measure(kafka.port(1), kafka.process(1).pid(), lab.options().connections());
        } finally {
            Directories.remove(lab.dir("destination"));
        }
    }

    private static Map<String, Double> measure(int port, long pid, int idle) throws IOException {
        Map<String, Double> figures = new LinkedHashMap<>();
        figures.put("RSS before MiB", ProcessUse.residentMiB(pid));
        int wanted = idle + idle / ACTIVE_OF_IDLE;
        List<RawClient> clients = new ArrayList<>();
        try {
            long began = System.nanoTime();
            for (int i = 0; i < wanted; i++) {
                RawClient client = new RawClient(port);
                clients.add(client);
                client.ask();
                client.listen();
            }
            figures.put("open", (double) clients.size());
            figures.put("opening s", Wait.secondsSince(began));
            double cpu = ProcessUse.cpuSeconds(pid);
            Wait.pass(QUIET);
            figures.put("idle CPU %", (ProcessUse.cpuSeconds(pid) - cpu) * 100 / QUIET.toSeconds());
            figures.put("requests/s", ask(clients.subList(idle, wanted)));
            figures.put("RSS after MiB", ProcessUse.residentMiB(pid));
            // whoever was quiet all the time is still served
            ask(clients.subList(0, idle));
        } finally {
            for (RawClient client : clients) {
                client.close();
            }
        }
        return figures;
    }

    /** All ask, all listen, and again, for a while; every request is answered or this throws. */
    private static double ask(List<RawClient> clients) throws IOException {
        long began = System.nanoTime();
        long requests = 0;
        while (Wait.secondsSince(began) < BUSY.toSeconds() || requests == 0) {
            for (RawClient client : clients) {
                client.ask();
            }
            for (RawClient client : clients) {
                client.listen();
            }
            requests += clients.size();
        }
        return requests / Wait.secondsSince(began);
    }
}
