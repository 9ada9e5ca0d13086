package io.kagami.broker;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * The properties file, checked as a whole. An unknown key, a bad value or values that contradict each other are a
 * {@link ConfigFault} that names key and line; nothing is guessed.
 *
 * @param clusterId null when a new cluster makes its own
 * @param logDirs at least one
 * @param advertised by listener name; a listener without an entry advertises its own address
 * @param topicDefaults Kafka's topic keys whose default the file sets; the others have Kafka's defaults, which are also those of the table
 * @param producerExpiryMs a partition forgets a producer that has been idle for this long
 * @param metricsListener null when switched off
 * @param shown every key with its value, as DescribeConfigs shows them; there are no secrets among them
 * @param warnings sentences for the log
 */
public record BrokerConfig(
        int nodeId,
        String clusterId,
        List<Listener> listeners,
        Map<String, HostPort> advertised,
        List<Path> logDirs,
        int recoveryThreads,
        Path metadataDir,
        int numPartitions,
        short replicationFactor,
        boolean autoCreateTopics,
        int requestBytesMax,
        int sendBufferBytes,
        int receiveBufferBytes,
        int fetchBytesMax,
        Map<String, String> topicDefaults,
        long producerExpiryMs,
        Groups groups,
        int fetchSessions,
        HostPort metricsListener,
        int networkThreads,
        int partitionLoops,
        int connectionsMax,
        long idleMs,
        Mirroring mirroring,
        Cleaning cleaning,
        Map<String, String> shown,
        List<String> warnings) {
    /** A host and a port. */
    public record HostPort(String host, int port) {
        @Override
        public String toString() {
            return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + port;
        }
    }

    /** One address to listen on. */
    public record Listener(String name, HostPort address) {
        @Override
        public String toString() {
            return name + "://" + address;
        }
    }

    /** Limits of consumer groups. */
    public record Groups(
            int offsetsPartitions,
            int sessionTimeoutMinMs,
            int sessionTimeoutMaxMs,
            int initialRebalanceDelayMs,
            int offsetMetadataBytesMax) {}

    /**
     * Retention and compaction; memory is that of one thread.
     *
     * @param bytesPerSecond read and written over all threads
     * @param mapBytes for the keys of one compaction
     * @param bufferBytes for reading, and as much for writing
     */
    public record Cleaning(
            boolean enabled,
            int threads,
            double bytesPerSecond,
            long mapBytes,
            double mapLoadFactor,
            int bufferBytes,
            long backoffMs,
            long retentionEveryMs) {}

    /** Settings of all mirrors; {@code inFlightBytesMax} bounds bytes fetched and not yet written. */
    public record Mirroring(
            long refreshIntervalMs,
            int fetchersPerBroker,
            long retryInitialMs,
            long retryMaxMs,
            int retryAttemptsMax,
            int frameBytesMax,
            long inFlightBytesMax) {}

    private static final Pattern LISTENER =
            Pattern.compile("([A-Za-z0-9_]+)://(\\[[0-9a-fA-F:.%]+]|[^:\\[\\]/]*):(\\d{1,5})");
    private static final Pattern HTTP = Pattern.compile("http://(\\[[0-9a-fA-F:.%]+]|[^:\\[\\]/]+):(\\d{1,5})/?");
    private static final Map<ConfigKey, String> TOPIC_KEYS = Map.ofEntries(
            Map.entry(ConfigKey.MESSAGE_BYTES, "max.message.bytes"),
            Map.entry(ConfigKey.DECOMPRESSED_BYTES, "max.decompressed.message.bytes"),
            Map.entry(ConfigKey.SEGMENT_BYTES, "segment.bytes"),
            Map.entry(ConfigKey.COMPRESSION_TYPE, "compression.type"),
            Map.entry(ConfigKey.COMPRESSION_GZIP_LEVEL, "compression.gzip.level"),
            Map.entry(ConfigKey.COMPRESSION_LZ4_LEVEL, "compression.lz4.level"),
            Map.entry(ConfigKey.COMPRESSION_ZSTD_LEVEL, "compression.zstd.level"),
            Map.entry(ConfigKey.ROLL_MS, "segment.ms"),
            Map.entry(ConfigKey.ROLL_JITTER, "segment.jitter.ms"),
            Map.entry(ConfigKey.INDEX_INTERVAL, "index.interval.bytes"),
            Map.entry(ConfigKey.INDEX_BYTES, "segment.index.bytes"),
            Map.entry(ConfigKey.CLEANUP_POLICY, "cleanup.policy"),
            Map.entry(ConfigKey.RETENTION_BYTES, "retention.bytes"),
            Map.entry(ConfigKey.DELETE_DELAY, "file.delete.delay.ms"),
            Map.entry(ConfigKey.CLEANER_RATIO, "min.cleanable.dirty.ratio"),
            Map.entry(ConfigKey.CLEANER_DELETE_RETENTION, "delete.retention.ms"),
            Map.entry(ConfigKey.CLEANER_MIN_LAG, "min.compaction.lag.ms"),
            Map.entry(ConfigKey.CLEANER_MAX_LAG, "max.compaction.lag.ms"),
            Map.entry(ConfigKey.TIMESTAMP_TYPE, "message.timestamp.type"),
            Map.entry(ConfigKey.TIMESTAMP_BEFORE, "message.timestamp.before.max.ms"),
            Map.entry(ConfigKey.TIMESTAMP_AFTER, "message.timestamp.after.max.ms"),
            Map.entry(ConfigKey.FLUSH_MESSAGES, "flush.messages"),
            Map.entry(ConfigKey.FLUSH_MS, "flush.ms"));

    /** @param overrides {@code key=value} of the command line, which win over the file */
    public static BrokerConfig load(Path file, List<String> overrides) {
        PropertyLines lines = PropertyLines.read(file);
        overrides.forEach(lines::override);
        return from(lines, file.toString());
    }

    static BrokerConfig parse(List<String> lines, String name) {
        return from(PropertyLines.parse(lines, name), name);
    }

    private static BrokerConfig from(PropertyLines lines, String name) {
        return new Reader(lines.entries(), name).read();
    }

    /** Rows of the README's table: key, default, meaning. */
    static List<String> table() {
        List<String> rows = new ArrayList<>();
        for (ConfigKey key : ConfigKey.byKey().values()) {
            rows.add("| `" + key.key() + "` | " + (key.fallback().isEmpty() ? "-" : "`" + key.fallback() + "`") + " | "
                    + key.doc() + " |");
        }
        return rows;
    }

    /** Reads one file; a class because every complaint needs the lines. */
    private static final class Reader {
        private final Map<String, PropertyLines.Entry> entries;
        private final String name;
        private final List<String> warnings = new ArrayList<>();

        Reader(Map<String, PropertyLines.Entry> entries, String name) {
            this.entries = entries;
            this.name = name;
        }

        BrokerConfig read() {
            checkKeys();
            List<Path> logDirs = logDirs();
            List<Listener> listeners = listeners();
            Map<String, String> topicDefaults = new HashMap<>();
            TOPIC_KEYS.forEach((key, topicKey) -> {
                if (entries.containsKey(key.key())) {
                    topicDefaults.put(topicKey, text(key));
                }
            });
            retentionMs().ifPresent(ms -> topicDefaults.put("retention.ms", Long.toString(ms)));
            return new BrokerConfig(
                    integer(ConfigKey.NODE_ID),
                    emptyToNull(text(ConfigKey.CLUSTER_ID)),
                    listeners,
                    advertised(listeners),
                    logDirs,
                    integer(ConfigKey.RECOVERY_THREADS),
                    text(ConfigKey.METADATA_LOG_DIR).isEmpty()
                            ? logDirs.get(0).resolve("cluster_metadata")
                            : Path.of(text(ConfigKey.METADATA_LOG_DIR)),
                    integer(ConfigKey.NUM_PARTITIONS),
                    (short) integer(ConfigKey.REPLICATION_FACTOR),
                    Boolean.parseBoolean(text(ConfigKey.AUTO_CREATE)),
                    requestBytes(),
                    bufferBytes(ConfigKey.SEND_BUFFER),
                    bufferBytes(ConfigKey.RECEIVE_BUFFER),
                    integer(ConfigKey.FETCH_BYTES),
                    Map.copyOf(topicDefaults),
                    longNumber(ConfigKey.PRODUCER_EXPIRY),
                    groups(),
                    integer(ConfigKey.FETCH_SESSIONS),
                    metricsListener(),
                    threads(ConfigKey.NETWORK_THREADS),
                    threads(ConfigKey.PARTITION_LOOPS),
                    integer(ConfigKey.MAX_CONNECTIONS),
                    longNumber(ConfigKey.IDLE_MS),
                    mirroring(),
                    cleaning(),
                    shown(),
                    List.copyOf(warnings));
        }

        private void checkKeys() {
            Map<String, ConfigKey> known = ConfigKey.byKey();
            entries.forEach((key, entry) -> {
                ConfigKey row = known.get(key);
                if (row == null) {
                    throw new ConfigFault(entry.where() + ": unknown key " + key + nearest(key, known.keySet()));
                }
                String complaint = row.complaint(entry.value());
                if (complaint != null) {
                    throw new ConfigFault(
                            entry.where() + ": " + key + " " + complaint + ", not \"" + entry.value() + "\"");
                }
            });
        }

        private static String nearest(String key, Set<String> known) {
            if (key.equals("transactional.id.expiration.ms")) {
                return ": this broker does not coordinate transactions yet, so that nothing would expire";
            }
            String wanted = key.replace("_", ".").toLowerCase(java.util.Locale.ROOT);
            return known.contains(wanted) ? "; did you mean " + wanted + "?" : "";
        }

        private List<Path> logDirs() {
            List<Path> all = new ArrayList<>();
            Set<Path> seen = new HashSet<>();
            ConfigKey key = text(ConfigKey.LOG_DIRS).isEmpty() ? ConfigKey.LOG_DIR : ConfigKey.LOG_DIRS;
            for (String each : split(text(key))) {
                Path path = Path.of(each);
                if (!seen.add(path.toAbsolutePath().normalize())) {
                    throw fault(key, "names " + each + " twice");
                }
                all.add(path);
            }
            if (all.isEmpty()) {
                throw new ConfigFault(name + ": log.dirs is needed: the directory for the data, or several");
            }
            return List.copyOf(all);
        }

        private List<Listener> listeners() {
            List<Listener> all = parseListeners(ConfigKey.LISTENERS, true);
            if (all.isEmpty()) {
                throw fault(ConfigKey.LISTENERS, "must name at least one listener");
            }
            Set<String> addresses = new HashSet<>();
            Map<String, String> protocols = protocols();
            for (Listener each : all) {
                String protocol = protocols.getOrDefault(each.name(), each.name());
                if (!protocol.equals("PLAINTEXT")) {
                    throw fault(
                            ConfigKey.LISTENERS,
                            "listener " + each.name() + " has the security protocol " + protocol
                                    + "; only PLAINTEXT is supported yet (listener.security.protocol.map names the protocol of"
                                    + " listeners of other names)");
                }
                if (each.address().port() != 0 && !addresses.add(each.address().toString())) {
                    throw fault(ConfigKey.LISTENERS, "two listeners on " + each.address());
                }
                checkReach(each);
            }
            return all;
        }

        private void checkReach(Listener listener) {
            if (loopback(listener.address().host())) {
                return;
            }
            if (!Boolean.parseBoolean(text(ConfigKey.ALLOW_PLAINTEXT))) {
                throw fault(
                        ConfigKey.LISTENERS,
                        "listener " + listener
                                + " is plaintext and other machines can reach it: anyone there may read and write"
                                + " all topics. Set allow.plaintext=true if that is meant");
            }
            warnings.add(
                    "listener " + listener + " is plaintext: anyone who can reach it may read and write all topics");
        }

        private boolean loopback(String host) {
            if (host.isEmpty()) {
                return false;
            }
            try {
                for (InetAddress address : InetAddress.getAllByName(host)) {
                    if (!address.isLoopbackAddress()) {
                        return false;
                    }
                }
                return true;
            } catch (UnknownHostException e) {
                throw fault(ConfigKey.LISTENERS, "host " + host + " cannot be resolved");
            }
        }

        private Map<String, String> protocols() {
            Map<String, String> result = new HashMap<>();
            for (String pair : split(text(ConfigKey.SECURITY_MAP))) {
                String[] parts = pair.split(":", -1);
                if (parts.length != 2) {
                    throw fault(ConfigKey.SECURITY_MAP, "\"" + pair + "\" is not NAME:PROTOCOL");
                }
                result.put(parts[0].strip(), parts[1].strip());
            }
            return result;
        }

        private Map<String, HostPort> advertised(List<Listener> listeners) {
            Map<String, HostPort> result = new LinkedHashMap<>();
            Set<String> names = new HashSet<>();
            listeners.forEach(each -> names.add(each.name()));
            for (Listener each : parseListeners(ConfigKey.ADVERTISED_LISTENERS, false)) {
                if (!names.contains(each.name())) {
                    throw fault(ConfigKey.ADVERTISED_LISTENERS, "there is no listener " + each.name());
                }
                if (each.address().host().equals("0.0.0.0")
                        || each.address().host().equals("::")) {
                    throw fault(ConfigKey.ADVERTISED_LISTENERS, "clients cannot connect to " + each.address());
                }
                result.put(each.name(), each.address());
            }
            for (Listener each : listeners) {
                String host = each.address().host();
                if (!result.containsKey(each.name())
                        && (host.isEmpty() || host.equals("0.0.0.0") || host.equals("::"))) {
                    throw fault(
                            ConfigKey.LISTENERS,
                            "listener " + each
                                    + " listens on all addresses; advertised.listeners must say which one clients use");
                }
            }
            return result;
        }

        private List<Listener> parseListeners(ConfigKey key, boolean emptyHost) {
            List<Listener> all = new ArrayList<>();
            Set<String> names = new HashSet<>();
            for (String each : split(text(key))) {
                Matcher match = LISTENER.matcher(each);
                if (!match.matches() || Integer.parseInt(match.group(3)) > 65_535) {
                    throw fault(key, "\"" + each + "\" is not NAME://host:port");
                }
                if (match.group(2).isEmpty() && !emptyHost) {
                    throw fault(key, "\"" + each + "\" has no host");
                }
                if (!names.add(match.group(1))) {
                    throw fault(key, "listener " + match.group(1) + " is named twice");
                }
                all.add(new Listener(match.group(1), hostPort(match.group(2), match.group(3))));
            }
            return List.copyOf(all);
        }

        private static HostPort hostPort(String host, String port) {
            boolean bracketed = host.startsWith("[");
            return new HostPort(bracketed ? host.substring(1, host.length() - 1) : host, Integer.parseInt(port));
        }

        private HostPort metricsListener() {
            String value = text(ConfigKey.METRICS_LISTENER);
            if (value.isEmpty()) {
                return null;
            }
            Matcher match = HTTP.matcher(value);
            if (!match.matches() || Integer.parseInt(match.group(2)) > 65_535) {
                throw fault(ConfigKey.METRICS_LISTENER, "\"" + value + "\" is not http://host:port");
            }
            return hostPort(match.group(1), match.group(2));
        }

        /** A produce request must be able to carry the largest batch that topics allow by default. */
        private int requestBytes() {
            int request = integer(ConfigKey.REQUEST_BYTES);
            if (request < integer(ConfigKey.MESSAGE_BYTES)) {
                throw fault(
                        ConfigKey.REQUEST_BYTES,
                        "must not be below message.max.bytes=" + text(ConfigKey.MESSAGE_BYTES)
                                + ", or such a batch never arrives");
            }
            return request;
        }

        private int bufferBytes(ConfigKey key) {
            int bytes = integer(key);
            if (bytes == 0) {
                throw fault(key, "0 is no size; -1 leaves it to the system");
            }
            return bytes;
        }

        private Groups groups() {
            int min = integer(ConfigKey.GROUP_MIN_SESSION);
            int max = integer(ConfigKey.GROUP_MAX_SESSION);
            if (min > max) {
                throw fault(ConfigKey.GROUP_MIN_SESSION, "must not be above group.max.session.timeout.ms=" + max);
            }
            return new Groups(
                    integer(ConfigKey.OFFSETS_PARTITIONS),
                    min,
                    max,
                    integer(ConfigKey.GROUP_DELAY),
                    integer(ConfigKey.OFFSET_METADATA));
        }

        private Map<String, String> shown() {
            Map<String, String> all = new HashMap<>();
            for (ConfigKey key : ConfigKey.values()) {
                all.put(key.key(), text(key));
            }
            return Map.copyOf(all);
        }

        /** As in Kafka the finer unit wins; -1 is without limit. Empty when no key is set. */
        private OptionalLong retentionMs() {
            if (!text(ConfigKey.RETENTION_MS).isEmpty()) {
                return OptionalLong.of(duration(ConfigKey.RETENTION_MS, 1));
            }
            if (!text(ConfigKey.RETENTION_MINUTES).isEmpty()) {
                return OptionalLong.of(duration(ConfigKey.RETENTION_MINUTES, 60_000));
            }
            return entries.containsKey(ConfigKey.RETENTION_HOURS.key())
                    ? OptionalLong.of(duration(ConfigKey.RETENTION_HOURS, 3_600_000))
                    : OptionalLong.empty();
        }

        private long duration(ConfigKey key, long unitMs) {
            try {
                long value = Long.parseLong(text(key));
                if (value >= -1) {
                    return value < 0 ? -1 : Math.multiplyExact(value, unitMs);
                }
            } catch (NumberFormatException | ArithmeticException e) {
                throw fault(key, "must be a whole number from -1 on that fits in a time, not \"" + text(key) + "\"");
            }
            throw fault(key, "must be -1 for no limit, or 0 and more, not " + text(key));
        }

        private Cleaning cleaning() {
            long minLag = longNumber(ConfigKey.CLEANER_MIN_LAG);
            if (minLag > longNumber(ConfigKey.CLEANER_MAX_LAG)) {
                throw fault(ConfigKey.CLEANER_MIN_LAG, "must not be above log.cleaner.max.compaction.lag.ms");
            }
            int threads = integer(ConfigKey.CLEANER_THREADS);
            return new Cleaning(
                    Boolean.parseBoolean(text(ConfigKey.CLEANER_ENABLE)),
                    threads,
                    Double.parseDouble(text(ConfigKey.CLEANER_RATE)),
                    longNumber(ConfigKey.CLEANER_MAP) / threads,
                    Double.parseDouble(text(ConfigKey.CLEANER_MAP_LOAD)),
                    Math.max(4096, integer(ConfigKey.CLEANER_BUFFER) / threads / 2),
                    longNumber(ConfigKey.CLEANER_BACKOFF),
                    longNumber(ConfigKey.RETENTION_CHECK));
        }

        private Mirroring mirroring() {
            long initial = longNumber(ConfigKey.MIRROR_RETRY_INITIAL);
            long max = longNumber(ConfigKey.MIRROR_RETRY_MAX);
            if (initial > max) {
                throw fault(
                        ConfigKey.MIRROR_RETRY_INITIAL, "must not be above mirror.failed.retry.max.backoff.ms=" + max);
            }
            return new Mirroring(
                    longNumber(ConfigKey.MIRROR_REFRESH),
                    integer(ConfigKey.MIRROR_FETCHERS),
                    initial,
                    max,
                    integer(ConfigKey.MIRROR_RETRY_ATTEMPTS),
                    integer(ConfigKey.MIRROR_FRAME_BYTES),
                    longNumber(ConfigKey.MIRROR_IN_FLIGHT));
        }

        private int threads(ConfigKey key) {
            int value = integer(key);
            return value > 0 ? value : Runtime.getRuntime().availableProcessors();
        }

        private String text(ConfigKey key) {
            PropertyLines.Entry entry = entries.get(key.key());
            return entry == null ? key.fallback() : entry.value();
        }

        private long longNumber(ConfigKey key) {
            return Long.parseLong(text(key));
        }

        private int integer(ConfigKey key) {
            return Integer.parseInt(text(key));
        }

        private ConfigFault fault(ConfigKey key, String sentence) {
            PropertyLines.Entry entry = entries.get(key.key());
            return new ConfigFault((entry == null ? name : entry.where()) + ": " + key.key() + ": " + sentence);
        }

        private static List<String> split(String list) {
            List<String> parts = new ArrayList<>();
            for (String each : list.split(",")) {
                if (!each.isBlank()) {
                    parts.add(each.strip());
                }
            }
            return parts;
        }

        private static String emptyToNull(String value) {
            return value.isEmpty() ? null : value;
        }
    }
}
