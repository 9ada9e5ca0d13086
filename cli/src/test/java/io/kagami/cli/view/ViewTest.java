package io.kagami.cli.view;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorPartitionDescription;
import io.kagami.protocol.MirrorMessages.MirrorTopicDescription;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import net.jqwik.api.ForAll;
import net.jqwik.api.Property;
import net.jqwik.api.constraints.DoubleRange;
import net.jqwik.api.constraints.IntRange;
import org.apache.kafka.common.Uuid;
import org.junit.jupiter.api.Test;

class ViewTest {
    @Test
    void numbersStandToTheRightAndWordsToTheLeft() {
        Table table = new Table("NAME", "COUNT", "SIZE").row("a", 5, "1.5 MiB").row("bcdef", "?", "12 B");
        assertThat(table.lines())
                .containsExactly("NAME   COUNT     SIZE", "a          5  1.5 MiB", "bcdef      ?     12 B");
        assertThatThrownBy(() -> table.row("too", "few")).isInstanceOf(IllegalArgumentException.class);
    }

    @Test
    void jsonEscapesWhatMustBeEscaped() {
        Map<String, Object> map = new LinkedHashMap<>();
        map.put("a\"b", "x\\y\n\t\u0001\ud800");
        map.put("pair", "\ud83d\ude00é");
        map.put("none", null);
        map.put("list", List.of());
        map.put("deep", List.of(Map.of(), true, -5L));
        assertThat(Json.write(map))
                .isEqualTo(
                        """
                        {
                          "a\\"b": "x\\\\y\\n\\t\\u0001\\ud800",
                          "pair": "\ud83d\ude00é",
                          "none": null,
                          "list": [],
                          "deep": [
                            {},
                            true,
                            -5
                          ]
                        }""");
        assertThat(Json.known(-1)).isNull();
        assertThat(Json.known(0)).isZero();
    }

    @Test
    void theUnknownIsNeverZero() {
        assertThat(Numbers.count(-1)).isEqualTo("?");
        assertThat(Numbers.bytes(-1)).isEqualTo("?");
        assertThat(Numbers.rate(-1)).isEqualTo("?");
        assertThat(Numbers.plain(-1)).isEqualTo("?");
        assertThat(Bar.of(-1, 10, true)).endsWith("?").doesNotContain("%");
    }

    @Test
    void sizesHaveUnits() {
        assertThat(Numbers.bytes(1023)).isEqualTo("1023 B");
        assertThat(Numbers.bytes(1536)).isEqualTo("1.5 KiB");
        assertThat(Numbers.bytes(5L << 40)).isEqualTo("5.0 TiB");
        assertThat(Numbers.count(1_234_567)).isEqualTo("1,234,567");
        assertThat(Numbers.rate(12_340_000)).isEqualTo("12.3 MB/s");
    }

    @Test
    void barsGrow() {
        assertThat(Bar.of(0, 4, true)).isEqualTo("░░░░   0%");
        assertThat(Bar.of(0.5, 4, true)).isEqualTo("██░░  50%");
        assertThat(Bar.of(0.53125, 4, true)).isEqualTo("██▏░  53%");
        assertThat(Bar.of(1, 4, true)).isEqualTo("████ 100%");
        assertThat(Bar.of(0.5, 4, false)).isEqualTo("##--  50%");
    }

    @Property
    void aBarKeepsItsWidthAndIsFullOnlyAtTheEnd(
            @ForAll @DoubleRange(min = -1, max = 1.5) double fraction, @ForAll @IntRange(min = 1, max = 60) int width) {
        for (boolean unicode : List.of(true, false)) {
            String bar = Bar.of(fraction, width, unicode);
            assertThat(bar).hasSize(width + 5);
            assertThat(bar.contains("100%")).isEqualTo(fraction >= 1);
        }
    }

    @Test
    void progressShowsBarsRatesAndTheLag() {
        MirrorProgress progress = new MirrorProgress(true);
        progress.onDescribed(List.of(mirror("m", topic("orders", at(0, 1_000, 250, 1_000_000)))), 10_000);
        assertThat(progress.panel().get(1)).contains("25%", "orders", "1,000", "750", "?", "MIRRORING");
        progress.onDescribed(List.of(mirror("m", topic("orders", at(0, 1_000, 750, 3_000_000)))), 11_000);
        assertThat(progress.panel().get(1)).contains("75%", "250", "2.0 MB/s");
        assertThat(progress.lag()).isEqualTo(250);
        assertThat(progress.summary()).isEqualTo("1 topic, 1 partition, lag 250, 2.9 MiB mirrored, 2.0 MB/s");
    }

    @Test
    void progressNeverClaimsToBeDoneWhileRecordsAreMissingOrUnknown() {
        MirrorProgress progress = new MirrorProgress(true);
        progress.onDescribed(List.of(mirror("m", topic("t", at(0, 1_000_000, 999_999, 5)))), 0);
        assertThat(progress.panel().get(1)).contains(" 99%");
        progress.onDescribed(List.of(mirror("m", topic("t", at(0, 10, 10, 5), at(1, -1, 10, 5)))), 0);
        assertThat(progress.lag()).isEqualTo(-1);
        assertThat(progress.panel().get(1)).contains("?").doesNotContain("100%");
        progress.onDescribed(List.of(), 0);
        assertThat(progress.lag()).isEqualTo(-1);
    }

    @Test
    void stoppedTopicsShowTheirRecordsAndMakeNoLagUnknown() {
        MirrorProgress progress = new MirrorProgress(true);
        MirrorTopicDescription stopped = topic("old", in("STOPPED", -1, 1_700, -1));
        MirrorTopicDescription failed = topic("odd", in("FAILED", 20, 10, 10));
        progress.onDescribed(List.of(mirror("m", topic("new", at(0, 10, 5, 7)), failed, stopped)), 0);
        assertThat(progress.lag()).isEqualTo(15);
        assertThat(progress.panel().get(3)).contains("1,700", "STOPPED").doesNotContain("?", "%");
        assertThat(progress.summary())
                .isEqualTo("3 topics, 3 partitions, lag 15, 14 B mirrored, ?, 1 partition FAILED");
        progress.onDescribed(List.of(mirror("m", stopped)), 0);
        assertThat(progress.summary()).startsWith("1 topic, 1 partition, lag -, ");
    }

    @Test
    void manyTopicsAreCutToTheSlowest() {
        MirrorProgress progress = new MirrorProgress(false);
        List<MirrorTopicDescription> topics = new ArrayList<>();
        for (int i = 0; i < 100; i++) {
            topics.add(topic(String.format("t%02d", i), at(0, 100, i, i)));
        }
        progress.onDescribed(List.of(mirror("m", topics.toArray(MirrorTopicDescription[]::new))), 0);
        List<String> panel = progress.panel();
        assertThat(panel).hasSize(1 + 24 + 2);
        assertThat(panel.get(1)).startsWith("t00");
        assertThat(panel).contains("... and 76 more topics");
    }

    @Test
    void aPanelIsDrawnOverItselfAndCutToTheTerminal() {
        StringWriter text = new StringWriter();
        Screen screen = new Screen(new PrintWriter(text, true), new PrintWriter(text, true), true, 10, true, false);
        LivePanel panel = new LivePanel(screen);
        panel.draw(List.of("one", "a line that is too long"));
        panel.draw(List.of("two"));
        assertThat(text.toString())
                .isEqualTo("\r\u001b[2Kone\n\r\u001b[2Ka line t…\n\u001b[J" + "\u001b[2A\r\u001b[2Ktwo\n\u001b[J");
    }

    @Test
    void withoutATerminalNothingIsDrawn() {
        StringWriter text = new StringWriter();
        new LivePanel(Screen.plain(new PrintWriter(text), new PrintWriter(text))).draw(List.of("x"));
        assertThat(text.toString()).isEmpty();
    }

    private static MirrorDescription mirror(String name, MirrorTopicDescription... topics) {
        return new MirrorDescription(name, (short) 0, null, "id", "k:9092", "connected", Arrays.asList(topics));
    }

    private static MirrorTopicDescription topic(String name, MirrorPartitionDescription... partitions) {
        return new MirrorTopicDescription(name, Uuid.ZERO_UUID, "MIRRORING", Arrays.asList(partitions));
    }

    private static MirrorPartitionDescription in(String state, long source, long destination, long lag) {
        long bytes = source < 0 ? -1 : 7;
        return new MirrorPartitionDescription(0, state, 0, source, 0, destination, lag, -1, -1, 1, bytes, 0, null);
    }

    private static MirrorPartitionDescription at(int partition, long source, long destination, long bytes) {
        long lag = source < 0 ? -1 : source - destination;
        return new MirrorPartitionDescription(
                partition, "MIRRORING", 0, source, 0, destination, lag, -1, -1, 1, bytes, 0, null);
    }
}
