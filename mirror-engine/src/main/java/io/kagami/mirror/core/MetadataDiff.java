package io.kagami.mirror.core;

import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;

/** What a refresh of the source's metadata asks of us. */
public final class MetadataDiff {
    private MetadataDiff() {}

    /** A topic of this mirror; {@code sourceTopicId} zero when the source has none. */
    public record Local(String name, Uuid sourceTopicId, int partitions, Desired desired) {}

    /** A topic at the source that was described without error. */
    public record Source(String name, Uuid topicId, int partitions) {}

    /** One finding. */
    public sealed interface Finding {
        String topic();

        /** Matches the selection and is not here. */
        record NewTopic(String topic) implements Finding {}

        record Grown(String topic, int from, int to) implements Finding {}

        record Shrunk(String topic, int from, int to) implements Finding {}

        /** Not at the source; a second look must agree before it counts as deleted. */
        record Missing(String topic) implements Finding {}

        record Recreated(String topic, Uuid was, Uuid is) implements Finding {}

        /** A changed exclude list matches it now: it is paused, never made writable. */
        record Excluded(String topic, String pattern) implements Finding {}

        /** Matches the selection, but the name is taken here by a topic that this mirror does not own. */
        record Occupied(String topic) implements Finding {}
    }

    /**
     * @param topics topics of this mirror, stopped ones too
     * @param taken names of all local topics, in this mirror or not
     * @param source described topics by name
     * @param unreadable topics whose description failed for a reason other than absence: nothing is concluded of them
     * @param discovery selection of new topics, or null when only named topics are mirrored
     * @param excluded the exclude list alone
     */
    public static List<Finding> compare(
            Collection<Local> topics,
            Set<String> taken,
            Map<String, Source> source,
            Set<String> unreadable,
            TopicSelector discovery,
            TopicSelector excluded) {
        List<Finding> findings = new ArrayList<>();
        for (Local local : topics) {
            if (local.desired() == Desired.STOPPED || unreadable.contains(local.name())) {
                continue;
            }
            compareOne(local, source.get(local.name()), excluded, findings);
        }
        if (discovery != null) {
            Set<String> own = topics.stream().map(Local::name).collect(Collectors.toSet());
            for (Source topic : source.values()) {
                if (own.contains(topic.name()) || !discovery.matches(topic.name())) {
                    continue;
                }
                boolean free = !taken.contains(topic.name());
                findings.add(free ? new Finding.NewTopic(topic.name()) : new Finding.Occupied(topic.name()));
            }
        }
        return findings;
    }

    private static void compareOne(Local local, Source there, TopicSelector excluded, List<Finding> findings) {
        if (there == null) {
            findings.add(new Finding.Missing(local.name()));
            return;
        }
        boolean bothKnown = !there.topicId().equals(Uuid.ZERO_UUID)
                && !local.sourceTopicId().equals(Uuid.ZERO_UUID);
        if (bothKnown && !there.topicId().equals(local.sourceTopicId())) {
            findings.add(new Finding.Recreated(local.name(), local.sourceTopicId(), there.topicId()));
            return;
        }
        if (there.partitions() > local.partitions()) {
            findings.add(new Finding.Grown(local.name(), local.partitions(), there.partitions()));
        } else if (there.partitions() < local.partitions()) {
            findings.add(new Finding.Shrunk(local.name(), local.partitions(), there.partitions()));
        }
        String pattern = excluded.excludedBy(local.name());
        if (pattern != null && local.desired() == Desired.MIRRORING) {
            findings.add(new Finding.Excluded(local.name(), pattern));
        }
    }
}
