package io.kagami.broker.adopt;

import io.kagami.broker.cluster.ClusterReader;
import io.kagami.broker.core.adopt.SourceCatalog;
import io.kagami.broker.core.adopt.SourceLog;
import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.log.OffsetTable;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;

/** Reads the directories of a stopped Apache Kafka (KRaft) or Kagami; changes nothing in them. */
final class SourceReader {
    /** Kafka's identity of a directory. */
    static final String IDENTITY = "meta.properties";

    /** Its name once the files have been taken: no Kafka starts on what is left. */
    static final String IDENTITY_OF_ADOPTED = IDENTITY + ".adopted";

    private static final String KAGAMI_METADATA = "cluster_metadata";
    private static final int NODE_UNKNOWN = -1;

    private final List<Path> directories;
    private final Path metadata;

    private SourceReader(List<Path> directories, Path metadata) {
        this.directories = directories;
        this.metadata = metadata;
    }

    /**
     * @param directories log directories, all of them of one cluster
     * @param metadata where the metadata log is, null when it lies in one of the directories
     * @throws AdoptionFailed when one is none, is in use, or they do not belong together
     */
    static Source read(List<Path> directories, Path metadata, DirectoryLocks locks) {
        List<Path> absolute = directories.stream()
                .map(path -> path.toAbsolutePath().normalize())
                .toList();
        for (Path directory : absolute) {
            if (!Files.isDirectory(directory)) {
                throw new AdoptionFailed(directory + " is no directory");
            }
            locks.take(directory);
        }
        SourceReader reader = new SourceReader(
                absolute, metadata == null ? null : metadata.toAbsolutePath().normalize());
        try {
            return reader.read(locks);
        } catch (IOException e) {
            throw new AdoptionFailed("cannot read the directories of the other broker: " + e, e);
        }
    }

    private Source read(DirectoryLocks locks) throws IOException {
        for (Path place : places()) {
            Path log = place.endsWith(KafkaMetadataReader.DIRECTORY)
                    ? place
                    : place.resolve(KafkaMetadataReader.DIRECTORY);
            if (Files.isDirectory(log)) {
                locks.take(place);
                return kafka(log);
            }
        }
        for (Path place : places()) {
            for (Path log : List.of(place, place.resolve(KAGAMI_METADATA))) {
                if (ClusterReader.isMetadata(log)) {
                    locks.take(log);
                    return kagami(log);
                }
            }
        }
        throw new AdoptionFailed("there is no metadata log in "
                + String.join(", ", places().stream().map(Path::toString).toList())
                + ": neither " + KafkaMetadataReader.DIRECTORY + " of Apache Kafka (KRaft) nor " + KAGAMI_METADATA
                + " of Kagami. Without it nobody knows the configs and partitions of the topics. If the broker had its"
                + " metadata.log.dir elsewhere, name that with --metadata");
    }

    private List<Path> places() {
        return metadata == null ? directories : List.of(metadata);
    }

    private Source kafka(Path metadataLog) throws IOException {
        String cluster = null;
        int node = NODE_UNKNOWN;
        List<SourceLog> logs = new ArrayList<>();
        for (Path directory : directories) {
            Properties identity = identity(directory);
            String named = identity.getProperty("cluster.id");
            if (cluster != null && !cluster.equals(named)) {
                throw new AdoptionFailed(directory + " belongs to the cluster " + named + ", " + directories.get(0)
                        + " to " + cluster + ": adopt one after the other");
            }
            cluster = named;
            int owner = Integer.parseInt(identity.getProperty("node.id"));
            node = node == NODE_UNKNOWN ? owner : node;
            logs.addAll(new LogFinder(directory, owner, clean()).find());
        }
        KafkaMetadataReader.Read read = KafkaMetadataReader.read(metadataLog, clean());
        SourceCatalog catalog;
        try {
            catalog = read.metadata().catalog(cluster, node);
        } catch (IllegalArgumentException e) {
            throw new AdoptionFailed("the metadata log " + metadataLog + " contradicts itself: " + e.getMessage(), e);
        }
        List<String> strays =
                logs.stream().filter(catalog::stray).map(SourceLog::path).toList();
        if (read.torn() != null && !strays.isEmpty()) {
            throw new AdoptionFailed("the metadata log ends torn, in " + read.torn() + ", and "
                    + strays.size() + " directories are of topics that it does not know, such as " + strays.get(0)
                    + ": what would tell of them may be lost. Start that broker once and stop it, so that it settles this;"
                    + " or move those directories away to go on without them");
        }
        return new Source("Apache Kafka", directories, clean(), catalog, logs);
    }

    private static Properties identity(Path directory) throws IOException {
        Path file = directory.resolve(IDENTITY);
        if (!Files.exists(file) && Files.exists(directory.resolve(IDENTITY_OF_ADOPTED))) {
            throw new AdoptionFailed(
                    directory + " was adopted before. If it is to be a directory of Kafka again, rename "
                            + IDENTITY_OF_ADOPTED + " in it back to " + IDENTITY);
        }
        if (!Files.exists(file)) {
            throw new AdoptionFailed(directory + " has no " + IDENTITY + ": it is no log directory of a Kafka broker");
        }
        Properties identity = new Properties();
        try (Reader in = Files.newBufferedReader(file)) {
            identity.load(in);
        }
        if (!"1".equals(identity.getProperty("version"))
                || !identity.getProperty("node.id", "").matches("\\d{1,9}")
                || identity.getProperty("cluster.id") == null) {
            throw new AdoptionFailed(file + " is not that of a KRaft broker (version=1, node.id, cluster.id):"
                    + " a Kafka with ZooKeeper has to be migrated to KRaft first");
        }
        return identity;
    }

    private Source kagami(Path metadataLog) throws IOException {
        ClusterState state = ClusterReader.read(metadataLog);
        List<SourceLog> logs = new ArrayList<>();
        for (Path directory : directories) {
            logs.addAll(new LogFinder(directory, NODE_UNKNOWN, clean()).find());
        }
        Map<String, SourceCatalog.Topic> topics = new TreeMap<>();
        for (TopicImage topic : state.topics().values()) {
            List<SourceCatalog.Partition> partitions = topic.leaderEpochs().stream()
                    .map(epoch -> new SourceCatalog.Partition(
                            epoch, NODE_UNKNOWN, List.of(NODE_UNKNOWN), List.of(NODE_UNKNOWN)))
                    .toList();
            topics.put(
                    topic.name(),
                    new SourceCatalog.Topic(
                            topic.name(),
                            topic.id(),
                            partitions,
                            topic.configs(),
                            topic.mirrored() ? topic.mirror() : null));
        }
        List<String> notes = state.mirrors().isEmpty()
                ? List.of()
                : List.of("Its mirrors are not adopted: "
                        + String.join(
                                ", ", state.mirrors().keySet().stream().sorted().toList()) + ".");
        return new Source(
                "Kagami",
                directories,
                clean(),
                new SourceCatalog(state.clusterId(), topics, Set.of(), state.nextProducerId(), Map.of(), notes),
                logs);
    }

    private boolean clean() {
        return directories.stream().allMatch(directory -> Files.exists(directory.resolve(OffsetTable.CLEAN_MARK)));
    }
}
