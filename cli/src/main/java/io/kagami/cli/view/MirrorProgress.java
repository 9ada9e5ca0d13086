package io.kagami.cli.view;

import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorPartitionDescription;
import io.kagami.protocol.MirrorMessages.MirrorTopicDescription;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;

/**
 * How far mirrors are, from one description after another and the times they were taken at. Rates are averages over the last few
 * descriptions. Nothing here waits or prints; not thread-safe.
 */
public final class MirrorProgress {
    private static final int TOPICS_SHOWN_MAX = 24;
    private static final String STOPPED = "STOPPED";
    private static final String NOT_APPLICABLE = "-";
    private static final int BAR_WIDTH = 24;
    /** Descriptions that a rate is averaged over. */
    private static final int WINDOW = 8;

    private record Sample(long nowMs, Map<String, Long> bytesOfTopic) {}

    /** @param stopped whether all of it is: an ordinary topic now, with nothing to be behind of */
    private record Line(
            String key,
            int partitions,
            double fraction,
            long records,
            long lag,
            long bytes,
            String state,
            boolean stopped) {}

    private final boolean unicode;
    private final Deque<Sample> samples = new ArrayDeque<>();
    private List<MirrorDescription> mirrors = List.of();

    public MirrorProgress(boolean unicode) {
        this.unicode = unicode;
    }

    public void onDescribed(List<MirrorDescription> described, long nowMs) {
        mirrors = List.copyOf(described);
        Map<String, Long> bytes = new TreeMap<>();
        topics().forEach(line -> bytes.put(line.key(), line.bytes()));
        samples.addLast(new Sample(nowMs, bytes));
        if (samples.size() > WINDOW) {
            samples.removeFirst();
        }
    }

    /** Records behind over all partitions that are not stopped; -1 when one of them is unknown or there are none. */
    public long lag() {
        return sum(mirrored().stream().map(Line::lag).toList());
    }

    /** Bytes appended by mirrors since the server started; -1 when unknown. */
    public long bytes() {
        // what is stopped may no longer be counted by anyone
        return sum(topics().stream()
                .filter(line -> !line.stopped() || line.bytes() >= 0)
                .map(Line::bytes)
                .toList());
    }

    public int partitions() {
        return topics().stream().mapToInt(Line::partitions).sum();
    }

    public int failed() {
        return (int) mirrors.stream()
                .flatMap(mirror -> mirror.topics().stream())
                .flatMap(topic -> topic.partitions().stream())
                .filter(p -> p.state().equals("FAILED"))
                .count();
    }

    /** Bytes a second over all topics, or -1 before two descriptions have been seen. */
    public double rate() {
        List<Line> lines = mirrored();
        double total = 0;
        for (Line line : lines) {
            double rate = rate(line.key());
            if (rate < 0) {
                return -1;
            }
            total += rate;
        }
        return lines.isEmpty() ? -1 : total;
    }

    /** A table with a bar for each topic: those that lag most first when there are too many, then a line with the sum. */
    public List<String> panel() {
        List<Line> lines = topics();
        List<Line> shown = lines;
        if (lines.size() > TOPICS_SHOWN_MAX) {
            shown = lines.stream()
                    .sorted(Comparator.comparingDouble(Line::fraction).thenComparing(Line::key))
                    .limit(TOPICS_SHOWN_MAX)
                    .toList();
        }
        Table table = new Table("TOPIC", "PARTITIONS", "PROGRESS", "RECORDS", "LAG", "RATE", "STATE");
        for (Line line : shown) {
            table.row(
                    line.key(),
                    line.partitions(),
                    line.stopped() ? NOT_APPLICABLE : Bar.of(line.fraction(), BAR_WIDTH, unicode),
                    Numbers.count(line.records()),
                    line.stopped() ? NOT_APPLICABLE : Numbers.count(line.lag()),
                    line.stopped() ? NOT_APPLICABLE : Numbers.rate(rate(line.key())),
                    line.state());
        }
        List<String> text = new ArrayList<>(table.lines());
        if (lines.size() > shown.size()) {
            text.add("... and " + Numbers.of(lines.size() - shown.size(), "more topic"));
        }
        text.add(summary());
        return text;
    }

    /** One line for logs and for output that is no terminal. */
    public String summary() {
        int failed = failed();
        int topics = topics().size();
        boolean stopped = topics > 0 && mirrored().isEmpty();
        return String.format(
                Locale.ROOT,
                "%s, %s, lag %s, %s mirrored, %s%s",
                Numbers.of(topics, "topic"),
                Numbers.of(partitions(), "partition"),
                stopped ? NOT_APPLICABLE : Numbers.count(lag()),
                Numbers.bytes(bytes()),
                stopped ? NOT_APPLICABLE : Numbers.rate(rate()),
                failed == 0 ? "" : ", " + Numbers.of(failed, "partition") + " FAILED");
    }

    private List<Line> mirrored() {
        return topics().stream().filter(line -> !line.stopped()).toList();
    }

    private List<Line> topics() {
        List<Line> lines = new ArrayList<>();
        for (MirrorDescription mirror : mirrors) {
            for (MirrorTopicDescription topic : mirror.topics()) {
                String name = mirrors.size() > 1 ? mirror.mirror() + "/" + topic.topic() : topic.topic();
                lines.add(line(name, topic.partitions()));
            }
        }
        lines.sort(Comparator.comparing(Line::key));
        return lines;
    }

    private static Line line(String name, List<MirrorPartitionDescription> partitions) {
        List<Long> lags = new ArrayList<>();
        List<Long> bytes = new ArrayList<>();
        List<Long> wanted = new ArrayList<>();
        long done = 0;
        int stopped = 0;
        for (MirrorPartitionDescription p : partitions) {
            if (p.state().equals(STOPPED)) {
                long records = p.destinationOffset() < 0
                        ? -1
                        : p.destinationOffset() - Math.max(0, p.destinationStartOffset());
                wanted.add(records);
                done += Math.max(0, records);
                stopped++;
                if (p.mirroredBytes() >= 0) {
                    bytes.add(p.mirroredBytes());
                }
                continue;
            }
            lags.add(p.lag());
            bytes.add(p.mirroredBytes());
            long start = Math.max(0, p.sourceStartOffset());
            wanted.add(p.sourceOffset() < 0 ? -1 : Math.max(0, p.sourceOffset() - start));
            done += Math.max(0, p.destinationOffset() - start);
        }
        long all = sum(wanted);
        long lag = sum(lags);
        double fraction = all < 0 || lag < 0 ? -1 : all == 0 ? 1 : Math.min(1, (double) done / all);
        // rounding or a start offset that moves must not claim completion while records are missing
        double honest = lag > 0 ? Math.min(fraction, 0.999) : fraction;
        boolean allStopped = stopped > 0 && stopped == partitions.size();
        return new Line(
                name, partitions.size(), allStopped ? 1 : honest, all, lag, sum(bytes), state(partitions), allStopped);
    }

    /** The state of all, or the number of partitions in each. */
    private static String state(List<MirrorPartitionDescription> partitions) {
        Map<String, Integer> counts = new TreeMap<>();
        partitions.forEach(p -> counts.merge(p.state(), 1, Integer::sum));
        if (counts.size() <= 1) {
            return counts.isEmpty()
                    ? Numbers.UNKNOWN
                    : counts.keySet().iterator().next();
        }
        StringBuilder text = new StringBuilder();
        counts.forEach((state, count) ->
                text.append(text.isEmpty() ? "" : " ").append(count).append(' ').append(state));
        return text.toString();
    }

    private double rate(String key) {
        Sample first = samples.peekFirst();
        Sample last = samples.peekLast();
        if (first == null || last == null || last.nowMs() <= first.nowMs()) {
            return -1;
        }
        long from = first.bytesOfTopic().getOrDefault(key, 0L);
        long to = last.bytesOfTopic().getOrDefault(key, -1L);
        if (from < 0 || to < 0) {
            return -1;
        }
        // a server that restarted counts from zero again
        return Math.max(0, to - from) * 1000.0 / (last.nowMs() - first.nowMs());
    }

    /** The sum, or -1 when there is nothing to sum or a part is unknown. */
    private static long sum(List<Long> parts) {
        return parts.isEmpty() || parts.stream().anyMatch(part -> part < 0)
                ? -1
                : parts.stream().mapToLong(Long::longValue).sum();
    }
}
