package io.kagami.log.core;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.core.EpochHistory.End;
import io.kagami.log.core.EpochHistory.Entry;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Random;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class EpochHistoryTest {
    private static final EpochHistory HISTORY =
            EpochHistory.EMPTY.assign(2, 10).assign(2, 15).assign(4, 20).assign(7, 30);

    @Test
    void anEpochBeginsWithItsFirstBatch() {
        assertThat(HISTORY.entries()).containsExactly(new Entry(2, 10), new Entry(4, 20), new Entry(7, 30));
        assertThat(HISTORY.lastEpoch()).isEqualTo(7);
        assertThat(HISTORY.startOf(4)).isEqualTo(OptionalLong.of(20));
        assertThat(HISTORY.startOf(5)).isEmpty();
    }

    /** Kafka's answers; -1 stands for none. */
    @ParameterizedTest
    @CsvSource({"-1,-1,-1", "0,0,10", "1,1,10", "2,2,20", "3,2,20", "4,4,30", "6,4,30", "7,7,99", "8,-1,-1"})
    void kafka6857_endOfEpochIsAnsweredAsAKafkaLeaderDoes(int asked, int epoch, long end) {
        Optional<End> wanted = epoch < 0 ? Optional.empty() : Optional.of(new End(epoch, end));
        assertThat(HISTORY.endOf(asked, 99)).isEqualTo(wanted);
        assertThat(EpochHistory.EMPTY.endOf(asked, 99)).isEmpty();
    }

    @ParameterizedTest
    @CsvSource({"9,-1", "10,2", "19,2", "20,4", "29,4", "30,7", "1000,7"})
    void epochOfAnOffset(long offset, int epoch) {
        assertThat(HISTORY.epochAt(offset)).isEqualTo(epoch);
    }

    @ParameterizedTest
    @CsvSource({"31,3", "30,2", "21,2", "20,1", "11,1", "10,0", "0,0"})
    void cuttingTheEndForgetsEpochsThatBeginThere(long end, int left) {
        assertThat(HISTORY.truncateFromEnd(end).entries())
                .isEqualTo(HISTORY.entries().subList(0, left));
    }

    @Test
    void cuttingTheStartKeepsTheEpochThatGoesOn() {
        assertThat(HISTORY.truncateFromStart(5)).isSameAs(HISTORY);
        assertThat(HISTORY.truncateFromStart(10)).isSameAs(HISTORY);
        assertThat(HISTORY.truncateFromStart(25).entries()).containsExactly(new Entry(4, 25), new Entry(7, 30));
        assertThat(HISTORY.truncateFromStart(20).entries()).containsExactly(new Entry(4, 20), new Entry(7, 30));
        assertThat(HISTORY.truncateFromStart(500).entries()).containsExactly(new Entry(7, 500));
    }

    @Test
    void kafka6857_kafka6859_batchesWithoutEpochTellNothing() {
        assertThat(HISTORY.assign(-1, 50)).isSameAs(HISTORY);
    }

    @Test
    void theBatchWinsOverEntriesThatContradictIt() {
        assertThat(HISTORY.assign(5, 25).entries())
                .containsExactly(new Entry(2, 10), new Entry(4, 20), new Entry(5, 25));
        assertThat(HISTORY.assign(3, 40).entries()).containsExactly(new Entry(2, 10), new Entry(3, 40));
        assertThat(HISTORY.assign(0, 0).entries()).containsExactly(new Entry(0, 0));
    }

    @Property(tries = 200)
    void kafka7415_entriesIncreaseWhateverComes(@ForAll long seed) {
        Random random = new Random(seed);
        EpochHistory history = EpochHistory.EMPTY;
        for (int i = 0; i < 50; i++) {
            history = switch (random.nextInt(4)) {
                case 0 -> history.truncateFromStart(random.nextInt(100));
                case 1 -> history.truncateFromEnd(random.nextInt(100));
                default -> history.assign(random.nextInt(20), random.nextInt(100));
            };
            List<Entry> entries = new ArrayList<>(history.entries());
            for (int j = 1; j < entries.size(); j++) {
                assertThat(entries.get(j).epoch())
                        .isGreaterThan(entries.get(j - 1).epoch());
                assertThat(entries.get(j).startOffset())
                        .isGreaterThan(entries.get(j - 1).startOffset());
            }
        }
    }
}
