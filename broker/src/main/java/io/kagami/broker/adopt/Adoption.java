package io.kagami.broker.adopt;

import io.kagami.broker.cluster.RaftCluster;
import io.kagami.broker.core.adopt.Journal;
import io.kagami.broker.core.adopt.Journal.Way;
import io.kagami.broker.core.cluster.ClusterRecord;
import io.kagami.broker.core.cluster.ClusterRecord.TopicCreated;
import io.kagami.log.DirectoryNames;
import io.kagami.log.LogName;
import io.kagami.log.OffsetTable;
import io.kagami.log.disk.Checkpoint;
import io.kagami.log.disk.DiskFile;
import io.kagami.log.disk.FileDisk;
import io.kagami.log.disk.FileReason;
import io.kagami.log.segment.FileNames;
import io.kagami.mirror.ports.LocalCluster.Refused;
import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.InstantSource;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;

/**
 * Carries out a {@link Journal}. It lies in the data directory from before the first step until after the last one, and every step finds
 * out by itself whether it has been done: so after a crash at any moment the same command goes on, and meanwhile no broker starts there.
 * First come the files, then the metadata: a topic that is registered has all its logs.
 */
public final class Adoption {
    /** In the data directory while an adoption is not finished. */
    public static final String JOURNAL = "kagami.adoption";

    private static final int JOURNAL_BYTES_MAX = 256 << 20;
    private static final String CLEAN_MARK_TEXT = "{\"version\":0,\"brokerEpoch\":-1}\n";

    private final FileDisk disk = new FileDisk();
    private final Path target;
    private final Path metadata;
    private final int nodeId;
    private final String clusterId;
    private final InstantSource clock;
    private final Consumer<String> progress;

    /**
     * @param target the data directory
     * @param clusterIdOrNull as for {@link RaftCluster#start}
     * @param progress told what comes next, before each step
     */
    Adoption(
            Path target,
            Path metadata,
            int nodeId,
            String clusterIdOrNull,
            InstantSource clock,
            Consumer<String> progress) {
        this.target = target;
        this.metadata = metadata;
        this.nodeId = nodeId;
        this.clusterId = clusterIdOrNull;
        this.clock = clock;
        this.progress = progress;
    }

    /**
     * The adoption that was begun in a data directory and has not been finished.
     *
     * @throws AdoptionFailed when there is one that cannot be read
     */
    public static Optional<Journal> pending(Path directory) {
        Path file = directory.resolve(JOURNAL);
        if (!Files.exists(file)) {
            return Optional.empty();
        }
        try {
            FileDisk disk = new FileDisk();
            return Optional.of(Journal.parse(
                    new String(disk.readAll(file, JOURNAL_BYTES_MAX), java.nio.charset.StandardCharsets.UTF_8)));
        } catch (IOException | IllegalArgumentException | IllegalStateException e) {
            throw new AdoptionFailed(
                    "the journal of an adoption, " + file + ", cannot be read: " + FileReason.of(e), e);
        }
    }

    /**
     * For the start of a broker.
     *
     * @throws AdoptionFailed when an adoption in this directory has not been finished
     */
    public static void refuseUnfinished(Path directory) {
        pending(directory).ifPresent(journal -> {
            throw new AdoptionFailed("an adoption of " + String.join(" ", journal.sources()) + " into " + directory
                    + " was not finished. Finish it: kagami storage adopt " + String.join(" ", journal.sources())
                    + " --config FILE --yes. Or give it up: delete " + directory.resolve(JOURNAL)
                    + "; what has been taken over is then renamed to *-stray");
        });
    }

    /** Begins; from here on the adoption is either finished or found unfinished. */
    void begin(Journal journal) {
        step("writing down what is to be done", () -> {
            disk.createDirectory(target);
            Checkpoint.writeText(disk, target.resolve(JOURNAL), journal.toText());
        });
    }

    /** Does what is not done yet. */
    void finish(Journal journal) {
        step("noting how the logs were stopped", () -> settleCleanMark(journal));
        for (Journal.Log log : journal.logs()) {
            step((journal.way() == Way.COPY ? "copying " : "taking ") + log.name(), () -> take(journal, log));
        }
        step("noting where the logs start", () -> mergeOffsets(journal));
        register(journal);
        if (journal.way() == Way.MOVE) {
            step("disarming the old broker", () -> disarm(journal));
        }
        step("done", () -> {
            disk.delete(target.resolve(JOURNAL));
            disk.forceDirectory(target);
        });
    }

    private interface Work {
        void run() throws IOException;
    }

    private void step(String what, Work work) {
        progress.accept(what);
        try {
            work.run();
        } catch (IOException e) {
            throw new AdoptionFailed(
                    "failed while " + what + ": " + e
                            + ". Nothing is lost: remove the cause, and run the command again",
                    e);
        }
    }

    /** One mark stands for all logs of the directory: it may be there only if those that come and those that are here were stopped well. */
    private void settleCleanMark(Journal journal) throws IOException {
        Path mark = target.resolve(OffsetTable.CLEAN_MARK);
        if (!journal.clean()) {
            disk.delete(mark);
            disk.forceDirectory(target);
        } else if (!disk.exists(mark) && !hasLogs()) {
            Checkpoint.writeText(disk, mark, CLEAN_MARK_TEXT);
        }
    }

    private boolean hasLogs() throws IOException {
        return disk.list(target).stream()
                .anyMatch(child ->
                        DirectoryNames.parse(child.getFileName().toString()).isPresent());
    }

    private void take(Journal journal, Journal.Log log) throws IOException {
        Path from = Path.of(log.path());
        Path to = target.resolve(log.name());
        if (Files.isDirectory(to)) {
            Uuid there =
                    DirectoryNames.readTopicId(disk, to).map(Adoption::fromJava).orElse(Uuid.ZERO_UUID);
            if (!there.equals(log.topicId())) {
                throw new IOException(to + " is of another topic, with id " + there);
            }
        } else if (journal.way() == Way.COPY) {
            new DirectoryCopy(disk).copy(from, to);
        } else {
            try {
                Files.move(from, to, StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) {
                throw new IOException(
                        from + " is on another file system than " + target
                                + ". To give up and copy instead: delete " + target.resolve(JOURNAL)
                                + ", move back what was moved, and adopt without --move",
                        e);
            }
            disk.forceDirectory(target);
            disk.forceDirectory(from.getParent());
        }
        if (journal.way() == Way.MOVE && !journal.clean()) {
            forceLogs(to); // the recovery point says that they are on the disk
        }
    }

    private void forceLogs(Path directory) throws IOException {
        for (Path file : disk.list(directory)) {
            if (FileNames.baseOffset(file, FileNames.LOG).isPresent()) {
                try (DiskFile log = disk.open(file)) {
                    log.force();
                }
            }
        }
    }

    private void mergeOffsets(Journal journal) throws IOException {
        Path pointsFile = target.resolve(OffsetTable.RECOVERY_POINTS);
        Path startsFile = target.resolve(OffsetTable.START_OFFSETS);
        Map<LogName, Long> points = OffsetTable.read(disk, pointsFile);
        Map<LogName, Long> starts = OffsetTable.read(disk, startsFile);
        for (Journal.Log log : journal.logs()) {
            LogName name = new LogName(log.topic(), log.partition());
            points.put(name, log.recoveryPoint());
            if (log.startOffset() > 0) {
                starts.put(name, log.startOffset());
            }
        }
        OffsetTable.write(disk, pointsFile, points);
        OffsetTable.write(disk, startsFile, starts);
    }

    private void register(Journal journal) {
        progress.accept("registering the topics");
        try (RaftCluster cluster = RaftCluster.start(metadata, nodeId, clusterId, clock)) {
            for (ClusterRecord record : journal.records()) {
                if (record instanceof TopicCreated topic
                        && cluster.image().topic(topic.id()).isPresent()) {
                    continue;
                }
                if (record instanceof TopicCreated topic) {
                    progress.accept("registering " + topic.name());
                }
                cluster.change(record).toCompletableFuture().join();
            }
        } catch (CompletionException e) {
            String why = e.getCause() instanceof Refused ? e.getCause().getMessage() : String.valueOf(e.getCause());
            throw new AdoptionFailed("a topic cannot be registered: " + why, e);
        }
    }

    /** A Kafka that was started on what is left would make empty logs of the same topics; without its identity it refuses to start. */
    private void disarm(Journal journal) throws IOException {
        for (String source : journal.sources()) {
            Path identity = Path.of(source).resolve(SourceReader.IDENTITY);
            if (disk.exists(identity)) {
                disk.rename(identity, identity.resolveSibling(SourceReader.IDENTITY_OF_ADOPTED));
                disk.forceDirectory(identity.getParent());
            }
        }
    }

    private static Uuid fromJava(UUID id) {
        return new Uuid(id.getMostSignificantBits(), id.getLeastSignificantBits());
    }
}
