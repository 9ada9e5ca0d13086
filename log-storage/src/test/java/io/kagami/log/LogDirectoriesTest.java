package io.kagami.log;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.kagami.log.FaultyDisk.Op;
import io.kagami.log.LogDirectory.NewLog;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Several data directories: where logs go, and that one that fails takes none but its own logs with it. */
class LogDirectoriesTest {
    private static final UUID ID = new UUID(1, 2);

    @TempDir
    Path parent;

    private final FaultyDisk disk = new FaultyDisk();
    private Path a;
    private Path b;
    private LogDirectories logs;
    private long nowMs = InstantSource.system().millis();

    @BeforeEach
    void paths() {
        a = parent.resolve("a");
        b = parent.resolve("b");
    }

    @AfterEach
    void close() {
        disk.broken = (op, path) -> false;
        disk.released.countDown();
        if (logs != null) {
            logs.close();
        }
    }

    private LogDirectories open() {
        logs = LogDirectories.open(disk, List.of(a, b), name -> LogOptions.DEFAULT, InstantSource.system(), 2);
        return logs;
    }

    private static LogName name(int partition) {
        return new LogName("t", partition);
    }

    private PartitionLog log(int partition) {
        return logs.get(name(partition)).orElseThrow();
    }

    private static ByteBuffer two(long offset) {
        return batch().offset(offset).records(2).valueBytes(50).build();
    }

    private void fill(int partitions) {
        for (int i = 0; i < partitions; i++) {
            logs.create(name(i), ID, LogOptions.DEFAULT).appendMirrored(two(0));
        }
    }

    /** Housekeeping, until it has done it. */
    private void healUntil(int partition, boolean online) {
        await().untilAsserted(() -> {
            nowMs += 20_000;
            logs.heal(nowMs);
            assertThat(logs.get(name(partition)).filter(log -> log.offline() != online))
                    .isPresent();
        });
    }

    private static List<String> logsIn(Path directory) throws IOException {
        try (Stream<Path> children = Files.list(directory)) {
            return children.map(child -> child.getFileName().toString())
                    .filter(child -> child.startsWith("t-"))
                    .sorted()
                    .toList();
        }
    }

    @Test
    void aNewLogGoesWhereTheFewestAre() throws IOException {
        open();
        fill(4);
        assertThat(logsIn(a)).containsExactly("t-0", "t-2");
        assertThat(logsIn(b)).containsExactly("t-1", "t-3");
        logs.delete(name(1));
        logs.delete(name(3));
        logs.create(name(9), ID, LogOptions.DEFAULT);
        assertThat(logsIn(b)).containsExactly("t-9");
    }

    private void createTogether(int logsWanted) {
        logs.createAll(IntStream.range(0, logsWanted)
                .mapToObj(i -> new NewLog(name(i), ID, LogOptions.DEFAULT))
                .toList());
    }

    @Test
    void logsThatAreCreatedTogetherSpreadAndAreFoundAgain() throws IOException {
        open();
        createTogether(100);
        assertThat(logsIn(a)).hasSize(50);
        assertThat(logsIn(b)).hasSize(50);
        for (int i = 0; i < 100; i++) {
            log(i).appendMirrored(two(0));
        }
        logs.close();
        open();
        for (int i = 0; i < 100; i++) {
            assertThat(log(i).view().endOffset()).isEqualTo(2);
            assertThat(log(i).topicId()).isEqualTo(ID);
        }
    }

    @Test
    void namesOfLogsThatAreCreatedTogetherAreForcedOnceAndLast() {
        open();
        List<String> forced = Collections.synchronizedList(new ArrayList<>());
        disk.broken = (op, path) -> {
            if (op == Op.FORCE_DIRECTORY || op == Op.FORCE) {
                forced.add(a.equals(path) || b.equals(path) ? "root" : "log");
            }
            return false;
        };
        createTogether(20);
        // the file of the identity and the directory it is in
        assertThat(forced).hasSize(42).filteredOn("root"::equals).hasSize(2);
    }

    @Test
    void aDirectoryThatTakesNoNamesKeepsNothingOfLogsThatAreCreatedTogether() throws IOException {
        open();
        disk.broken = (op, path) -> op == Op.FORCE_DIRECTORY && path.equals(a);
        createTogether(10);
        assertThat(logsIn(a)).isEmpty();
        assertThat(logsIn(b)).hasSize(5);
        assertThat(logs.logs()).hasSize(5).noneMatch(PartitionLog::offline);
        assertThat(logs.get(name(0))).isEmpty();
        logs.create(name(0), ID, LogOptions.DEFAULT).appendMirrored(two(0));
        assertThat(logsIn(b)).hasSize(6);
        disk.broken = (op, path) -> false;
    }

    @Test
    void oneLogThatCannotBeCreatedKeepsNoOtherFromIt() throws IOException {
        open();
        disk.broken = (op, path) -> op == Op.RENAME && path.getParent().endsWith("t-3");
        createTogether(10);
        assertThat(logs.get(name(3))).isEmpty();
        assertThat(logs.logs()).hasSize(9);
        disk.broken = (op, path) -> false;
        assertThat(logs.create(name(3), ID, LogOptions.DEFAULT).offline()).isFalse();
    }

    /** One after another would not end well here: each of the first waits for the others. */
    @Test
    void aStopClosesSeveralLogsAtTheSameTime() {
        open();
        createTogether(16);
        for (int i = 0; i < 16; i++) {
            log(i).appendMirrored(two(0));
        }
        CountDownLatch four = new CountDownLatch(4);
        disk.broken = (op, path) -> {
            if (op == Op.FORCE && path.startsWith(a) && path.toString().endsWith(".log")) {
                four.countDown();
                return !awaited(four);
            }
            return false;
        };
        logs.close();
        assertThat(a.resolve(FileLogDirectory.CLEAN)).exists();
        assertThat(b.resolve(FileLogDirectory.CLEAN)).exists();
        logs = null;
    }

    private static boolean awaited(CountDownLatch latch) {
        try {
            return latch.await(10, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Test
    void eachDirectoryHasItsOwnMarkOfACleanStop() throws IOException {
        open();
        fill(2);
        disk.broken = (op, path) -> op == Op.FORCE && path.startsWith(b);
        assertThatThrownBy(() -> logs.close()).isInstanceOf(StorageFault.class).hasMessageContaining(b.toString());
        assertThat(a.resolve(FileLogDirectory.CLEAN)).exists();
        assertThat(b.resolve(FileLogDirectory.CLEAN)).doesNotExist();
        disk.broken = (op, path) -> false;
        open();
        assertThat(log(0).view().endOffset()).isEqualTo(2);
        assertThat(log(1).view().endOffset()).isEqualTo(2);
    }

    @Test
    void aDirectoryThatCannotBeReadAtStartTakesItsLogsAloneAndComesBackByItself() {
        open();
        fill(2);
        logs.close();
        disk.broken = (op, path) -> op == Op.LIST && path.equals(b);
        open();
        assertThat(log(0).offline()).isFalse();
        assertThat(logs.get(name(1))).isEmpty();
        assertThat(logs.incomplete().orElseThrow()).contains(b.toString()).contains("Input/output error");
        assertThat(logs.create(name(2), ID, LogOptions.DEFAULT).offline()).isFalse();
        disk.broken = (op, path) -> false;
        healUntil(1, true);
        assertThat(log(1).view().endOffset()).isEqualTo(2);
        assertThat(logs.incomplete()).isEmpty();
    }

    @Test
    void aDirectoryThatIsNotMountedIsNotCreatedAnewBesideOneInUse() throws IOException {
        open();
        fill(2);
        logs.close();
        Path away = parent.resolve("away");
        Files.move(b, away);
        open();
        assertThat(b).doesNotExist();
        assertThat(logs.incomplete().orElseThrow()).contains("does not exist").contains("mount it");
        Files.move(away, b);
        healUntil(1, true);
        assertThat(log(1).view().endOffset()).isEqualTo(2);
    }

    @Test
    void whenNoDirectoryIsLeftTheReasonOfEachIsTold() {
        disk.broken = (op, path) -> op == Op.LIST;
        assertThatThrownBy(this::open)
                .isInstanceOf(StorageFault.class)
                .hasMessageContaining(a.toString())
                .hasMessageContaining(b.toString())
                .hasMessageContaining("Input/output error");
    }

    @Test
    void aLogInTwoDirectoriesIsUsedInNeitherAndBothPlacesAreNamed() throws IOException {
        open();
        fill(2);
        logs.close();
        Path copy = Files.createDirectory(b.resolve("t-0"));
        try (Stream<Path> files = Files.list(a.resolve("t-0"))) {
            for (Path file : files.toList()) {
                Files.copy(file, copy.resolve(file.getFileName()));
            }
        }
        open();
        assertThat(log(0).offline()).isTrue();
        assertThat(log(0).fault().orElseThrow())
                .hasMessageContaining(a.toString())
                .hasMessageContaining(b.toString());
        assertThat(log(1).offline()).isFalse();
        nowMs += 100_000;
        logs.heal(nowMs);
        assertThat(log(0).offline()).isTrue();
    }

    @Test
    void aDirectoryThatVanishesWhileInUseTakesItsLogsOfflineAndComesBack() throws IOException {
        open();
        fill(2);
        PartitionLog old = log(1);
        old.force();
        Path away = parent.resolve("away");
        Files.move(b, away);
        await().untilAsserted(() -> {
            logs.heal(++nowMs);
            assertThat(old.offline()).isTrue();
        });
        assertThat(old.readable()).isFalse();
        assertThat(log(0).appendMirrored(two(2)).endOffset()).isEqualTo(4);
        Files.move(away, b);
        nowMs += 100_000;
        logs.heal(nowMs);
        assertThat(logs.get(name(1))).as("the writer has not let go").isEmpty();
        old.retire();
        healUntil(1, true);
        assertThat(log(1).appendMirrored(two(2)).endOffset()).isEqualTo(4);
    }

    @Test
    void aCreateThatFailsInOneDirectoryIsDoneInAnother() throws IOException {
        open();
        disk.broken = (op, path) -> op == Op.WRITE && path.startsWith(a);
        fill(2);
        assertThat(logsIn(a)).isEmpty();
        assertThat(logsIn(b)).containsExactly("t-0", "t-1");
    }

    @Test
    void aFullDiskFencesTheLogKeepsItReadableAndGivesItBackWithoutRestart() {
        open();
        fill(1);
        PartitionLog full = log(0);
        disk.bytesLeft = 70;
        assertThatThrownBy(() -> full.appendMirrored(two(2))).isInstanceOf(StorageFault.class);
        assertThatThrownBy(() -> full.appendMirrored(two(2))).isInstanceOf(StorageFault.class);
        assertThat(full.readable()).isTrue();
        assertThat(full.view().endOffset()).isEqualTo(2);
        full.retire();
        nowMs += 20_000;
        logs.heal(nowMs);
        await().untilAsserted(() ->
                assertThat(logs.states().get(0).trouble().orElseThrow()).contains("No space left"));
        assertThat(log(0).offline()).isTrue();
        disk.bytesLeft = Integer.MAX_VALUE;
        healUntil(0, true);
        assertThat(log(0).view().endOffset()).isEqualTo(2);
        assertThat(log(0).appendMirrored(two(2)).endOffset()).isEqualTo(4);
        assertThat(logs.states().get(0).trouble()).isEmpty();
    }

    @Test
    void aLogIsNotOpenedAnewWhileItsWriterMayStillBeInside() {
        open();
        fill(1);
        disk.bytesLeft = 0;
        PartitionLog full = log(0);
        assertThatThrownBy(() -> full.appendMirrored(two(2))).isInstanceOf(StorageFault.class);
        disk.bytesLeft = Integer.MAX_VALUE;
        for (int i = 0; i < 5; i++) {
            nowMs += 20_000;
            logs.heal(nowMs);
        }
        logs.create(name(7), ID, LogOptions.DEFAULT);
        assertThat(log(0)).isSameAs(full);
        full.retire();
        healUntil(0, true);
    }

    @Test
    void afterAFailedForceTheLogIsNotReadAnyMore() {
        open();
        fill(1);
        disk.broken = (op, path) -> op == Op.FORCE && path.startsWith(a);
        PartitionLog log = log(0);
        assertThat(log.forceSoon()).failsWithin(java.time.Duration.ofSeconds(10));
        assertThat(log.offline()).isTrue();
        assertThat(log.readable()).isFalse();
        assertThatThrownBy(() -> log.appendMirrored(two(2))).isInstanceOf(StorageFault.class);
        log.retire();
        disk.broken = (op, path) -> false;
        healUntil(0, true);
        assertThat(log(0).appendMirrored(two(2)).endOffset()).isEqualTo(4);
    }

    @Test
    void aLogThatCouldNotBeOpenedComesBackWhenItsFilesAreRight() throws IOException {
        open();
        fill(2);
        logs.close();
        Path file = a.resolve("t-0").resolve("00000000000000000000.log");
        byte[] right = Files.readAllBytes(file);
        byte[] wrong = right.clone();
        wrong[16] = 77;
        Files.write(file, wrong);
        open();
        assertThat(log(0).fault().orElseThrow())
                .hasMessageContaining(file.toString())
                .hasMessageContaining("position 0")
                .hasMessageContaining("offset 0");
        assertThat(log(1).offline()).isFalse();
        Files.write(file, right);
        healUntil(0, true);
        assertThat(log(0).view().endOffset()).isEqualTo(2);
    }

    @Test
    void kafka15046_aForceThatHangsInOneDirectoryHoldsUpNoAppendAndNoOtherDirectory() {
        open();
        fill(2);
        disk.hanging = (op, path) -> op == Op.FORCE && path.startsWith(a);
        var stuck = log(0).forceSoon();
        await().until(() -> disk.hung.getCount() == 0);
        long begun = System.nanoTime();
        for (int i = 1; i < 50; i++) {
            log(0).appendMirrored(two(2L * i));
            log(1).appendMirrored(two(2L * i));
            log(1).forceSoon().toCompletableFuture().join();
            logs.checkpoint();
            logs.heal(++nowMs);
            logs.flushDue(nowMs);
        }
        assertThat((System.nanoTime() - begun) / 1_000_000).isLessThan(5_000);
        assertThat(stuck).isNotDone();
        assertThat(log(1).view().endOffset()).isEqualTo(100);
        disk.released.countDown();
        await().untilAsserted(() -> assertThat(stuck).isCompleted());
    }

    @Test
    void thoseWhoAskForAForceWhileOneRunsShareTheNext() {
        open();
        fill(1);
        java.util.concurrent.atomic.AtomicInteger forces = new java.util.concurrent.atomic.AtomicInteger();
        disk.hanging = (op, path) -> {
            if (op == Op.FORCE && path.startsWith(a)) {
                forces.incrementAndGet();
            }
            return op == Op.FORCE && path.startsWith(a) && forces.get() == 1;
        };
        PartitionLog log = log(0);
        var first = log.forceSoon();
        await().until(() -> disk.hung.getCount() == 0);
        List<java.util.concurrent.CompletionStage<Void>> others = new java.util.ArrayList<>();
        for (int i = 1; i <= 100; i++) {
            log.appendMirrored(two(2L * i));
            others.add(log.forceSoon());
        }
        disk.released.countDown();
        await().untilAsserted(() ->
                assertThat(others).allSatisfy(each -> assertThat(each).isCompleted()));
        assertThat(first).isCompleted();
        assertThat(forces.get()).isEqualTo(2);
    }
}
