package io.kagami.broker.core.cluster;

import io.kagami.mirror.MirrorSpec;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.ports.MirrorPartition;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Map.Entry;

/** A whole {@link ClusterState} as bytes: {@code int16 version | fields}; sorted, so that equal states give equal bytes. */
public final class ClusterSnapshot {
    private static final short VERSION = 0;

    private ClusterSnapshot() {}

    public static byte[] encode(ClusterState state) {
        ByteWriter out = new ByteWriter();
        out.int16(VERSION).int64(state.index()).string(state.clusterId()).int64(state.nextProducerId());
        out.list(sorted(state.topics()), e -> write(out, e.getValue()));
        out.list(sorted(state.mirrors()), e -> out.string(e.getValue().name())
                .string(e.getValue().sourceClusterId())
                .strings(e.getValue().configs()));
        Comparator<Entry<MirrorPartition, PartitionState>> byPartition = Comparator.comparing(
                        (Entry<MirrorPartition, PartitionState> e) -> e.getKey().mirror())
                .thenComparing(e -> e.getKey().topic())
                .thenComparing(e -> e.getKey().topicId())
                .thenComparing(e -> e.getKey().partition());
        out.list(state.mirrorStates().entrySet().stream().sorted(byPartition).toList(), e -> {
            ClusterRecordCodec.write(out, e.getKey());
            ClusterRecordCodec.write(out, e.getValue());
        });
        return out.toBytes();
    }

    /** @throws IllegalStateException when the bytes are no snapshot that this program knows */
    public static ClusterState decode(byte[] bytes) {
        ByteReader in = new ByteReader(ByteBuffer.wrap(bytes));
        try {
            short version = in.int16();
            if (version != VERSION) {
                throw new IllegalStateException("the metadata snapshot has version " + version + ", this program reads "
                        + VERSION + ". A newer program wrote it: start that one.");
            }
            long index = in.int64();
            String clusterId = in.string();
            long nextProducerId = in.int64();
            List<TopicImage> topics = in.list(() -> readTopic(in));
            List<MirrorSpec> mirrors =
                    in.list(() -> new MirrorSpec(in.string(), in.string(), Map.copyOf(in.strings())));
            Map<MirrorPartition, PartitionState> states = new HashMap<>();
            in.list(() -> states.put(ClusterRecordCodec.readPartition(in), ClusterRecordCodec.readState(in)));
            return ClusterState.of(index, clusterId, topics, mirrors, states, nextProducerId);
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new IllegalStateException("the metadata snapshot cannot be read: " + e, e);
        }
    }

    private static <V> List<Entry<String, V>> sorted(Map<String, V> map) {
        return map.entrySet().stream().sorted(Entry.comparingByKey()).toList();
    }

    private static void write(ByteWriter out, TopicImage topic) {
        out.string(topic.name()).uuid(topic.id()).int64(topic.incarnation());
        out.list(topic.leaderEpochs(), out::int32).strings(topic.configs());
        out.string(topic.mirror()).int8(ClusterRecordCodec.desiredValue(topic.desired()));
        out.uuid(topic.sourceTopicId());
    }

    private static TopicImage readTopic(ByteReader in) {
        return new TopicImage(
                in.string(),
                in.uuid(),
                in.int64(),
                List.copyOf(in.list(in::int32)),
                Map.copyOf(in.strings()),
                in.string(),
                ClusterRecordCodec.desired(in.int8()),
                in.uuid());
    }
}
