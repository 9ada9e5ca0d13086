package io.kagami.log.core;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.log.TestBatches;
import io.kagami.log.core.ProducerEntry.Batch;
import io.kagami.log.core.ProducerFault.Reason;
import java.nio.ByteBuffer;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

class ProducerCheckTest {
    private static final int MAX = Integer.MAX_VALUE;

    private final ProducerTable table = new ProducerTable();
    private long next;

    private static TestBatches.Builder plain(int epoch, int sequence, int records) {
        return batch().producer(7, epoch, sequence).records(records);
    }

    private static TestBatches.Builder marker(int epoch, int type, int coordinatorEpoch) {
        return batch().producer(7, epoch, -1).transactional().control(type).coordinatorEpoch(coordinatorEpoch);
    }

    /** Appends without asking, as a mirror does. */
    private void learn(TestBatches.Builder builder) {
        ByteBuffer bytes = builder.offset(next).build();
        table.onBatch(bytes, 0, ControlRecord.of(bytes, 0, bytes.limit()));
        next = BatchHeader.lastOffset(bytes, 0) + 1;
    }

    private Batch check(TestBatches.Builder builder) {
        ByteBuffer bytes = builder.offset(next).build();
        return new ProducerCheck(table).onBatch(bytes, 0, ControlRecord.of(bytes, 0, bytes.limit()));
    }

    private static Arguments row(String rule, Reason refused, TestBatches.Builder sent, TestBatches.Builder... before) {
        Consumer<ProducerCheckTest> history = test -> Stream.of(before).forEach(test::learn);
        return Arguments.of(rule, refused, sent, history);
    }

    static Stream<Arguments> rules() {
        return Stream.of(
                row("an unknown producer may start anywhere", null, plain(3, 55, 2)),
                row("the next sequence", null, plain(0, 3, 2), plain(0, 0, 3)),
                row("a gap", Reason.OUT_OF_ORDER_SEQUENCE, plain(0, 4, 2), plain(0, 0, 3)),
                row("an overlap is no duplicate", Reason.OUT_OF_ORDER_SEQUENCE, plain(0, 2, 2), plain(0, 0, 3)),
                row("part of a batch", Reason.OUT_OF_ORDER_SEQUENCE, plain(0, 0, 2), plain(0, 0, 3)),
                row("more than a batch", Reason.OUT_OF_ORDER_SEQUENCE, plain(0, 0, 4), plain(0, 0, 3)),
                row("an old epoch", Reason.INVALID_PRODUCER_EPOCH, plain(1, 0, 1), plain(2, 0, 3)),
                row("an old epoch at the next sequence", Reason.INVALID_PRODUCER_EPOCH, plain(1, 3, 1), plain(2, 0, 3)),
                row("a new epoch begins at 0", null, plain(3, 0, 1), plain(2, 0, 3)),
                row("a new epoch elsewhere", Reason.OUT_OF_ORDER_SEQUENCE, plain(3, 3, 1), plain(2, 0, 3)),
                row("behind the last sequence comes 0", null, plain(0, 0, 1), plain(0, MAX - 2, 3)),
                row("behind the last sequence not 1", Reason.OUT_OF_ORDER_SEQUENCE, plain(0, 1, 1), plain(0, MAX, 1)),
                row("behind a batch that wraps", null, plain(0, 2, 1), plain(0, MAX - 1, 4)),
                row("behind a batch that wraps, a gap", Reason.OUT_OF_ORDER_SEQUENCE, plain(0, 3, 1), plain(0, MAX, 3)),
                row(
                        "a plain batch within a transaction",
                        Reason.INVALID_TXN_STATE,
                        plain(0, 1, 1),
                        plain(0, 0, 1).transactional()),
                row(
                        "a transaction goes on",
                        null,
                        plain(0, 1, 1).transactional(),
                        plain(0, 0, 1).transactional()),
                row(
                        "sequences go on behind a marker of the same epoch",
                        null,
                        plain(0, 1, 1).transactional(),
                        plain(0, 0, 1).transactional(),
                        marker(0, ControlRecord.COMMIT, 0)),
                row(
                        "a marker of a new epoch starts sequences anew",
                        null,
                        plain(1, 0, 1).transactional(),
                        plain(0, 0, 1).transactional(),
                        marker(1, ControlRecord.COMMIT, 0)),
                row(
                        "the epoch before the marker's",
                        Reason.INVALID_PRODUCER_EPOCH,
                        plain(0, 1, 1).transactional(),
                        plain(0, 0, 1).transactional(),
                        marker(1, ControlRecord.COMMIT, 0)),
                row(
                        "a marker of an old epoch",
                        Reason.INVALID_PRODUCER_EPOCH,
                        marker(0, ControlRecord.ABORT, 0),
                        plain(1, 0, 1).transactional()),
                row(
                        "a marker of an old coordinator",
                        Reason.COORDINATOR_FENCED,
                        marker(0, ControlRecord.ABORT, 4),
                        plain(0, 0, 1).transactional(),
                        marker(0, ControlRecord.COMMIT, 5)),
                row(
                        "a marker of the same coordinator",
                        null,
                        marker(0, ControlRecord.ABORT, 5),
                        plain(0, 0, 1).transactional(),
                        marker(0, ControlRecord.COMMIT, 5)),
                row(
                        "a coordinator writes without sequence",
                        null,
                        plain(0, -1, 1).transactional(),
                        plain(0, 0, 1)),
                row("a batch of nobody", null, batch(), plain(0, 0, 1)),
                row("after a reset anything goes", null, plain(0, 9, 1), plain(4, 0, 1), reset()));
    }

    private static TestBatches.Builder reset() {
        return batch().control(ControlRecord.MIRROR_PID_RESET);
    }

    @ParameterizedTest(name = "{0}: {1}")
    @MethodSource("rules")
    void kafka5283_aBatchMayFollowOrNot(
            String rule, Reason refused, TestBatches.Builder sent, Consumer<ProducerCheckTest> history) {
        history.accept(this);
        if (refused == null) {
            assertThat(check(sent)).isNull();
        } else {
            assertThatThrownBy(() -> check(sent))
                    .asInstanceOf(InstanceOfAssertFactories.type(ProducerFault.class))
                    .extracting(ProducerFault::reason)
                    .isEqualTo(refused);
        }
    }

    @Test
    void theLastFiveBatchesAreKnownAgainAndNoEarlierOne() {
        for (int i = 0; i < 7; i++) {
            learn(plain(0, i * 3, 3).timestamps(100 + i, 100 + i));
        }
        for (int i = 2; i < 7; i++) {
            assertThat(check(plain(0, i * 3, 3))).isEqualTo(new Batch(i * 3 + 2, i * 3 + 2, 2, 100 + i));
        }
        for (int i = 0; i < 2; i++) {
            TestBatches.Builder early = plain(0, i * 3, 3);
            assertThatThrownBy(() -> check(early)).isInstanceOf(ProducerFault.class);
        }
    }

    @Test
    void aDuplicateOfAnEarlierEpochIsRefusedAsOld() {
        learn(plain(0, 0, 1));
        learn(plain(1, 0, 1));
        assertThatThrownBy(() -> check(plain(0, 0, 1)))
                .asInstanceOf(InstanceOfAssertFactories.type(ProducerFault.class))
                .extracting(ProducerFault::reason)
                .isEqualTo(Reason.INVALID_PRODUCER_EPOCH);
    }

    @Test
    void kafka6683_checkingChangesNothing() {
        learn(plain(0, 0, 1));
        ProducerTable before = ProducerTableTest.copy(table);
        assertThat(check(plain(0, 1, 1))).isNull();
        assertThatThrownBy(() -> check(plain(0, 9, 1))).isInstanceOf(ProducerFault.class);
        assertThat(table).isEqualTo(before);
    }

    @Test
    void theBatchesOfOneAppendAreJudgedOneAfterAnother() {
        ByteBuffer bytes = TestBatches.join(
                plain(0, 0, 2).build(),
                plain(0, 2, 1).offset(2).build(),
                plain(0, 4, 1).offset(3).build());
        ProducerCheck check = new ProducerCheck(table);
        int second = BatchHeader.sizeInBytes(bytes, 0);
        int third = second + BatchHeader.sizeInBytes(bytes, second);
        assertThat(check.onBatch(bytes, 0, ControlRecord.NONE)).isNull();
        assertThat(check.onBatch(bytes, second, ControlRecord.NONE)).isNull();
        assertThatThrownBy(() -> check.onBatch(bytes, third, ControlRecord.NONE))
                .hasMessageContaining("sequence 4")
                .hasMessageContaining("3 is due");
    }

    @Test
    void kafka6003_aMirrorTakesWhatItsSourceTook() {
        learn(plain(5, 10, 3));
        learn(plain(5, 20, 1)); // a gap
        learn(plain(4, 7, 1)); // an older epoch
        learn(plain(4, 7, 1)); // a repetition
        assertThat(table.entry(7).epoch()).isEqualTo((short) 4);
        assertThat(check(plain(4, 8, 1))).isNull();
    }
}
