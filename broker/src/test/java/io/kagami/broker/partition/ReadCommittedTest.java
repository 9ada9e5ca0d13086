package io.kagami.broker.partition;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.broker.api.FetchHandler;
import io.kagami.broker.api.OffsetsHandler;
import io.kagami.broker.core.cluster.TopicImage;
import io.kagami.broker.net.Session;
import io.kagami.broker.partition.PartitionTableTest.Image;
import io.kagami.log.FileLogDirectory;
import io.kagami.log.LogDirectory;
import io.kagami.log.LogOptions;
import io.kagami.log.core.BatchHeader;
import io.kagami.mirror.core.Desired;
import io.kagami.protocol.Request;
import io.kagami.protocol.codec.SliceRecords;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import io.netty.util.HashedWheelTimer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.FetchRequestData;
import org.apache.kafka.common.message.FetchRequestData.FetchPartition;
import org.apache.kafka.common.message.FetchRequestData.FetchTopic;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.message.FetchResponseData.AbortedTransaction;
import org.apache.kafka.common.message.FetchResponseData.PartitionData;
import org.apache.kafka.common.message.ListOffsetsRequestData;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsPartition;
import org.apache.kafka.common.message.ListOffsetsRequestData.ListOffsetsTopic;
import org.apache.kafka.common.message.ListOffsetsResponseData;
import org.apache.kafka.common.message.RequestHeaderData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What the handlers of Fetch and ListOffsets answer about a mirrored partition, held against a naive model. */
class ReadCommittedTest {
    private static final long FIRST_MS = 10_000;

    @TempDir
    Path dir;

    private final ExecutorService connection = Executors.newSingleThreadExecutor();
    private final HashedWheelTimer timer = new HashedWheelTimer();
    private final Session session = new Session(new InetSocketAddress(0), "TEST", connection);
    private LogDirectory logs;
    private PartitionLoops loops;
    private PartitionTable table;
    private FetchHandler fetches;
    private OffsetsHandler offsets;
    private Partition partition;

    @BeforeEach
    void open() {
        LogOptions options = new LogOptions(900, Long.MAX_VALUE, 100, 1 << 12);
        InstantSource clock = InstantSource.fixed(Instant.ofEpochMilli(0)); // no fetch ends with its time
        logs = FileLogDirectory.open(dir, name -> options, clock);
        loops = new PartitionLoops(1, (what, failure) -> {
            throw new AssertionError(what, failure);
        });
        table = new PartitionTable(logs, loops, overrides -> options, Map.of());
        TopicImage topic =
                new TopicImage("t", new Uuid(1, 2), 1, List.of(7), Map.of(), "m", Desired.MIRRORING, Uuid.ZERO_UUID);
        table.follow(Image.EMPTY, Image.EMPTY.with(topic));
        fetches = new FetchHandler(table, timer, 1 << 20, 10, listener -> new FetchHandler.Here(1, "h", 1), clock);
        offsets = new OffsetsHandler(table, 1 << 20);
        partition = table.get("t", 0).orElseThrow();
    }

    @AfterEach
    void close() {
        fetches.stop();
        connection.shutdown();
        timer.stop();
        loops.close();
        logs.close();
    }

    private static <T> T get(java.util.concurrent.CompletionStage<T> stage) throws Exception {
        return stage.toCompletableFuture().get(10, TimeUnit.SECONDS);
    }

    private static Request request(ApiKeys api, int version, ApiMessage body) {
        RequestHeaderData header =
                new RequestHeaderData().setRequestApiKey(api.id).setRequestApiVersion((short) version);
        return new Request(null, header, body, null, 0);
    }

    private CompletableFuture<ApiMessage> fetch(FetchPartition wanted, int isolation) {
        FetchRequestData body = new FetchRequestData()
                .setReplicaId(-1)
                .setMaxWaitMs(1_000_000)
                .setMinBytes(1)
                .setMaxBytes(1 << 20)
                .setIsolationLevel((byte) isolation)
                .setSessionEpoch(-1);
        body.setTopics(List.of(new FetchTopic()
                .setTopic("t")
                .setPartitions(List.of(wanted.setPartition(0).setPartitionMaxBytes(1 << 20)))));
        return fetches.handle(request(ApiKeys.FETCH, 12, body), session).toCompletableFuture();
    }

    private static PartitionData only(ApiMessage response) {
        return ((FetchResponseData) response).responses().get(0).partitions().get(0);
    }

    private long listOffset(long timestamp) throws Exception {
        ListOffsetsRequestData body =
                new ListOffsetsRequestData().setReplicaId(-1).setIsolationLevel((byte) 1);
        body.setTopics(List.of(new ListOffsetsTopic()
                .setName("t")
                .setPartitions(
                        List.of(new ListOffsetsPartition().setPartitionIndex(0).setTimestamp(timestamp)))));
        ListOffsetsResponseData answer =
                (ListOffsetsResponseData) get(offsets.listOffsets(request(ApiKeys.LIST_OFFSETS, 7, body), session));
        return answer.topics().get(0).partitions().get(0).offset();
    }

    /** Everything that woke up by now has had its turn. */
    private void settle() throws Exception {
        CompletableFuture.runAsync(() -> {}, partition.loop()).get(10, TimeUnit.SECONDS);
        CompletableFuture.runAsync(() -> {}, connection).get(10, TimeUnit.SECONDS);
    }

    /** Transactions by their producers, and which records they have. */
    private static final class Model {
        private final Map<Long, List<Long>> open = new TreeMap<>();
        private final Set<Long> committed = new TreeSet<>();
        private final Set<Long> data = new HashSet<>();
        private final Map<Long, Integer> sequences = new HashMap<>();
        private long end;

        long stable() {
            return open.values().stream()
                    .mapToLong(records -> records.get(0))
                    .min()
                    .orElse(end);
        }

        ByteBuffer next(Random random) {
            long producer = random.nextInt(4);
            boolean ends = open.containsKey(producer) && random.nextInt(3) == 0;
            if (ends) {
                boolean commit = random.nextBoolean();
                List<Long> records = open.remove(producer);
                if (commit) {
                    committed.addAll(records);
                }
                return BatchBuilder.endTxnMarker(end++, FIRST_MS + end - 1, 3, producer, (short) 0, commit, 0);
            }
            int count = 1 + random.nextInt(3);
            boolean transactional = producer > 0; // the first one has no transactions
            BatchBuilder batch = new BatchBuilder(Codec.NONE).baseOffset(end).leaderEpoch(3);
            if (transactional) {
                batch.producer(producer, (short) 0, sequences.merge(producer, count, Integer::sum) - count)
                        .transactional();
            }
            for (int i = 0; i < count; i++) {
                batch.append(FIRST_MS + end, null, new byte[40]);
                data.add(end);
                if (transactional) {
                    open.computeIfAbsent(producer, id -> new ArrayList<>()).add(end);
                } else {
                    committed.add(end);
                }
                end++;
            }
            return batch.build();
        }
    }

    /** A consumer that always has one fetch waiting, and hides what the answer says is aborted. */
    private final class Consumer {
        private final List<Long> seen = new ArrayList<>();
        private long next;
        private CompletableFuture<ApiMessage> waiting;

        void ask() {
            waiting = fetch(new FetchPartition().setFetchOffset(next), 1);
        }

        void take(Model model) throws Exception {
            PartitionData data = only(get(waiting));
            assertThat(data.errorCode()).isZero();
            assertThat(data.lastStableOffset()).isEqualTo(model.stable());
            assertThat(data.highWatermark()).isEqualTo(model.end);
            assertThat(data.abortedTransactions()).isNotNull();
            List<AbortedTransaction> aborted = new ArrayList<>(data.abortedTransactions());
            Set<Long> aborting = new HashSet<>();
            ByteBuffer bytes = read((SliceRecords) data.records());
            assertThat(bytes.hasRemaining()).isTrue();
            for (int at = 0; at < bytes.limit(); at += BatchHeader.sizeInBytes(bytes, at)) {
                long last = BatchHeader.lastOffset(bytes, at);
                assertThat(last).isLessThan(model.stable());
                long producer = BatchHeader.producerId(bytes, at);
                while (!aborted.isEmpty() && aborted.get(0).firstOffset() <= last) {
                    aborting.add(aborted.remove(0).producerId());
                }
                if (BatchHeader.control(bytes, at)) {
                    aborting.remove(producer);
                } else if (!BatchHeader.transactional(bytes, at) || !aborting.contains(producer)) {
                    for (long offset = BatchHeader.baseOffset(bytes, at); offset <= last; offset++) {
                        seen.add(offset);
                    }
                }
                next = last + 1;
            }
        }
    }

    private static ByteBuffer read(SliceRecords records) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(records.sizeInBytes());
        while (bytes.hasRemaining()) {
            assertThat(records.file().read(bytes, records.position() + bytes.position()))
                    .isPositive();
        }
        records.release();
        return bytes.flip();
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5})
    void kafka5376_kafka5522_whatIsReadIsWhatWasCommittedAlsoByFetchesThatWaited(long seed) throws Exception {
        Random random = new Random(seed);
        Model model = new Model();
        Consumer consumer = new Consumer();
        consumer.ask();
        int waited = 0;
        for (int i = 0; i < 150; i++) {
            long end = model.end;
            get(partition.appendMirrored(end, model.next(random)));
            settle();
            while (consumer.next < model.stable()) {
                consumer.take(model);
                consumer.ask();
                settle();
            }
            assertThat(consumer.waiting.isDone())
                    .as("nothing stable above %d", consumer.next)
                    .isFalse();
            waited += model.stable() < model.end ? 1 : 0;
            assertThat(consumer.seen)
                    .containsExactlyElementsOf(model.committed.stream()
                            .filter(offset -> offset < model.stable())
                            .toList());
            assertThat(listOffset(-1)).isEqualTo(model.stable());
            long asked = random.nextLong(model.end);
            if (model.data.contains(asked)) {
                assertThat(listOffset(FIRST_MS + asked)).isEqualTo(asked < model.stable() ? asked : -1);
            }
        }
        assertThat(waited).isGreaterThan(20);
    }

    @Test
    void kafka2143_anOldEpochIsToldBeforeAnOffsetThatIsOutOfRange() throws Exception {
        get(partition.appendMirrored(0, new Model().next(new Random(1))));
        for (int epoch : new int[] {6, 8, 7, -1}) {
            Errors wanted = epoch == 6
                    ? Errors.FENCED_LEADER_EPOCH
                    : epoch == 8 ? Errors.UNKNOWN_LEADER_EPOCH : Errors.OFFSET_OUT_OF_RANGE;
            FetchPartition beyond = new FetchPartition().setFetchOffset(99).setCurrentLeaderEpoch(epoch);
            assertThat(only(get(fetch(beyond, 0))).errorCode()).isEqualTo(wanted.code());
        }
    }

    @Test
    void kafka12996_belowTheLogStartAnOffsetIsOutOfRangeWhateverItsEpoch() throws Exception {
        for (int i = 0; i < 6; i++) {
            ByteBuffer batch = new BatchBuilder(Codec.NONE)
                    .baseOffset(i)
                    .leaderEpoch(i < 4 ? i : i + 1) // nothing is of epoch 4: whoever says that he read it diverges
                    .append(FIRST_MS, null, new byte[40])
                    .build();
            get(partition.appendMirrored(i, batch));
        }
        get(partition.advanceStart(3));
        for (int lastFetched = 0; lastFetched < 7; lastFetched++) {
            FetchPartition below = new FetchPartition().setFetchOffset(1).setLastFetchedEpoch(lastFetched);
            assertThat(only(get(fetch(below, 0))).errorCode()).isEqualTo(Errors.OFFSET_OUT_OF_RANGE.code());
        }
        FetchPartition diverging = new FetchPartition().setFetchOffset(6).setLastFetchedEpoch(4);
        PartitionData told = only(get(fetch(diverging, 0)));
        assertThat(told.errorCode()).isZero();
        assertThat(told.divergingEpoch().endOffset()).isEqualTo(4);
    }

    @Test
    void kafka6975_aFetchFromALogStartInsideABatchGetsThatBatch() throws Exception {
        BatchBuilder five = new BatchBuilder(Codec.NONE).leaderEpoch(3);
        for (int i = 0; i < 5; i++) {
            five.append(FIRST_MS, null, new byte[4]);
        }
        get(partition.appendMirrored(0, five.build()));
        get(partition.advanceStart(2));
        for (long offset = 2; offset < 5; offset++) {
            PartitionData data = only(get(fetch(new FetchPartition().setFetchOffset(offset), 0)));
            assertThat(data.errorCode()).isZero();
            assertThat(data.logStartOffset()).isEqualTo(2);
            assertThat(BatchHeader.baseOffset(read((SliceRecords) data.records()), 0))
                    .isZero();
        }
        assertThat(only(get(fetch(new FetchPartition().setFetchOffset(1), 0))).errorCode())
                .isEqualTo(Errors.OFFSET_OUT_OF_RANGE.code());
    }
}
