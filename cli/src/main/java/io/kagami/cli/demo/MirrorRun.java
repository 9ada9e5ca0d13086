package io.kagami.cli.demo;

import io.kagami.cli.view.MirrorProgress;
import io.kagami.cli.view.Screen;
import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.MirrorMessages.CreateClusterMirrorRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsRequest;
import io.kagami.protocol.MirrorMessages.DescribeClusterMirrorsResponse;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import io.kagami.protocol.MirrorMessages.MirrorResponse;
import io.kagami.protocol.MirrorMessages.MirrorTopicsRequest;
import io.kagami.protocol.MirrorMessages.TopicResult;
import io.kagami.protocol.PrivateApi;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Creates the demo's mirror, starts it and follows it until it has caught up. */
final class MirrorRun {
    /** Without any progress for this long the mirror is taken for stuck. */
    private static final long STUCK_MS = 60_000;

    private static final int START_ATTEMPTS = 10;

    private static final long PLAIN_LINE_EVERY_MS = 2_000;

    private final Wire wire;
    private final String mirror;
    private final Screen screen;
    private final Steps steps;
    private final MirrorProgress progress;

    MirrorRun(Wire wire, String mirror, Screen screen, Steps steps) {
        this.wire = wire;
        this.mirror = mirror;
        this.screen = screen;
        this.steps = steps;
        this.progress = new MirrorProgress(screen.unicode());
    }

    void start(String source) {
        MirrorResponse created = wire.mirrors(
                PrivateApi.CREATE_CLUSTER_MIRROR,
                new CreateClusterMirrorRequest(mirror, Map.of("bootstrap.servers", source, "topics.include", ".*")),
                MirrorResponse.class);
        wire.check(created.errorCode(), created.errorMessage(), "Cannot create the mirror");
        for (int attempt = 1; ; attempt++) {
            MirrorResponse started = wire.mirrors(
                    PrivateApi.START_MIRROR_TOPICS,
                    new MirrorTopicsRequest(mirror, List.of("all"), List.of()),
                    MirrorResponse.class);
            wire.check(started.errorCode(), started.errorMessage(), "Cannot start the mirror");
            Optional<TopicResult> refused = started.topics().stream()
                    .filter(topic -> topic.errorCode() != 0)
                    .findFirst();
            if (refused.isEmpty()) {
                return;
            }
            // the mirror looks for topics by itself too, and may have been in the middle of creating this one
            if (attempt == START_ATTEMPTS) {
                wire.check(
                        refused.get().errorCode(),
                        refused.get().errorMessage(),
                        "Cannot start topic " + refused.get().topic());
            }
            SourceWriter.pause();
        }
    }

    /** Bytes that the mirror has appended. */
    long bytes() {
        return progress.bytes();
    }

    void untilCaughtUp(int topics, int partitions) {
        long movedMs = steps.nowMs();
        long printedMs = steps.nowMs();
        String last = "";
        while (true) {
            List<MirrorDescription> described = describe();
            long now = steps.nowMs();
            progress.onDescribed(described, now);
            steps.show(progress.panel());
            if (!screen.live() && now - printedMs >= PLAIN_LINE_EVERY_MS) {
                steps.print("      " + progress.summary());
                printedMs = now;
            }
            requireNoFailure(described);
            if (progress.partitions() >= partitions && (topics == 0 || progress.lag() == 0)) {
                return;
            }
            String where = progress.partitions() + "/" + progress.lag() + "/" + progress.bytes();
            if (!where.equals(last)) {
                last = where;
                movedMs = now;
            }
            if (now - movedMs > STUCK_MS) {
                throw new DemoFailed("The mirror made no progress for " + STUCK_MS / 1000 + " s: " + progress.summary()
                        + "; the source is " + status(described));
            }
            SourceWriter.pause();
        }
    }

    private List<MirrorDescription> describe() {
        DescribeClusterMirrorsResponse answer = wire.mirrors(
                PrivateApi.DESCRIBE_CLUSTER_MIRRORS,
                new DescribeClusterMirrorsRequest(List.of(mirror)),
                DescribeClusterMirrorsResponse.class);
        wire.check(answer.errorCode(), answer.errorMessage(), "Cannot describe the mirror");
        return answer.mirrors();
    }

    private static void requireNoFailure(List<MirrorDescription> described) {
        for (MirrorDescription mirror : described) {
            mirror.topics().forEach(topic -> topic.partitions().stream()
                    .filter(p -> p.state().equals("FAILED") && p.retryAttempt() < 0)
                    .findFirst()
                    .ifPresent(p -> {
                        throw new Refused(
                                "Mirroring of " + topic.topic() + "-" + p.partition() + " failed: " + p.errorMessage());
                    }));
        }
    }

    private static String status(List<MirrorDescription> described) {
        return described.isEmpty() ? "unknown" : String.valueOf(described.get(0).sourceStatus());
    }
}
