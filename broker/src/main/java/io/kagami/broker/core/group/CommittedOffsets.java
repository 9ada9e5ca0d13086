package io.kagami.broker.core.group;

import io.kagami.broker.core.group.GroupRecord.Commit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.BiPredicate;

/** The committed offsets of one group, by topic and partition. */
final class CommittedOffsets {
    private final NavigableMap<String, NavigableMap<Integer, Commit>> topics = new TreeMap<>();

    /** A null value removes. */
    void put(String topic, int partition, Commit value) {
        if (value != null) {
            topics.computeIfAbsent(topic, name -> new TreeMap<>()).put(partition, value);
            return;
        }
        NavigableMap<Integer, Commit> partitions = topics.get(topic);
        if (partitions != null) {
            partitions.remove(partition);
            if (partitions.isEmpty()) {
                topics.remove(topic);
            }
        }
    }

    /** Null when nothing is committed. */
    Commit get(String topic, int partition) {
        return topics.getOrDefault(topic, Collections.emptyNavigableMap()).get(partition);
    }

    NavigableMap<String, NavigableMap<Integer, Commit>> all() {
        return Collections.unmodifiableNavigableMap(topics);
    }

    boolean isEmpty() {
        return topics.isEmpty();
    }

    /** Tombstones for those that match, without removing anything. */
    List<GroupRecord> tombstones(String groupId, BiPredicate<String, Commit> which) {
        List<GroupRecord> records = new ArrayList<>();
        for (Map.Entry<String, NavigableMap<Integer, Commit>> topic : topics.entrySet()) {
            for (Map.Entry<Integer, Commit> partition : topic.getValue().entrySet()) {
                if (which.test(topic.getKey(), partition.getValue())) {
                    records.add(new GroupRecord.Offset(groupId, topic.getKey(), partition.getKey(), null));
                }
            }
        }
        return records;
    }
}
