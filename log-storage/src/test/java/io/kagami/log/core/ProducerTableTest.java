package io.kagami.log.core;

import static io.kagami.log.TestBatches.batch;
import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.TestBatches;
import io.kagami.log.core.ProducerTable.Aborted;
import java.nio.ByteBuffer;
import java.util.Map;
import org.junit.jupiter.api.Test;

class ProducerTableTest {
    private final ProducerTable table = new ProducerTable();

    private Aborted on(TestBatches.Builder builder) {
        ByteBuffer bytes = builder.build();
        return table.onBatch(bytes, 0, ControlRecord.of(bytes, 0, bytes.limit()));
    }

    private Aborted data(long producer, long offset) {
        return on(batch().offset(offset).records(3).producer(producer, 0, 0).transactional());
    }

    private Aborted marker(long producer, long offset, int type) {
        return on(
                batch().offset(offset).producer(producer, 0, -1).transactional().control(type));
    }

    @Test
    void theStableOffsetIsWhereTheEarliestOpenTransactionBegins() {
        assertThat(table.lastStableOffset(7)).isEqualTo(7);
        data(1, 10);
        data(2, 13);
        data(1, 16);
        assertThat(table.lastStableOffset(19)).isEqualTo(10);
        assertThat(table.open()).isEqualTo(Map.of(1L, 10L, 2L, 13L));
        assertThat(marker(1, 19, ControlRecord.COMMIT)).isNull();
        assertThat(table.lastStableOffset(20)).isEqualTo(13);
        assertThat(marker(2, 20, ControlRecord.ABORT)).isEqualTo(new Aborted(2, 13, 20, 21));
        assertThat(table.lastStableOffset(21)).isEqualTo(21);
    }

    @Test
    void anAbortedEntryTellsWhatIsStillOpen() {
        data(1, 10);
        data(2, 13);
        assertThat(marker(2, 16, ControlRecord.ABORT)).isEqualTo(new Aborted(2, 13, 16, 10));
    }

    @Test
    void anAbortMarkerWhoseDataIsGoneIsListedAsItself() {
        assertThat(marker(9, 50, ControlRecord.ABORT)).isEqualTo(new Aborted(9, 50, 50, 51));
    }

    @Test
    void plainIdempotentBatchesOpenNothing() {
        on(batch().offset(5).producer(77, 0, 0));
        assertThat(table.lastStableOffset(6)).isEqualTo(6);
        assertThat(table.maxProducerId()).isEqualTo(77);
    }

    @Test
    void unknownControlTypesArePassedOver() {
        data(1, 10);
        assertThat(marker(1, 13, 6)).isNull();
        assertThat(on(batch().offset(14).control(100))).isNull();
        assertThat(table.lastStableOffset(15)).isEqualTo(10);
    }

    @Test
    void aResetForgetsTransactionsButNotTheIdsSeen() {
        data(40, 10);
        table.reset();
        assertThat(table.lastStableOffset(13)).isEqualTo(13);
        assertThat(table.maxProducerId()).isEqualTo(40);
    }

    @Test
    void tellsWhetherACutChangesTheOpenTransactions() {
        data(1, 10);
        assertThat(table.unchangedBelow(12)).isFalse();
        assertThat(table.unchangedBelow(13)).isTrue();
        marker(1, 20, ControlRecord.COMMIT);
        assertThat(table.unchangedBelow(20)).isFalse();
        assertThat(table.unchangedBelow(21)).isTrue();
    }

    @Test
    void aControlRecordCutShortIsUnknown() {
        ByteBuffer bytes =
                batch().producer(1, 0, -1).control(ControlRecord.COMMIT).build();
        for (int end = BatchHeader.V2_HEADER; end < bytes.limit(); end++) {
            ControlRecord read = ControlRecord.read(bytes, BatchHeader.V2_HEADER, end);
            assertThat(read.type()).isIn(ControlRecord.UNKNOWN, ControlRecord.COMMIT);
            assertThat(read.coordinatorEpoch()).isIn(-1, 0);
        }
        assertThat(ControlRecord.read(bytes, BatchHeader.V2_HEADER, BatchHeader.V2_HEADER + 3))
                .isEqualTo(ControlRecord.NONE);
        assertThat(ControlRecord.read(bytes, BatchHeader.V2_HEADER, bytes.limit()))
                .isEqualTo(new ControlRecord(ControlRecord.COMMIT, 0));
    }

    @Test
    void idleProducersExpireButNoneWithAnOpenTransaction() {
        on(batch().offset(0).producer(1, 0, 0).timestamps(100, 100));
        on(batch().offset(1).producer(2, 0, 0).timestamps(100, 100).transactional());
        on(batch().offset(2).producer(3, 0, 0).timestamps(150, 150));
        on(batch().offset(3).producer(4, 0, 0).timestamps(Long.MAX_VALUE, Long.MAX_VALUE));
        assertThat(table.expire(199, 100)).isZero();
        assertThat(table.expire(200, 100)).isEqualTo(1);
        assertThat(table.entries()).extracting(ProducerEntry::producerId).containsExactlyInAnyOrder(2L, 3L, 4L);
        assertThat(table.expire(Long.MAX_VALUE, 1)).isEqualTo(1);
        assertThat(table.expire(Long.MIN_VALUE, 1)).isZero();
        assertThat(table.lastStableOffset(4)).isEqualTo(1);
        marker(2, 4, ControlRecord.COMMIT);
        assertThat(table.expire(10_000, 100)).isEqualTo(1);
        assertThat(table.maxProducerId()).isEqualTo(4);
    }

    @Test
    void aResetRecordForgetsEveryProducerAndTransaction() {
        data(1, 10);
        on(batch().offset(13).producer(2, 0, 0));
        assertThat(on(batch().offset(14).control(ControlRecord.MIRROR_PID_RESET)))
                .isNull();
        assertThat(table.entries()).isEmpty();
        assertThat(table.lastStableOffset(15)).isEqualTo(15);
        assertThat(table.unchangedBelow(14)).isFalse();
        assertThat(table.maxProducerId()).isEqualTo(2);
    }

    static ProducerTable copy(ProducerTable table) {
        ProducerTable copy = new ProducerTable();
        table.entries().forEach(copy::restore);
        copy.atLeast(table.maxProducerId());
        return copy;
    }
}
