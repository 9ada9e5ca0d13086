package io.kagami.mirror;

import io.kagami.mirror.ports.LocalCluster.Refused;
import io.kagami.protocol.client.ClusterClient;
import io.kagami.protocol.client.ClusterMetadata;
import io.kagami.protocol.client.ClusterMetadata.PartitionInfo;
import io.kagami.protocol.client.Connection;
import io.kagami.protocol.client.Reply;
import java.time.Instant;
import java.util.Collection;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CompletionStage;
import java.util.function.Consumer;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.Errors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The far side of one mirror: its pinned cluster id, who leads what, and whether it answers. Used on the mirror's loop only. */
final class SourceCluster {
    private static final Logger LOG = LoggerFactory.getLogger(SourceCluster.class);

    private final MirrorContext mirror;
    private final ClusterClient client;
    private final Consumer<String> onForeign;
    private final Map<String, Topic> topics = new HashMap<>();

    private String pinned;
    private String foreign;
    private long unreachableSinceMs = -1;
    private String unreachableWhy;
    private long answeredAtMs = -1;

    /** Who leads a partition; node -1 when nobody is known to, epoch -1 when unknown. */
    record Leader(int node, int epoch) {
        static final Leader NONE = new Leader(-1, -1);
    }

    private record Topic(Uuid id, Map<Integer, Leader> leaders) {}

    /** @param onForeign runs once, with the id, when the source turns out to be another cluster than the pinned one */
    SourceCluster(MirrorContext mirror, ClusterClient client, String pinned, Consumer<String> onForeign) {
        this.mirror = mirror;
        this.client = client;
        this.pinned = pinned != null ? pinned : mirror.config().expectedClusterId();
        this.onForeign = onForeign;
    }

    /** Topics by name, null for all. Exactly one of the consumers runs, on the loop; {@code ok} not before the cluster id is pinned and is the right one. */
    void metadata(Collection<String> names, Consumer<ClusterMetadata> ok, Consumer<Throwable> failed) {
        onLoop(client.metadata(names), answer -> accept(answer, ok, failed), failure -> {
            unreachable(failure);
            failed.accept(failure);
        });
    }

    private void accept(ClusterMetadata answer, Consumer<ClusterMetadata> ok, Consumer<Throwable> failed) {
        String id = answer.clusterId();
        if (id != null && id.equals(mirror.cluster().clusterId())) {
            Refused itself = new Refused(
                    Errors.INVALID_REQUEST.code(),
                    "the source is this very cluster (id " + id + "); a cluster cannot mirror itself: delete the mirror"
                            + " and create it with the address of the source");
            unreachable(itself);
            failed.accept(itself);
            return;
        }
        reachable();
        if (id != null && pinned == null) {
            // pinned before anything else is believed
            onLoop(
                    mirror.cluster().pinSource(mirror.name(), id),
                    done -> {
                        pinned = id;
                        LOG.atInfo()
                                .addKeyValue("mirror", mirror.name())
                                .addKeyValue("sourceClusterId", id)
                                .log("Pinned the source cluster");
                        accept(answer, ok, failed);
                    },
                    failed);
            return;
        }
        if (!trusted(id)) {
            failed.accept(new IllegalStateException(foreignText()));
            return;
        }
        answer.topics().values().forEach(this::learn);
        ok.accept(answer);
    }

    private void learn(ClusterMetadata.Topic topic) {
        if (topic.errorCode() != 0) {
            return;
        }
        Topic before = topics.get(topic.name());
        boolean same = before != null && before.id().equals(topic.topicId());
        Map<Integer, Leader> leaders = new HashMap<>();
        for (PartitionInfo info : topic.partitions()) {
            Leader known = same ? before.leaders().get(info.partition()) : null;
            Leader told = new Leader(info.leader(), info.leaderEpoch());
            // a broker whose metadata lags tells lower epochs: ignored
            boolean lags = known != null && told.epoch() >= 0 && told.epoch() < known.epoch();
            leaders.put(info.partition(), lags ? known : told);
        }
        topics.put(topic.name(), new Topic(topic.topicId(), leaders));
    }

    /** Checks the cluster id that a connection told; null (not told) passes. */
    boolean trusted(String clusterId) {
        if (foreign != null) {
            return false;
        }
        if (clusterId == null || pinned == null || clusterId.equals(pinned)) {
            return true;
        }
        foreign = clusterId;
        LOG.atError()
                .addKeyValue("mirror", mirror.name())
                .addKeyValue("pinned", pinned)
                .addKeyValue("found", clusterId)
                .log("The source is another cluster; nothing is appended any more");
        onForeign.accept(clusterId);
        return false;
    }

    boolean isForeign() {
        return foreign != null;
    }

    String foreignText() {
        return "the source cluster id is " + foreign + ", but this mirror is pinned to " + pinned;
    }

    String pinned() {
        return pinned;
    }

    Leader leader(String topic, int partition) {
        Topic known = topics.get(topic);
        return known == null ? Leader.NONE : known.leaders().getOrDefault(partition, Leader.NONE);
    }

    boolean knows(String topic) {
        return topics.containsKey(topic);
    }

    Uuid topicId(String topic) {
        Topic known = topics.get(topic);
        return known == null ? Uuid.ZERO_UUID : known.id();
    }

    /** A broker said who leads now; false when that is no news. */
    boolean hint(String topic, int partition, int node, int epoch) {
        Topic known = topics.get(topic);
        Leader now = leader(topic, partition);
        if (known == null || node < 0 || epoch <= now.epoch()) {
            return false;
        }
        ClusterMetadata last = client.lastMetadata();
        if (last == null || last.node(node).isEmpty()) {
            return false; // its address is not known: metadata must be asked
        }
        known.leaders().put(partition, new Leader(node, epoch));
        return true;
    }

    void send(int node, ApiMessage request, Consumer<Reply> ok, Consumer<Throwable> failed) {
        onLoop(client.send(node, request), ok, failed);
    }

    void sendToAny(ApiMessage request, Consumer<Reply> ok, Consumer<Throwable> failed) {
        onLoop(client.sendToAny(request), ok, failed);
    }

    void connect(int node, Consumer<Connection> ok, Consumer<Throwable> failed) {
        onLoop(client.connect(node), ok, failed);
    }

    /** Runs the continuation as a turn of the loop. */
    <T> void onLoop(CompletionStage<T> stage, Consumer<T> ok, Consumer<Throwable> failed) {
        stage.whenComplete((value, failure) -> mirror.turns().post(() -> {
            if (failure != null) {
                failed.accept(cause(failure));
            } else {
                ok.accept(value);
            }
        }));
    }

    static Throwable cause(Throwable failure) {
        Throwable t = failure;
        while (t instanceof CompletionException && t.getCause() != null) {
            t = t.getCause();
        }
        return t;
    }

    void reachable() {
        answeredAtMs = mirror.turns().nowMs();
        if (unreachableSinceMs >= 0) {
            LOG.atInfo().addKeyValue("mirror", mirror.name()).log("The source answers again");
        }
        unreachableSinceMs = -1;
        unreachableWhy = null;
    }

    void unreachable(Throwable why) {
        if (unreachableSinceMs < 0) {
            unreachableSinceMs = mirror.turns().nowMs();
            LOG.atWarn()
                    .addKeyValue("mirror", mirror.name())
                    .addKeyValue("reason", text(why))
                    .log("The source is unreachable; mirroring goes on when it is back");
        }
        unreachableWhy = text(why);
    }

    boolean isReachable() {
        return unreachableSinceMs < 0;
    }

    /** A sentence for the operator. */
    String status() {
        if (foreign != null) {
            return foreignText();
        }
        if (unreachableSinceMs >= 0) {
            return "source unreachable since " + Instant.ofEpochMilli(unreachableSinceMs) + ": " + unreachableWhy;
        }
        return answeredAtMs < 0 ? "connecting" : "connected";
    }

    static String text(Throwable failure) {
        return failure.getMessage() == null ? failure.getClass().getSimpleName() : failure.getMessage();
    }

    void close() {
        client.close();
    }
}
