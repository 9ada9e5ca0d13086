package io.kagami.broker.adopt;

import io.kagami.broker.api.TopicConfigs;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.TreeMap;

/**
 * The defaults that topics had from their old broker. They are in its configuration file and its metadata, not in its topics; where
 * this broker has other ones they are kept as configs of each topic, or retention might delete here what was to be kept there.
 */
final class OldDefaults {
    /** Kafka's keys in coarser units, which count when the fine one is absent. */
    private record Coarse(String key, long ms) {}

    private static final Map<String, List<Coarse>> COARSE = Map.of(
            "log.retention.ms",
                    List.of(new Coarse("log.retention.minutes", 60_000), new Coarse("log.retention.hours", 3_600_000)),
            "log.roll.ms", List.of(new Coarse("log.roll.hours", 3_600_000)),
            "log.roll.jitter.ms", List.of(new Coarse("log.roll.jitter.hours", 3_600_000)));

    private OldDefaults() {}

    /** @throws AdoptionFailed when the file cannot be read */
    static Map<String, String> read(Path file) {
        Properties properties = new Properties();
        try (Reader in = Files.newBufferedReader(file)) {
            properties.load(in);
        } catch (IOException | IllegalArgumentException e) {
            throw new AdoptionFailed("cannot read the old configuration " + file + ": " + e, e);
        }
        Map<String, String> values = new HashMap<>();
        properties
                .stringPropertyNames()
                .forEach(key -> values.put(key, properties.getProperty(key).strip()));
        return values;
    }

    /**
     * Topic configs that the old broker's defaults give and this broker's do not.
     *
     * @param old configs of the old broker
     * @param defaults this broker's defaults of topic keys
     */
    static Map<String, String> differing(Map<String, String> old, Map<String, String> defaults) {
        Map<String, String> differing = new TreeMap<>();
        for (String name : TopicConfigs.names()) {
            Optional<String> value = TopicConfigs.brokerKey(name).flatMap(key -> value(key, old));
            if (value.isPresent() && !value.get().equals(TopicConfigs.value(name, Map.of(), defaults))) {
                differing.put(name, value.get());
            }
        }
        return differing;
    }

    private static Optional<String> value(String key, Map<String, String> old) {
        if (old.containsKey(key)) {
            return Optional.of(old.get(key));
        }
        for (Coarse coarse : COARSE.getOrDefault(key, List.of())) {
            String value = old.get(coarse.key());
            if (value != null) {
                return Optional.of(inMs(coarse, value));
            }
        }
        return Optional.empty();
    }

    private static String inMs(Coarse coarse, String value) {
        try {
            long number = Long.parseLong(value);
            return Long.toString(number < 0 ? number : Math.multiplyExact(number, coarse.ms()));
        } catch (NumberFormatException | ArithmeticException e) {
            throw new AdoptionFailed(
                    "the old configuration has " + coarse.key() + "=" + value + ", which is no time", e);
        }
    }
}
