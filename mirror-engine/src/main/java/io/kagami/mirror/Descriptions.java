package io.kagami.mirror;

import io.kagami.mirror.core.OffsetRules;
import io.kagami.mirror.core.PartitionState;
import io.kagami.mirror.core.Phase;
import io.kagami.mirror.ports.LocalCluster.LocalTopic;
import io.kagami.mirror.ports.LocalPartitions.Position;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorPartitionDescription;
import io.kagami.protocol.MirrorMessages.MirrorTopicDescription;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** What an operator sees of a mirror. A number that is not known is -1, never 0. Loop only. */
final class Descriptions {
    private Descriptions() {}

    static MirrorDescription of(MirrorContext mirror, Mirror running) {
        List<MirrorTopicDescription> topics = new ArrayList<>();
        List<LocalTopic> sorted = new ArrayList<>(mirror.cluster().topicsOf(mirror.name()));
        sorted.sort(Comparator.comparing(LocalTopic::name));
        for (LocalTopic topic : sorted) {
            List<MirrorPart> parts = new ArrayList<>(running.of(topic.name()));
            parts.sort(Comparator.comparingInt(p -> p.id.partition()));
            List<MirrorPartitionDescription> described = new ArrayList<>();
            for (MirrorPart part : parts) {
                described.add(partition(mirror, running.source(), part));
            }
            topics.add(new MirrorTopicDescription(
                    topic.name(), topic.topicId(), String.valueOf(topic.desired()), described));
        }
        StringBuilder status = new StringBuilder(running.source().status());
        running.starter().notes().forEach(note -> status.append("; ").append(note));
        running.discovery().notes().forEach(note -> status.append("; ").append(note));
        return new MirrorDescription(
                mirror.name(),
                (short) 0,
                null,
                running.source().pinned(),
                String.join(",", mirror.config().bootstrapServers()),
                status.toString(),
                topics);
    }

    private static MirrorPartitionDescription partition(MirrorContext mirror, SourceCluster source, MirrorPart part) {
        Optional<Position> at = mirror.local().position(part.id);
        long measuredAt = measuredAtMs(part);
        long lag = lag(mirror, source, part);
        PartitionState state = part.state;
        return new MirrorPartitionDescription(
                part.id.partition(),
                state == null ? "NONE" : state.phase().name(),
                part.sourceStart,
                part.sourceEnd,
                at.map(Position::startOffset).orElse(-1L),
                at.map(Position::endOffset).orElse(-1L),
                lag,
                lag == 0 ? 0 : -1,
                lag == 0 ? 0 : -1,
                measuredAt < 0 ? -1 : Math.max(0, mirror.turns().nowMs() - measuredAt),
                part.mirroredBytes,
                state == null ? 0 : state.retryAttempt(),
                text(part));
    }

    /** Records behind; -1 unless a live connection vouches for the source's end. */
    static long lag(MirrorContext mirror, SourceCluster source, MirrorPart part) {
        Optional<Position> at = mirror.local().position(part.id);
        boolean current = part.phase() == Phase.MIRRORING
                && source.isReachable()
                && part.fetcher != null
                && part.fetcher.connected()
                && part.sourceEnd >= 0
                && at.isPresent();
        return current ? OffsetRules.lag(part.sourceEnd, at.get().endOffset(), true) : -1;
    }

    /** An idle partition is left out of the answers of its session, so the session's last answer is its measurement. */
    private static long measuredAtMs(MirrorPart part) {
        if (part.measuredAtMs < 0) {
            return -1;
        }
        long answered = part.fetcher == null || part.fetcher.epochOf(part) < -1 ? -1 : part.fetcher.answeredAtMs();
        return Math.max(part.measuredAtMs, answered);
    }

    private static String text(MirrorPart part) {
        List<String> texts = new ArrayList<>();
        if (part.state != null && part.state.errorMessage() != null) {
            texts.add(part.state.errorMessage());
        }
        if (part.gap != null) {
            texts.add(part.gap);
        }
        if (part.note != null) {
            texts.add(part.note);
        }
        return texts.isEmpty() ? null : String.join("; ", texts);
    }
}
