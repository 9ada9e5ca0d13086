package io.kagami.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.broker.core.cluster.ClusterImage;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.partition.Partition.Mode;
import io.kagami.log.Appended;
import io.kagami.log.FileLogDirectory;
import io.kagami.log.LogDirectory;
import io.kagami.log.LogName;
import io.kagami.log.LogOptions;
import io.kagami.log.core.BatchHeader;
import io.kagami.mirror.MirrorSpec;
import io.kagami.mirror.core.Desired;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.LocalPartitions.AppendOutcome;
import io.kagami.mirror.ports.LocalPartitions.Result;
import io.kagami.mirror.ports.MirrorPartition;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidRequestException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class PartitionTableTest {
    private static final Uuid ID = new Uuid(1, 2);

    record Image(
            long index,
            Map<String, TopicImage> topics,
            Map<String, MirrorSpec> mirrors,
            Map<MirrorPartition, PartitionState> mirrorStates)
            implements ClusterImage {
        static final Image EMPTY = new Image(0, Map.of(), Map.of(), Map.of());

        @Override
        public String clusterId() {
            return "c";
        }

        @Override
        public Optional<TopicImage> topic(Uuid id) {
            return topics.values().stream().filter(each -> each.id().equals(id)).findAny();
        }

        @Override
        public long nextProducerId() {
            return 0;
        }

        Image with(TopicImage topic) {
            Map<String, TopicImage> all = new HashMap<>(topics);
            all.put(topic.name(), topic);
            return new Image(index + 1, all, Map.of("m", new MirrorSpec("m", "s", Map.of())), mirrorStates);
        }

        Image without(String topic) {
            Map<String, TopicImage> all = new HashMap<>(topics);
            all.remove(topic);
            return new Image(index + 1, all, mirrors, mirrorStates);
        }

        Image state(Phase phase) {
            return new Image(
                    index + 1,
                    topics,
                    mirrors,
                    Map.of(new MirrorPartition("m", "t", ID, 0), new PartitionState(phase, 1, null, 0, null)));
        }
    }

    @TempDir
    Path dir;

    private final AtomicReference<String> fatal = new AtomicReference<>();
    private LogDirectory logs;
    private PartitionLoops loops;
    private PartitionTable table;
    private Image image = Image.EMPTY;

    @BeforeEach
    void open() {
        logs = FileLogDirectory.open(dir, name -> LogOptions.DEFAULT, InstantSource.system());
        loops = new PartitionLoops(2, (what, failure) -> fatal.set(what + ": " + failure));
        table = new PartitionTable(logs, loops, overrides -> LogOptions.DEFAULT, Map.of());
    }

    @AfterEach
    void close() {
        loops.close();
        logs.close();
        assertThat(fatal.get()).isNull();
    }

    private void apply(Image next) {
        table.follow(image, next);
        image = next;
    }

    private static TopicImage topic(Uuid id, String mirror, Desired desired, Integer... epochs) {
        return new TopicImage("t", id, 1, List.of(epochs), Map.of(), mirror, desired, Uuid.ZERO_UUID);
    }

    private Partition partition(int number) {
        return table.get("t", number).orElseThrow();
    }

    private static ByteBuffer batch(long offset, int epoch) {
        return new BatchBuilder(Codec.NONE)
                .baseOffset(offset)
                .leaderEpoch(epoch)
                .append(1000, null, new byte[10])
                .build();
    }

    private static <T> T get(CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    @Test
    void aTopicOfTheImageIsWritableWhenFollowReturns() throws Exception {
        apply(image.with(topic(ID, null, null, 3, 4)));
        assertThat(table.all()).hasSize(2);
        assertThat(table.get(ID, 1)).contains(partition(1));
        ByteBuffer batch = batch(0, -1);
        Appended appended = get(partition(1).append(batch));
        assertThat(appended.baseOffset()).isZero();
        assertThat(BatchHeader.leaderEpoch(batch, 0)).isEqualTo(4);
        assertThat(partition(1).highWatermark()).isEqualTo(1);
        assertThat(partition(0).highWatermark()).isZero();
    }

    @Test
    void aChangeThatComesDuringTheStopIsNoFailure() {
        apply(image.with(topic(ID, null, null, 3)));
        table.close();
        loops.close();
        apply(image.with(
                new TopicImage("late", Uuid.randomUuid(), 1, List.of(0), Map.of(), null, null, Uuid.ZERO_UUID)));
        assertThat(table.get("late", 0)).isEmpty();
        assertThat(logs.get(new LogName("late", 0))).isEmpty();
        assertThat(table.all()).hasSize(1);
    }

    @Test
    void manyNewTopicsOfOneChangeAreThereWhenFollowReturns() throws Exception {
        Image many = image;
        for (int i = 0; i < 40; i++) {
            many = many.with(new TopicImage(
                    "many-" + i, Uuid.randomUuid(), 2, List.of(0, 0), Map.of(), null, null, Uuid.ZERO_UUID));
        }
        apply(many);
        assertThat(table.all()).hasSize(80);
        for (Partition each : table.all()) {
            assertThat(get(each.append(batch(0, -1))).baseOffset()).isZero();
            assertThat(logs.get(new LogName(each.topic(), each.partition()))).isPresent();
        }
    }

    @Test
    void aMirrorTopicRefusesClientsAndNamesTheMirror() {
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)));
        assertThatThrownBy(() -> get(partition(0).append(batch(0, -1))))
                .isInstanceOf(ExecutionException.class)
                .cause()
                .isInstanceOf(InvalidRequestException.class)
                .hasMessageContaining("Topic t ")
                .hasMessageContaining("cluster mirror m");
    }

    @Test
    void mirroredBatchesContinueTheLogWithTheirOwnOffsetsAndEpochs() throws Exception {
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)));
        AppendOutcome first = get(partition(0).appendMirrored(0, batch(100, 7)));
        assertThat(first.result()).isEqualTo(Result.APPENDED);
        assertThat(first.position().endOffset()).isEqualTo(101);
        assertThat(first.position().lastBatchEpoch()).isEqualTo(7);
        assertThat(get(partition(0).appendMirrored(0, batch(101, 7))).result()).isEqualTo(Result.STALE);
        assertThat(get(partition(0).appendMirrored(101, batch(101, 11))).result())
                .isEqualTo(Result.EPOCH_TOO_LOW);
        assertThat(get(partition(0).leaderEpoch(20)).leaderEpoch()).isEqualTo(20);
        assertThat(get(partition(0).appendMirrored(101, batch(101, 11))).result())
                .isEqualTo(Result.APPENDED);
        get(partition(0).mode(Mode.WRITABLE));
        assertThat(get(partition(0).appendMirrored(102, batch(102, 11))).result())
                .isEqualTo(Result.NOT_MIRRORED);
    }

    @Test
    void kafka18723_everyBatchOfAnAppendIsHeldAgainstTheLeaderEpoch() throws Exception {
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)));
        for (int newer = 0; newer < 3; newer++) {
            ByteBuffer[] three = new ByteBuffer[3];
            for (int i = 0; i < 3; i++) {
                three[i] = batch(i, i == newer ? 11 : 7);
            }
            AppendOutcome outcome = get(partition(0).appendMirrored(0, join(three)));
            assertThat(outcome.result()).isEqualTo(Result.EPOCH_TOO_LOW);
            assertThat(outcome.position().endOffset()).isZero();
        }
        get(partition(0).leaderEpoch(11));
        assertThat(get(partition(0).appendMirrored(0, join(batch(0, 7), batch(1, 11))))
                        .result())
                .isEqualTo(Result.APPENDED);
    }

    private static ByteBuffer join(ByteBuffer... batches) {
        ByteBuffer all = ByteBuffer.allocate(1 << 12);
        for (ByteBuffer each : batches) {
            all.put(each);
        }
        return all.flip();
    }

    @Test
    void kafka14704_whatWasFetchedBeforeATruncationIsNotAppendedBehindIt() throws Exception {
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)));
        for (int i = 0; i < 4; i++) {
            get(partition(0).appendMirrored(i, batch(i, 1)));
        }
        // queued before the truncation has run: the order of the loop decides, not that of the answers
        CompletionStage<?> truncation = partition(0).truncateTo(2);
        AppendOutcome late = get(partition(0).appendMirrored(4, batch(4, 1)));
        get(truncation);
        assertThat(late.result()).isEqualTo(Result.STALE);
        assertThat(partition(0).highWatermark()).isEqualTo(2);
        assertThat(partition(0).view().endOffset()).isEqualTo(2);
    }

    @Test
    void batchesThatDoNotContinueTheLogAreRefusedAndHarmNothing() throws Exception {
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)));
        get(partition(0).appendMirrored(0, batch(100, 7)));
        assertThatThrownBy(() -> get(partition(0).appendMirrored(101, batch(50, 7))))
                .hasCauseInstanceOf(IllegalArgumentException.class);
        assertThat(get(partition(0).appendMirrored(101, batch(101, 7))).result())
                .isEqualTo(Result.APPENDED);
    }

    @Test
    void aStoppedTopicIsWritableWhenItsStateIsStoppedAndNotBefore() {
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)).state(Phase.MIRRORING));
        apply(image.with(topic(ID, "m", Desired.STOPPED, 10)).state(Phase.STOPPING));
        assertThat(partition(0).mode()).isEqualTo(Mode.MIRRORED);
        apply(image.state(Phase.STOPPED));
        assertThat(partition(0).mode()).isEqualTo(Mode.WRITABLE);
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)));
        assertThat(partition(0).mode()).isEqualTo(Mode.MIRRORED);
    }

    @Test
    void waitersAreWokenOnceByAppendsAndCanLeave() throws Exception {
        apply(image.with(topic(ID, null, null, 0)));
        AtomicInteger woken = new AtomicInteger();
        partition(0).onChange(0, woken::incrementAndGet);
        Runnable cancel = partition(0).onChange(0, () -> woken.addAndGet(100));
        partition(0).onChange(5, () -> woken.addAndGet(1000));
        cancel.run();
        get(partition(0).append(batch(0, -1)));
        get(partition(0).append(batch(0, -1)));
        assertThat(woken).hasValue(1);
        partition(0).onChange(0, woken::incrementAndGet);
        assertThat(woken).as("the log end is past that already").hasValue(2);
    }

    @Test
    void aDeletedTopicWakesItsWaitersAndTakesNothingMore() throws Exception {
        apply(image.with(topic(ID, null, null, 0)));
        Partition old = partition(0);
        CountDownLatch woken = new CountDownLatch(1);
        old.onChange(0, woken::countDown);
        apply(image.without("t"));
        assertThat(woken.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(table.get("t", 0)).isEmpty();
        assertThatThrownBy(() -> get(old.append(batch(0, -1))))
                .hasCauseInstanceOf(UnknownTopicOrPartitionException.class);
        assertThat(dir.resolve("t-0")).doesNotExist();
    }

    @Test
    void kafka1819_kafka13132_kafka12403_aTopicCreatedAnewHasAnEmptyLog() throws Exception {
        apply(image.with(topic(ID, null, null, 0)));
        get(partition(0).append(batch(0, -1)));
        Uuid other = new Uuid(3, 4);
        apply(image.with(topic(other, null, null, 0)));
        assertThat(partition(0).topicId()).isEqualTo(other);
        assertThat(partition(0).highWatermark()).isZero();
        assertThat(table.get(ID, 0)).isEmpty();
    }

    @Test
    void partitionsThatAreAddedJoinTheOthers() throws Exception {
        apply(image.with(topic(ID, null, null, 0)));
        get(partition(0).append(batch(0, -1)));
        apply(image.with(topic(ID, null, null, 5, 6)));
        assertThat(partition(0).highWatermark()).isEqualTo(1);
        assertThat(partition(0).leaderEpoch()).isEqualTo(5);
        assertThat(partition(1).leaderEpoch()).isEqualTo(6);
    }

    @Test
    void truncationAndStartMoveOnTheLoop() throws Exception {
        apply(image.with(topic(ID, "m", Desired.MIRRORING, 10)));
        for (int i = 0; i < 4; i++) {
            get(partition(0).appendMirrored(i, batch(i, 1)));
        }
        assertThat(get(partition(0).truncateTo(3)).endOffset()).isEqualTo(3);
        assertThat(get(partition(0).advanceStart(2)).startOffset()).isEqualTo(2);
        assertThat(get(partition(0).restartAt(70)).endOffset()).isEqualTo(70);
        assertThat(partition(0).view().startOffset()).isEqualTo(70);
    }

    @Test
    void aBugOnALoopIsFatal() throws Exception {
        apply(image.with(topic(ID, null, null, 0)));
        CountDownLatch after = new CountDownLatch(1);
        partition(0).loop().execute(() -> {
            throw new IllegalStateException("expected by the test");
        });
        partition(0).loop().execute(after::countDown);
        assertThat(after.await(10, TimeUnit.SECONDS)).isTrue();
        assertThat(fatal.getAndSet(null)).contains("partition-loop-").contains("expected by the test");
    }

    @Test
    void clientsWorkIsRefusedWhenTheLoopHasTooMuchOfIt() throws Exception {
        apply(image.with(topic(ID, null, null, 0)));
        PartitionLoop loop = (PartitionLoop) partition(0).loop();
        CountDownLatch gate = new CountDownLatch(1);
        loop.execute(() -> awaitGate(gate));
        int accepted = 0;
        while (loop.offer(() -> {}) && accepted <= PartitionLoop.CLIENT_TASKS_MAX) {
            accepted++;
        }
        assertThat(accepted).isEqualTo(PartitionLoop.CLIENT_TASKS_MAX);
        CountDownLatch own = new CountDownLatch(1);
        loop.execute(own::countDown);
        gate.countDown();
        assertThat(own.await(10, TimeUnit.SECONDS)).isTrue();
        get(partition(0).append(batch(0, -1)));
    }

    private static void awaitGate(CountDownLatch gate) {
        try {
            assertThat(gate.await(10, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
