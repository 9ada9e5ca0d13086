package io.kagami.broker.adopt;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.broker.cluster.ClusterReader;
import io.kagami.broker.core.adopt.AdoptionPlan;
import io.kagami.broker.core.adopt.Journal;
import io.kagami.broker.core.adopt.KafkaMetadata;
import io.kagami.broker.core.cluster.ClusterState;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.log.LogName;
import io.kagami.log.OffsetTable;
import io.kagami.log.disk.FileDisk;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The command on made-up partition directories beside the metadata log of a real Kafka 4.4.0, which has the topic t of 3 partitions. */
class AdoptionTest {
    private static final String METADATA = "__cluster_metadata-0";

    @TempDir
    private Path dir;

    private Path source;
    private Path target;
    private Path config;

    /** The crash. */
    private static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    private record Ran(int code, String out, String err) {}

    @BeforeEach
    void aStoppedKafka() throws Exception {
        source = Files.createDirectories(dir.resolve("kafka"));
        target = dir.resolve("kagami");
        config = dir.resolve("kagami.properties");
        Files.writeString(config, "log.dirs=" + target + "\nmetrics.listener=\n");
        fillSource();
    }

    private void fillSource() throws Exception {
        Path resource = Path.of(AdoptionTest.class
                        .getResource("/kafka-4.4.0/" + METADATA + "/00000000000000000000.log")
                        .toURI())
                .getParent();
        Files.createDirectories(source.resolve(METADATA));
        try (Stream<Path> files = Files.list(resource)) {
            for (Path file : files.toList()) {
                Files.copy(
                        file,
                        source.resolve(METADATA).resolve(file.getFileName().toString()));
            }
        }
        Files.writeString(source.resolve("meta.properties"), "version=1\nnode.id=1\ncluster.id=theirs\n");
        Files.writeString(source.resolve(".kafka_cleanshutdown"), "{\"version\":0,\"brokerEpoch\":13}");
        Files.writeString(source.resolve("recovery-point-offset-checkpoint"), "0\n3\nt 0 5\nt 1 5\nt 2 5\n");
        Files.writeString(source.resolve("log-start-offset-checkpoint"), "0\n1\nt 1 2\n");
        for (int i = 0; i < 3; i++) {
            Path log = Files.createDirectories(source.resolve("t-" + i));
            Files.writeString(log.resolve("partition.metadata"), "version: 0\ntopic_id: " + topicId());
            Files.writeString(log.resolve("leader-epoch-checkpoint"), "0\n1\n" + (3 + i) + " 0\n");
            Files.write(log.resolve("00000000000000000000.log"), batch(0, "value " + i, 5));
        }
    }

    private String topicId() {
        KafkaMetadata metadata =
                KafkaMetadataReader.read(source.resolve(METADATA), true).metadata();
        return metadata.catalog("c", 1).topics().get("t").id().toString();
    }

    private static byte[] batch(long offset, String value) {
        return batch(offset, value, 1);
    }

    private static byte[] batch(long offset, String value, int records) {
        BatchBuilder builder = new BatchBuilder(Codec.NONE).baseOffset(offset).leaderEpoch(3);
        for (int i = 0; i < records; i++) {
            builder.append(1_000, null, value.getBytes(StandardCharsets.UTF_8));
        }
        return bytes(builder.build());
    }

    private static byte[] bytes(ByteBuffer batch) {
        byte[] bytes = new byte[batch.remaining()];
        batch.get(bytes);
        return bytes;
    }

    private Ran run(String... args) {
        ByteArrayOutputStream out = new ByteArrayOutputStream();
        ByteArrayOutputStream err = new ByteArrayOutputStream();
        List<String> all = new ArrayList<>(List.of("adopt", source.toString(), "--config", config.toString()));
        all.addAll(List.of(args));
        int code = StorageCommand.run(
                all.toArray(String[]::new),
                new PrintStream(out, true, StandardCharsets.UTF_8),
                new PrintStream(err, true, StandardCharsets.UTF_8));
        return new Ran(code, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    private static Map<String, String> tree(Path root) throws IOException {
        Map<String, String> tree = new TreeMap<>();
        try (Stream<Path> all = Files.walk(root)) {
            for (Path file : all.filter(Files::isRegularFile).toList()) {
                tree.put(root.relativize(file).toString(), Files.readString(file, StandardCharsets.ISO_8859_1));
            }
        }
        return tree;
    }

    private void assertAdopted(Map<String, String> theirs) throws IOException {
        Map<String, String> ours = tree(target);
        theirs.forEach((name, text) -> {
            if (name.startsWith("t-")) {
                assertThat(ours).containsEntry(name, text);
            }
        });
        assertThat(ours).doesNotContainKey(Adoption.JOURNAL).containsKey(OffsetTable.CLEAN_MARK);
        assertThat(ours.keySet()).noneMatch(name -> name.contains(".adopting"));
        FileDisk disk = new FileDisk();
        assertThat(OffsetTable.read(disk, target.resolve(OffsetTable.RECOVERY_POINTS)))
                .containsEntry(new LogName("t", 2), 5L)
                .hasSize(3);
        assertThat(OffsetTable.read(disk, target.resolve(OffsetTable.START_OFFSETS)))
                .isEqualTo(Map.of(new LogName("t", 1), 2L));
        TopicImage topic =
                ClusterReader.read(target.resolve("cluster_metadata")).topics().get("t");
        assertThat(topic.id().toString()).isEqualTo(topicId());
        assertThat(topic.leaderEpochs()).containsExactly(4, 5, 6);
        assertThat(topic.configs()).isEqualTo(Map.of("cleanup.policy", "compact", "retention.ms", "99"));
    }

    @Test
    void thePlanOfARealMetadataLogIsPrintedAndNothingChanges() throws IOException {
        Map<String, String> before = tree(source);
        Ran plan = run();
        assertThat(plan.code()).as(plan.err()).isZero();
        assertThat(plan.out())
                .contains("Apache Kafka, cluster theirs, stopped cleanly")
                .containsPattern("t +3 +\\d+ +adopt")
                .contains("--old-config")
                .contains("Nothing has been changed.");
        assertThat(tree(source)).isEqualTo(before);
        assertThat(target).doesNotExist();
    }

    @Test
    void aSecondRunFindsNothingToDo() throws IOException {
        Map<String, String> before = tree(source);
        assertThat(run("--yes").code()).isZero();
        assertThat(tree(source)).isEqualTo(before);
        assertAdopted(before);
        assertThat(run("--yes").out()).contains("it is here already", "There is nothing to adopt.");
    }

    @ParameterizedTest
    @EnumSource
    void afterACrashBeforeAnyStepTheSameCommandGoesOn(Journal.Way way) throws Exception {
        Map<String, String> before = tree(source);
        String[] args = way == Journal.Way.MOVE ? new String[] {"--move", "--yes"} : new String[] {"--yes"};
        int steps = 0;
        boolean done = false;
        while (!done) {
            wipe(source);
            wipe(target);
            fillSource();
            done = !crashBefore(steps, way);
            if (!done && steps > 0) {
                assertThatThrownBy(() -> Adoption.refuseUnfinished(target))
                        .isInstanceOf(AdoptionFailed.class)
                        .hasMessageContaining("was not finished");
                assertThat(run().out()).contains("was begun here and not finished", "Nothing has been changed.");
            }
            Ran resumed = run(args);
            assertThat(resumed.code())
                    .as("after a crash before step %s: %s", steps, resumed.err())
                    .isEqualTo(done && way == Journal.Way.MOVE ? 1 : 0);
            if (way == Journal.Way.MOVE) {
                assertThat(source.resolve("meta.properties")).doesNotExist();
                assertThat(source.resolve("t-0")).doesNotExist();
                Files.move(source.resolve("meta.properties.adopted"), source.resolve("meta.properties"));
            }
            assertAdopted(before);
            Adoption.refuseUnfinished(target);
            steps++;
        }
        assertThat(steps).as("steps").isGreaterThan(7);
    }

    /** False when there are not that many steps. */
    private boolean crashBefore(int step, Journal.Way way) {
        AtomicInteger left = new AtomicInteger(step);
        Adoption adoption =
                new Adoption(target, target.resolve("cluster_metadata"), 1, null, InstantSource.system(), what -> {
                    if (left.getAndDecrement() == 0) {
                        throw new Killed();
                    }
                });
        try (DirectoryLocks locks = new DirectoryLocks()) {
            Source read = SourceReader.read(List.of(source), null, locks);
            Journal journal = new Journal(
                    way,
                    List.of(source.toString()),
                    read.clean(),
                    plan(read).logs(),
                    plan(read).records());
            adoption.begin(journal);
            adoption.finish(journal);
            return false;
        } catch (Killed e) {
            return true;
        }
    }

    private static AdoptionPlan plan(Source read) {
        return AdoptionPlan.make(read.catalog(), read.logs(), Map.of(), new AdoptionPlan.Target() {
            @Override
            public ClusterState state() {
                return ClusterState.EMPTY;
            }

            @Override
            public Optional<String> problem(Map<String, String> configs) {
                return Optional.empty();
            }

            @Override
            public boolean occupied(String directory, String sourcePath) {
                return false;
            }
        });
    }

    private static void wipe(Path root) throws IOException {
        if (Files.exists(root)) {
            try (Stream<Path> all = Files.walk(root)) {
                for (Path path : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
                    Files.delete(path);
                }
            }
        }
    }

    @Test
    void theDirectoryOfTheKafkaMayBeThatOfTheKagami() throws IOException {
        Map<String, String> before = tree(source);
        target = source;
        Files.writeString(config, "log.dirs=" + target + "\nmetrics.listener=\n");
        assertThat(run("--yes").out()).contains("Adopted files stay in");
        assertAdopted(before);
        assertThat(run("--yes").code())
                .as("its identity is gone, so that Kafka does not start on it")
                .isOne();
    }

    @Test
    void aLivingBrokerIsNotTouched() {
        try (DirectoryLocks living = new DirectoryLocks()) {
            living.take(source);
            Ran refused = run("--yes");
            assertThat(refused.code()).isOne();
            assertThat(refused.err()).contains("is in use: a broker holds its lock file");
        }
    }

    @Test
    void whatIsNoDirectoryOfABrokerIsRefusedWithAReason() throws IOException {
        Files.delete(source.resolve("meta.properties"));
        assertThat(run().err()).contains("has no meta.properties");
        Files.writeString(source.resolve("meta.properties"), "version=0\nbroker.id=1\n");
        assertThat(run().err()).contains("migrated to KRaft");
        wipe(source.resolve(METADATA));
        assertThat(run().err()).contains("there is no metadata log in").contains("--metadata");
        wipe(source);
        assertThat(run().err()).contains("is no directory");
        assertThat(run("--fast").code()).isEqualTo(2);
        assertThat(run("--metadata").code()).isEqualTo(2);
    }

    @Test
    void aTornEndOfTheMetadataLogIsAcceptedAfterACrashAndNotAfterACleanStop() throws IOException {
        Path log = source.resolve(METADATA).resolve("00000000000000000000.log");
        byte[] bytes = Files.readAllBytes(log);
        Files.write(log, java.util.Arrays.copyOf(bytes, bytes.length - 3));
        assertThat(run().err()).contains("the metadata log is damaged in " + log, "position", "stopped cleanly");
        Files.delete(source.resolve(".kafka_cleanshutdown"));
        assertThat(run().code()).isZero();
        Path unknown = Files.createDirectories(source.resolve("unknown-0"));
        Files.writeString(unknown.resolve("partition.metadata"), "version: 0\ntopic_id: AAAAAAAAAAcAAAAAAAAABw");
        Files.write(unknown.resolve("00000000000000000000.log"), batch(0, "x"));
        assertThat(run().err()).contains("ends torn", unknown.toString());
        Files.write(log, bytes);
        assertThat(run().out()).containsPattern("left +stray: the metadata knows no such topic");
        Files.write(source.resolve(METADATA).resolve("00000000000000009999.log"), batch(9999, "x"));
        assertThat(run().err()).contains("a batch has offset 9999 where");
    }

    /** Any byte of any batch but the last one: what is behind it would be missing without a word. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void damageInTheMiddleOfTheMetadataLogIsRefusedAndNamed(boolean clean) throws IOException {
        Path log = source.resolve(METADATA).resolve("00000000000000000000.log");
        byte[] bytes = Files.readAllBytes(log);
        if (!clean) {
            Files.delete(source.resolve(".kafka_cleanshutdown"));
        }
        int last = 0;
        List<Integer> epochs = new ArrayList<>(); // leader epochs: no checksum covers them, and nobody reads them
        for (int at = 0; at < bytes.length; at += 12 + ByteBuffer.wrap(bytes).getInt(at + 8)) {
            last = at;
            epochs.addAll(List.of(at + 12, at + 13, at + 14, at + 15));
        }
        for (int at = 0; at < last; at += 13) {
            if (epochs.contains(at)) {
                continue;
            }
            byte[] damaged = bytes.clone();
            damaged[at] ^= (byte) 0x55;
            Files.write(log, damaged);
            Ran ran = run();
            assertThat(ran.code()).as("byte %s", at).isEqualTo(1);
            assertThat(ran.err()).as("byte %s", at).contains(log.toString(), "position");
        }
    }

    @Test
    void aSnapshotThatIsDamagedOrCutIsRefused() throws IOException {
        Path snapshot = source.resolve(METADATA).resolve("00000000000000000000-0000000000.checkpoint");
        byte[] bytes = Files.readAllBytes(snapshot);
        byte[] damaged = bytes.clone();
        damaged[bytes.length / 2] ^= 1;
        Files.write(snapshot, damaged);
        assertThat(run().err()).contains("the metadata snapshot " + snapshot + " is damaged at position");
        Files.write(
                snapshot,
                java.util.Arrays.copyOf(bytes, 12 + ByteBuffer.wrap(bytes).getInt(8)));
        assertThat(run().err()).contains(snapshot + " is damaged", "its end is missing");
    }

    @Test
    void aPartitionWithoutSegmentsThatSomethingTellsOfIsRefused() throws IOException {
        Path log = source.resolve("t-1");
        Path first = log.resolve("00000000000000000000.log");
        Path index = log.resolve("00000000000000000000.index");
        Files.write(index, new byte[8]);
        Files.move(first, log.resolve("kept"));
        assertThat(run().out())
                .containsPattern("refused +partition 1 has no segment at all, although offsets up to 5 were once known")
                .contains(log.toString(), "There is nothing to adopt.");
        Files.writeString(source.resolve("recovery-point-offset-checkpoint"), "0\n0\n");
        Files.delete(source.resolve("log-start-offset-checkpoint"));
        assertThat(run().out()).contains("partition 1 has no segment at all, although it has " + index.getFileName());
        Files.write(log.resolve("00000000000000000005.log"), batch(5, "x"));
        assertThat(run().out()).contains("partition 1 has " + index.getFileName() + " and not the segment");
        Files.delete(index);
        assertThat(run().out()).containsPattern("t +3 +\\d+ +adopt");
        Files.writeString(source.resolve("log-start-offset-checkpoint"), "0\n1\nt 1 2\n");
        assertThat(run().out())
                .contains("partition 1 begins at offset 5, although its log start was written down as 2");
        Files.delete(log.resolve("00000000000000000005.log"));
        Files.write(first, batch(0, "x", 3));
        Files.writeString(source.resolve("recovery-point-offset-checkpoint"), "0\n1\nt 1 4\n");
        assertThat(run().out()).contains("partition 1 ends at offset 3, although everything below 4 was once known");
    }

    @Test
    void aDirectoryOnItsWayOutIsLeft() throws IOException {
        Files.createDirectories(source.resolve("t-0.0123456789abcdef0123456789abcdef-delete"));
        Ran ran = run();
        assertThat(ran.code()).isZero();
        assertThat(ran.out()).containsPattern("-delete +1 +0 +left +it was being deleted");
    }

    @Test
    void aSegmentOnItsWayOutLeavesNoGap() throws IOException {
        Path log = source.resolve("t-0");
        Files.write(log.resolve("00000000000000000005.log"), batch(5, "x"));
        Files.move(log.resolve("00000000000000000000.log"), log.resolve("00000000000000000000.log.deleted"));
        Files.write(log.resolve("00000000000000000000.index"), new byte[8]);
        assertThat(run().out()).containsPattern("t +3 +\\d+ +adopt");
    }

    @Test
    void anOpenTransactionIsFoundInTheBatchesAndNamed() throws IOException {
        Path log = source.resolve("t-2").resolve("00000000000000000000.log");
        ByteBuffer open = new BatchBuilder(Codec.NONE)
                .baseOffset(5)
                .producer(77, (short) 2, 0)
                .append(1_000, null, new byte[1])
                .build();
        byte[] transactional = bytes(open);
        ByteBuffer.wrap(transactional).putShort(21, (short) 0x10);
        java.util.zip.CRC32C crc = new java.util.zip.CRC32C();
        crc.update(transactional, 21, transactional.length - 21);
        ByteBuffer.wrap(transactional).putInt(17, (int) crc.getValue());
        Files.write(log, transactional, java.nio.file.StandardOpenOption.APPEND);
        assertThat(run().out())
                .contains(
                        "In t-2 a transaction of producer id 77 is open from offset 5 on, since 1970-01-01T00:00:01Z");
    }

    @Test
    void theOldBrokersDefaultsAreKeptWhereOursDiffer() throws IOException {
        Path old = dir.resolve("server.properties");
        Files.writeString(old, "log.retention.hours=2\nlog.segment.bytes=1073741824\nlog.roll.ms=77\nauthor=me\n");
        Ran ran = run("--old-config", old.toString(), "--yes");
        assertThat(ran.out()).contains("{retention.ms=7200000, segment.ms=77}");
        assertThat(ClusterReader.read(target.resolve("cluster_metadata"))
                        .topics()
                        .get("t")
                        .configs())
                .isEqualTo(Map.of("cleanup.policy", "compact", "retention.ms", "99", "segment.ms", "77"));
        Files.writeString(old, "log.retention.hours=soon\n");
        assertThat(run("--old-config", old.toString()).err()).contains("log.retention.hours=soon");
    }

    @Test
    void afterACrashOfTheirsTheRecoveryPointPassesWholeSegmentsAndStopsAtADamagedOne() throws IOException {
        Path log = source.resolve("t-0");
        Files.write(log.resolve("00000000000000000007.log"), batch(7, "behind a hole"));
        Files.write(log.resolve("00000000000000000009.log"), batch(9, "last"));
        assertThat(new TailCheck(new FileDisk(), log).wholeUpTo(0)).isEqualTo(9);
        byte[] bytes = batch(7, "behind a hole");
        bytes[bytes.length - 1] ^= 1;
        Files.write(log.resolve("00000000000000000007.log"), bytes);
        assertThat(new TailCheck(new FileDisk(), log).wholeUpTo(0)).isEqualTo(7);
        assertThat(new TailCheck(new FileDisk(), log).wholeUpTo(9)).isEqualTo(9);
    }
}
