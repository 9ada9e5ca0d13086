package io.kagami.it.bench;

import java.util.List;
import java.util.Map;

/** How long after it was sent a record can be read from the broker it was sent to. */
record PacedRow(int rate) implements Row {
    private static final int WARM_SECONDS = 3;

    @Override
    public String name() {
        return "paced-" + rate;
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.KAFKA);
    }

    @Override
    public boolean ofTargets() {
        return rate == Catalogue.PACED_RATE;
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        Pair pair = lab.pair();
        String topic = pair.create(system);
        Machine.settle();
        PacedLoad.Load load = new PacedLoad.Load(
                topic,
                Pair.PARTITIONS,
                rate,
                WARM_SECONDS,
                lab.options().pacedSeconds(),
                lab.options().recordBytes(),
                "all");
        try {
            return PacedLoad.run(pair.bootstrap(system), load, Map.of("broker", pair.port(system)));
        } finally {
            Payloads.delete(pair.bootstrap(system), topic);
        }
    }
}
