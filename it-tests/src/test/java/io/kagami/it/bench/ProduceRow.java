package io.kagami.it.bench;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** How fast a broker takes what Kafka's producer sends, and what it pays. */
record ProduceRow(String codec, String acks, int batchBytes) implements Row {
    @Override
    public String name() {
        return "produce-" + codec + "-" + acks + "-" + batchBytes / 1024 + "k";
    }

    @Override
    public List<String> systems() {
        return List.of(Systems.KAGAMI, Systems.KAFKA);
    }

    @Override
    public boolean ofTargets() {
        return codec.equals("none") && acks.equals("all");
    }

    @Override
    public List<String> traits() {
        return List.of(codec, Integer.toString(Pair.PARTITIONS));
    }

    @Override
    public Map<String, Double> measure(String system, int run, Lab lab) throws Exception {
        Pair pair = lab.pair();
        String topic = pair.create(system);
        Machine.settle();
        long records = lab.options().brokerRecords();
        double cpu = ProcessUse.cpuSeconds(pair.pid(system));
        double seconds = pair.produce(system, topic, codec, acks, batchBytes, records);
        cpu = ProcessUse.cpuSeconds(pair.pid(system)) - cpu;
        Payloads.delete(pair.bootstrap(system), topic);
        return figures(records * lab.options().recordBytes(), records, seconds, cpu);
    }

    static Map<String, Double> figures(long bytes, long records, double seconds, double cpu) {
        Map<String, Double> figures = new LinkedHashMap<>();
        figures.put("MB/s", bytes / 1e6 / seconds);
        figures.put("records/s", records / seconds);
        figures.put("broker CPU s/GiB", cpu / (bytes / (double) (1 << 30)));
        figures.put("measured s", seconds);
        return figures;
    }
}
