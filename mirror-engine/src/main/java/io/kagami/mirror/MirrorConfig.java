package io.kagami.mirror;

import io.kagami.mirror.core.FetchPlan;
import io.kagami.mirror.core.TopicSelector;
import io.kagami.mirror.ports.LocalCluster.Refused;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.protocol.Errors;

/**
 * One mirror's configuration, checked.
 *
 * @param expectedClusterId {@code source.cluster.id}, or null: whatever answers first
 * @param discovery what is started without being named, or null when {@code topics.include} is not set
 * @param haltOnRetentionGap {@code retention.gap.policy} is {@code halt}
 * @param propertiesExclude topic overrides that are never taken from the source
 * @param withoutEffect keys that are set and stored but that this version does not act on
 */
public record MirrorConfig(
        List<String> bootstrapServers,
        String expectedClusterId,
        int requestTimeoutMs,
        int receiveBufferBytes,
        FetchPlan.Limits fetch,
        int fetchBackoffMs,
        TopicSelector discovery,
        TopicSelector exclude,
        boolean haltOnRetentionGap,
        Set<String> propertiesExclude,
        List<String> withoutEffect) {
    private static final String PROPERTIES_EXCLUDE_DEFAULT = "follower.replication.throttled.replicas,"
            + "leader.replication.throttled.replicas,message.timestamp.difference.max.ms,"
            + "message.timestamp.before.max.ms,message.timestamp.after.max.ms,message.timestamp.type,"
            + "unclean.leader.election.enable,min.insync.replicas,mirror.replication.throttled.replicas,"
            + "mirror.support.unclean.leader.election";

    private static final Set<String> EFFECTIVE = Set.of(
            "bootstrap.servers",
            "source.cluster.id",
            "request.timeout.ms",
            "socket.receive.buffer.bytes",
            "fetch.wait.max.ms",
            "fetch.min.bytes",
            "fetch.response.max.bytes",
            "fetch.max.bytes",
            "fetch.backoff.ms",
            "topics.include",
            "topics.exclude",
            "topic.properties.exclude",
            "retention.gap.policy",
            "security.protocol");

    private static final Set<String> STORED_ONLY = Set.of(
            "connections.max.idle.ms",
            "groups.include",
            "groups.exclude",
            "groups.sync.interval.ms",
            "acls.include",
            "config.sync.destructive",
            "throttle.rate");

    /** @throws Refused with INVALID_CONFIG; names the key, the value and what is wrong, never a secret */
    public static MirrorConfig parse(Map<String, String> configs) {
        List<String> withoutEffect = new ArrayList<>();
        for (String key : configs.keySet()) {
            if (key.startsWith("sasl.") || key.startsWith("ssl.")) {
                throw bad(key, "is not supported yet: mirrors connect with security.protocol=PLAINTEXT");
            }
            if (STORED_ONLY.contains(key)) {
                withoutEffect.add(key);
            } else if (!EFFECTIVE.contains(key)) {
                throw bad(key, "is not a mirror configuration");
            }
        }
        Reader in = new Reader(configs);
        String protocol = in.text("security.protocol", "PLAINTEXT");
        if (!protocol.equals("PLAINTEXT")) {
            throw bad("security.protocol", "\"" + protocol + "\" is not supported yet, only PLAINTEXT");
        }
        String policy = in.text("retention.gap.policy", "continue");
        if (!policy.equals("continue") && !policy.equals("halt")) {
            throw bad("retention.gap.policy", "must be continue or halt, not \"" + policy + "\"");
        }
        List<String> excludes = in.list("topics.exclude", TopicSelector.EXCLUDE_DEFAULT);
        FetchPlan.Limits fetch = new FetchPlan.Limits(
                in.number("fetch.wait.max.ms", 1000, 0, 60_000),
                in.number("fetch.min.bytes", 1, 1, 100 * 1024 * 1024),
                in.number("fetch.response.max.bytes", 10 * 1024 * 1024, 1024, 100 * 1024 * 1024),
                in.number("fetch.max.bytes", 1024 * 1024, 1024, 100 * 1024 * 1024));
        int requestTimeoutMs = in.number("request.timeout.ms", 30_000, 100, 3_600_000);
        if (requestTimeoutMs <= fetch.waitMs()) {
            throw bad("request.timeout.ms", "must be above fetch.wait.max.ms (" + fetch.waitMs() + ")");
        }
        TopicSelector exclude = in.selector("topics.exclude", List.of(), excludes);
        TopicSelector discovery = configs.containsKey("topics.include")
                ? in.selector("topics.include", in.list("topics.include", ""), excludes)
                : null;
        withoutEffect.sort(null);
        return new MirrorConfig(
                in.servers(),
                configs.get("source.cluster.id"),
                requestTimeoutMs,
                // not the 64 KiB of a replica fetcher: less than two packets of a loopback, so that some are dropped
                // and come again 200 ms later
                in.number("socket.receive.buffer.bytes", -1, -1, 64 * 1024 * 1024),
                fetch,
                in.number("fetch.backoff.ms", 1000, 1, 600_000),
                discovery,
                exclude,
                policy.equals("halt"),
                new LinkedHashSet<>(in.list("topic.properties.exclude", PROPERTIES_EXCLUDE_DEFAULT)),
                List.copyOf(withoutEffect));
    }

    private static Refused bad(String key, String text) {
        return new Refused(Errors.INVALID_CONFIG.code(), "mirror configuration: " + key + " " + text);
    }

    private record Reader(Map<String, String> configs) {
        String text(String key, String standard) {
            String value = configs.get(key);
            return value == null ? standard : value.trim();
        }

        int number(String key, int standard, int min, int max) {
            String value = configs.get(key);
            if (value == null) {
                return standard;
            }
            int number;
            try {
                number = Integer.parseInt(value.trim());
            } catch (NumberFormatException e) {
                throw bad(key, "must be a whole number, not \"" + value + "\"");
            }
            if (number < min || number > max) {
                throw bad(key, "must lie in " + min + ".." + max + ", not " + number);
            }
            return number;
        }

        List<String> list(String key, String standard) {
            List<String> words = new ArrayList<>();
            for (String word : text(key, standard).split(",", -1)) {
                if (!word.isBlank()) {
                    words.add(word.trim());
                }
            }
            return words;
        }

        TopicSelector selector(String key, List<String> include, List<String> exclude) {
            try {
                return TopicSelector.of(include, exclude);
            } catch (IllegalArgumentException e) {
                throw bad(key, e.getMessage());
            }
        }

        List<String> servers() {
            List<String> servers = list("bootstrap.servers", "");
            if (servers.isEmpty()) {
                throw bad("bootstrap.servers", "is required: HOST:PORT,...");
            }
            for (String server : servers) {
                int colon = server.lastIndexOf(':');
                int port = -1;
                try {
                    port = Integer.parseInt(server.substring(colon + 1));
                } catch (NumberFormatException e) {
                    throw bad("bootstrap.servers", "has \"" + server + "\"; expected HOST:PORT");
                }
                if (colon < 1 || port < 1 || port > 65_535) {
                    throw bad("bootstrap.servers", "has \"" + server + "\"; expected HOST:PORT");
                }
            }
            return List.copyOf(servers);
        }
    }
}
