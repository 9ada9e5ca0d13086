package io.kagami.it;

import java.time.Duration;
import java.util.Collection;
import java.util.Map;
import java.util.TreeMap;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ThrowingRunnable;

/** Waiting for what must come true. */
final class Eventually {
    private Eventually() {}

    static ConditionFactory within(Duration most) {
        return Awaitility.await()
                .atMost(most)
                .pollInterval(Duration.ofMillis(100))
                .pollDelay(Duration.ZERO);
    }

    static void succeeds(Duration most, ThrowingRunnable assertion) {
        within(most).ignoreExceptions().untilAsserted(assertion);
    }

    /** Until every partition of the topics ends at the mirror where it ends at the source. */
    static void mirrored(Duration most, String source, String mirror, Collection<String> topics) {
        succeeds(most, () -> {
            Map<String, Long> there = ends(source, topics);
            Map<String, Long> here = ends(mirror, topics);
            if (!here.equals(there)) {
                there.entrySet().removeAll(here.entrySet());
                String sample = there.entrySet().stream()
                        .limit(5)
                        .map(e -> e.getKey() + ": source " + e.getValue() + ", mirror " + here.get(e.getKey()))
                        .toList()
                        .toString();
                throw new AssertionError(there.size() + " partitions are behind: " + sample);
            }
        });
    }

    /** Log end offsets, by {@code topic-partition}. */
    static Map<String, Long> ends(String bootstrap, Collection<String> topics) {
        try (RawKafka kafka = new RawKafka(bootstrap)) {
            Map<String, Long> ends = new TreeMap<>();
            for (String topic : topics) {
                kafka.leaders(topic)
                        .forEach((partition, leader) ->
                                ends.put(topic + "-" + partition, kafka.offset(leader, topic, partition, -1)));
            }
            return ends;
        }
    }
}
