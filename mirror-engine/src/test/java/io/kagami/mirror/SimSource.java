package io.kagami.mirror;

import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import io.kagami.protocol.client.Node;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;

/** A scripted source cluster: what its logs hold, who leads, who is up. */
final class SimSource {
    static final String CLUSTER_ID = "source-cluster";

    final Sim sim;
    final Map<Integer, Node> nodes = new TreeMap<>();
    final Set<Integer> down = new HashSet<>();
    final Map<String, SimTopic> topics = new TreeMap<>();
    String clusterId = CLUSTER_ID;
    /** Highest version of Fetch: by name and without epochs, by name, or by id. */
    int fetchVersion = 17;
    /** What a broker with lagging metadata tells. */
    ClusterMetadata old;

    /** One batch as it is on disk and on the wire. */
    static final class Batch {
        private final long base;
        private final long next;
        private final int epoch;
        private final byte[] bytes;

        Batch(long base, long next, int epoch, byte[] bytes) {
            this.base = base;
            this.next = next;
            this.epoch = epoch;
            this.bytes = bytes;
        }

        long base() {
            return base;
        }

        long next() {
            return next;
        }

        int epoch() {
            return epoch;
        }

        byte[] bytes() {
            return bytes;
        }
    }

    static final class SimTopic {
        final Uuid id = Uuid.randomUuid();
        final List<Log> partitions = new ArrayList<>();
    }

    /** The log of one partition; {@code history} is everything ever written, for the checks. */
    static final class Log {
        final TreeMap<Long, Batch> history = new TreeMap<>();
        long start;
        long end;
        int leader;
        int epoch;

        /** Largest epoch not above the one asked, and its end. */
        long[] endOfEpoch(int asked) {
            if (asked == epoch) {
                return new long[] {epoch, end};
            }
            long[] found = {-1, -1};
            if (asked > epoch) {
                return found;
            }
            for (Batch batch : history.values()) {
                if (batch.epoch() > asked) {
                    break;
                }
                found = new long[] {batch.epoch(), batch.next()};
            }
            return found;
        }
    }

    SimSource(Sim sim, int brokers) {
        this.sim = sim;
        for (int id = 1; id <= brokers; id++) {
            nodes.put(id, new Node(id, "host" + id, 9092));
        }
    }

    SimTopic create(String name, int partitions) {
        SimTopic topic = new SimTopic();
        for (int p = 0; p < partitions; p++) {
            addPartition(topic);
        }
        topics.put(name, topic);
        old = null; // stale metadata is stale on leaders only
        return topic;
    }

    void addPartition(SimTopic topic) {
        Log log = new Log();
        log.leader = 1 + sim.random.nextInt(nodes.size());
        log.epoch = sim.random.nextInt(5);
        topic.partitions.add(log);
    }

    Log randomLog() {
        List<Log> all = new ArrayList<>();
        topics.values().forEach(topic -> all.addAll(topic.partitions));
        return all.get(sim.random.nextInt(all.size()));
    }

    void produce(Log log) {
        if (sim.chance(0.1)) {
            log.end += 1 + sim.random.nextInt(5); // a hole, as compaction leaves it
        }
        SimpleRecord[] records = new SimpleRecord[1 + sim.random.nextInt(4)];
        for (int i = 0; i < records.length; i++) {
            byte[] value = new byte[sim.random.nextInt(300)];
            sim.random.nextBytes(value);
            records[i] = new SimpleRecord(sim.nowMs(), null, value);
        }
        ByteBuffer buffer = MemoryRecords.withRecords(log.end, Compression.NONE, log.epoch, records)
                .buffer();
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        Batch batch = new Batch(log.end, log.end + records.length, log.epoch, bytes);
        log.history.put(batch.base(), batch);
        log.end = batch.next();
    }

    void elect(Log log) {
        old = metadata(null);
        List<Integer> up = new ArrayList<>(nodes.keySet());
        up.removeAll(down);
        if (!up.isEmpty()) {
            log.leader = up.get(sim.random.nextInt(up.size()));
            log.epoch += 1 + (sim.chance(0.1) ? sim.random.nextInt(40) : 0);
        }
    }

    ClusterMetadata metadata(java.util.Collection<String> names) {
        Map<String, ClusterMetadata.Topic> told = new HashMap<>();
        topics.forEach((name, topic) -> {
            if (names == null || names.contains(name)) {
                List<PartitionInfo> infos = new ArrayList<>();
                for (int p = 0; p < topic.partitions.size(); p++) {
                    Log log = topic.partitions.get(p);
                    infos.add(new PartitionInfo(p, (short) 0, log.leader, log.epoch));
                }
                told.put(name, new ClusterMetadata.Topic(name, topic.id, false, (short) 0, infos));
            }
        });
        return new ClusterMetadata(clusterId, 1, nodes, told);
    }
}
