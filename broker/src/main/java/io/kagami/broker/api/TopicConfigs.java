package io.kagami.broker.api;

import static org.apache.kafka.common.config.ConfigDef.Range.atLeast;
import static org.apache.kafka.common.config.ConfigDef.Range.between;

import io.kagami.log.LogOptions;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.ConfigDef.ConfigKey;
import org.apache.kafka.common.config.ConfigDef.Importance;
import org.apache.kafka.common.config.ConfigDef.LambdaValidator;
import org.apache.kafka.common.config.ConfigDef.ValidList;
import org.apache.kafka.common.config.ConfigDef.ValidString;
import org.apache.kafka.common.config.ConfigDef.Validator;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.config.TopicConfig;

/** All topic-level keys of Kafka 4.4 and the ones of mirroring: type, default, check, broker-level name, documentation. Stateless. */
public final class TopicConfigs {
    /** Whether a mirror topic may follow its source through an unclean election, or fails instead. */
    public static final String MIRROR_UNCLEAN_ELECTION = "mirror.support.unclean.leader.election";

    /** Kafka's own key for tests, which may go below the smallest {@code segment.bytes}; never described. */
    public static final String INTERNAL_SEGMENT_BYTES = "internal.segment.bytes";

    private static final String LEADER_THROTTLED = "leader.replication.throttled.replicas";
    private static final String FOLLOWER_THROTTLED = "follower.replication.throttled.replicas";
    /** Largest array that a JVM allocates. */
    private static final int ARRAY_BYTES_MAX = Integer.MAX_VALUE - 8;

    private static final Validator GZIP_LEVEL = LambdaValidator.with(
            (name, value) -> {
                int level = (Integer) value;
                if (level != -1 && (level < 1 || level > 9)) {
                    throw new ConfigException(name, value, "Value must be between 1 and 9 or equal to -1");
                }
            },
            () -> "[1,...,9] or -1");
    private static final Validator THROTTLED_REPLICAS = LambdaValidator.with(
            (name, value) -> {
                List<?> replicas = (List<?>) value;
                boolean all = replicas.equals(List.of("*"));
                boolean pairs = replicas.stream().allMatch(r -> r.toString().matches("\\d+:\\d+"));
                if (!all && !pairs) {
                    throw new ConfigException(
                            name,
                            value,
                            name + " must be the literal '*' or a list of replicas in the following format: "
                                    + "[partitionId]:[brokerId],[partitionId]:[brokerId],...");
                }
            },
            () -> "[partitionId]:[brokerId],[partitionId]:[brokerId],...");

    private static final ConfigDef DEFINITIONS = define();
    /** Topic-level key to the broker-level key that sets its default. */
    private static final Map<String, String> BROKER_KEYS = brokerKeys();

    private TopicConfigs() {}

    /** Names that DescribeConfigs shows, sorted. */
    public static Collection<String> names() {
        return DEFINITIONS.configKeys().values().stream()
                .filter(key -> !key.internalConfig)
                .map(key -> key.name)
                .sorted()
                .toList();
    }

    public static boolean known(String name) {
        return DEFINITIONS.configKeys().containsKey(name);
    }

    public static ConfigDef.Type type(String name) {
        return key(name).type;
    }

    public static String documentation(String name) {
        return key(name).documentation;
    }

    /** Kafka's default as DescribeConfigs prints it. */
    public static String defaultValue(String name) {
        return ConfigDef.convertToString(key(name).defaultValue, type(name));
    }

    /** The broker-level key that sets the default of a topic-level one, if Kafka has one. */
    public static Optional<String> brokerKey(String name) {
        return Optional.ofNullable(BROKER_KEYS.get(name));
    }

    /** The value that holds: the topic's override, else the broker's, else Kafka's default. Null only for an unset internal key. */
    public static String value(String name, Map<String, String> overrides, Map<String, String> defaults) {
        String value = overrides.get(name);
        if (value == null) {
            value = defaults.get(name);
        }
        return value == null ? defaultValue(name) : value;
    }

    /** What is wrong with these overrides, as a sentence for the client; empty when they may be set. */
    public static Optional<String> problem(Map<String, String> overrides) {
        for (Map.Entry<String, String> override : new TreeMap<>(overrides).entrySet()) {
            if (!known(override.getKey())) {
                return Optional.of("Unknown topic config name: " + override.getKey());
            }
            if (override.getValue() == null) {
                return Optional.of("Null value not supported for topic configs: " + override.getKey());
            }
        }
        try {
            return conflict(DEFINITIONS.parse(withoutRepeats(overrides)));
        } catch (ConfigException e) {
            return Optional.of(e.getMessage());
        }
    }

    /** Sizes and times of a topic's logs. The values must have passed {@link #problem}. */
    public static LogOptions logOptions(Map<String, String> overrides, Map<String, String> defaults) {
        String internal = value(INTERNAL_SEGMENT_BYTES, overrides, defaults);
        String segmentBytes =
                internal != null ? internal : value(TopicConfig.SEGMENT_BYTES_CONFIG, overrides, defaults);
        // one entry is the least an index can hold; Kafka accepts less and rolls at each batch
        int indexBytes = Integer.parseInt(value(TopicConfig.SEGMENT_INDEX_BYTES_CONFIG, overrides, defaults)
                .strip());
        String policy = value(TopicConfig.CLEANUP_POLICY_CONFIG, overrides, defaults);
        return new LogOptions(
                Integer.parseInt(segmentBytes.strip()),
                number(TopicConfig.SEGMENT_MS_CONFIG, overrides, defaults),
                number(TopicConfig.SEGMENT_JITTER_MS_CONFIG, overrides, defaults),
                (int) number(TopicConfig.INDEX_INTERVAL_BYTES_CONFIG, overrides, defaults),
                Math.max(12, indexBytes),
                Boolean.parseBoolean(value(TopicConfig.PREALLOCATE_CONFIG, overrides, defaults)
                        .strip()),
                LogOptions.DEFAULT.producerExpiryMs(),
                new LogOptions.Retention(
                        policy.contains(TopicConfig.CLEANUP_POLICY_DELETE),
                        number(TopicConfig.RETENTION_MS_CONFIG, overrides, defaults),
                        number(TopicConfig.RETENTION_BYTES_CONFIG, overrides, defaults),
                        number(TopicConfig.FILE_DELETE_DELAY_MS_CONFIG, overrides, defaults)),
                new LogOptions.Compaction(
                        policy.contains(TopicConfig.CLEANUP_POLICY_COMPACT),
                        number(TopicConfig.DELETE_RETENTION_MS_CONFIG, overrides, defaults),
                        number(TopicConfig.MIN_COMPACTION_LAG_MS_CONFIG, overrides, defaults),
                        number(TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG, overrides, defaults),
                        Double.parseDouble(value(TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_CONFIG, overrides, defaults)
                                .strip())),
                new LogOptions.Flush(
                        number(TopicConfig.FLUSH_MESSAGES_INTERVAL_CONFIG, overrides, defaults),
                        number(TopicConfig.FLUSH_MS_CONFIG, overrides, defaults)));
    }

    private static long number(String name, Map<String, String> overrides, Map<String, String> defaults) {
        return Long.parseLong(value(name, overrides, defaults).strip());
    }

    /** Kafka takes a list that names a value twice, though its check of the single value does not. */
    private static Map<String, String> withoutRepeats(Map<String, String> overrides) {
        Map<String, String> all = new HashMap<>(overrides);
        all.replaceAll((name, value) -> type(name) == ConfigDef.Type.LIST && !value.isBlank()
                ? String.join(",", new LinkedHashSet<>(List.of(value.strip().split("\\s*,\\s*", -1))))
                : value);
        return all;
    }

    private static Optional<String> conflict(Map<String, Object> parsed) {
        Object min = parsed.get(TopicConfig.MIN_COMPACTION_LAG_MS_CONFIG);
        Object max = parsed.get(TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG);
        if ((Long) min > (Long) max) {
            return Optional.of("conflict topic config setting min.compaction.lag.ms (" + min
                    + ") > max.compaction.lag.ms (" + max + ")");
        }
        if (Boolean.TRUE.equals(parsed.get(TopicConfig.REMOTE_LOG_STORAGE_ENABLE_CONFIG))) {
            return Optional.of("Tiered Storage functionality is disabled in the broker. "
                    + "Topic cannot be configured with remote log storage.");
        }
        return Optional.empty();
    }

    private static ConfigKey key(String name) {
        ConfigKey key = DEFINITIONS.configKeys().get(name);
        if (key == null) {
            throw new IllegalArgumentException("there is no topic config " + name);
        }
        return key;
    }

    private static ConfigDef define() {
        ConfigDef def = new ConfigDef();
        defineStorage(def);
        defineRecords(def);
        defineReplication(def);
        return def;
    }

    private static void add(
            ConfigDef def, String name, ConfigDef.Type type, Object value, Validator check, String doc) {
        def.define(name, type, value, check, Importance.MEDIUM, doc);
    }

    private static void defineStorage(ConfigDef def) {
        add(
                def,
                TopicConfig.SEGMENT_BYTES_CONFIG,
                ConfigDef.Type.INT,
                1 << 30,
                atLeast(1 << 20),
                TopicConfig.SEGMENT_BYTES_DOC);
        add(
                def,
                TopicConfig.SEGMENT_MS_CONFIG,
                ConfigDef.Type.LONG,
                604_800_000L,
                atLeast(1),
                TopicConfig.SEGMENT_MS_DOC);
        add(
                def,
                TopicConfig.SEGMENT_JITTER_MS_CONFIG,
                ConfigDef.Type.LONG,
                0L,
                atLeast(0),
                TopicConfig.SEGMENT_JITTER_MS_DOC);
        add(
                def,
                TopicConfig.SEGMENT_INDEX_BYTES_CONFIG,
                ConfigDef.Type.INT,
                10 << 20,
                atLeast(4),
                TopicConfig.SEGMENT_INDEX_BYTES_DOC);
        add(
                def,
                TopicConfig.FLUSH_MESSAGES_INTERVAL_CONFIG,
                ConfigDef.Type.LONG,
                Long.MAX_VALUE,
                atLeast(1),
                TopicConfig.FLUSH_MESSAGES_INTERVAL_DOC);
        add(
                def,
                TopicConfig.FLUSH_MS_CONFIG,
                ConfigDef.Type.LONG,
                Long.MAX_VALUE,
                atLeast(0),
                TopicConfig.FLUSH_MS_DOC);
        add(def, TopicConfig.RETENTION_BYTES_CONFIG, ConfigDef.Type.LONG, -1L, null, TopicConfig.RETENTION_BYTES_DOC);
        add(
                def,
                TopicConfig.RETENTION_MS_CONFIG,
                ConfigDef.Type.LONG,
                604_800_000L,
                atLeast(-1),
                TopicConfig.RETENTION_MS_DOC);
        add(
                def,
                TopicConfig.INDEX_INTERVAL_BYTES_CONFIG,
                ConfigDef.Type.INT,
                4096,
                atLeast(0),
                TopicConfig.INDEX_INTERVAL_BYTES_DOC);
        add(
                def,
                TopicConfig.DELETE_RETENTION_MS_CONFIG,
                ConfigDef.Type.LONG,
                86_400_000L,
                atLeast(0),
                TopicConfig.DELETE_RETENTION_MS_DOC);
        add(
                def,
                TopicConfig.MIN_COMPACTION_LAG_MS_CONFIG,
                ConfigDef.Type.LONG,
                0L,
                atLeast(0),
                TopicConfig.MIN_COMPACTION_LAG_MS_DOC);
        add(
                def,
                TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG,
                ConfigDef.Type.LONG,
                Long.MAX_VALUE,
                atLeast(1),
                TopicConfig.MAX_COMPACTION_LAG_MS_DOC);
        add(
                def,
                TopicConfig.FILE_DELETE_DELAY_MS_CONFIG,
                ConfigDef.Type.LONG,
                60_000L,
                atLeast(0),
                TopicConfig.FILE_DELETE_DELAY_MS_DOC);
        add(
                def,
                TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_CONFIG,
                ConfigDef.Type.DOUBLE,
                0.5,
                between(0, 1),
                TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_DOC);
        add(
                def,
                TopicConfig.CLEANUP_POLICY_CONFIG,
                ConfigDef.Type.LIST,
                List.of(TopicConfig.CLEANUP_POLICY_DELETE),
                ValidList.in(TopicConfig.CLEANUP_POLICY_COMPACT, TopicConfig.CLEANUP_POLICY_DELETE),
                TopicConfig.CLEANUP_POLICY_DOC);
        add(def, TopicConfig.PREALLOCATE_CONFIG, ConfigDef.Type.BOOLEAN, false, null, TopicConfig.PREALLOCATE_DOC);
        def.defineInternal(
                INTERNAL_SEGMENT_BYTES,
                ConfigDef.Type.INT,
                null,
                LambdaValidator.with(
                        (name, value) -> {
                            if (value != null) {
                                atLeast(14).ensureValid(name, value);
                            }
                        },
                        () -> "[14,...]"),
                Importance.LOW,
                "Size of a segment in tests.");
    }

    private static void defineRecords(ConfigDef def) {
        add(
                def,
                TopicConfig.MAX_MESSAGE_BYTES_CONFIG,
                ConfigDef.Type.INT,
                1_048_588,
                atLeast(0),
                TopicConfig.MAX_MESSAGE_BYTES_DOC);
        add(
                def,
                TopicConfig.MAX_DECOMPRESSED_MESSAGE_BYTES_CONFIG,
                ConfigDef.Type.INT,
                ARRAY_BYTES_MAX,
                between(1, ARRAY_BYTES_MAX),
                TopicConfig.MAX_DECOMPRESSED_MESSAGE_BYTES_DOC);
        add(
                def,
                TopicConfig.COMPRESSION_TYPE_CONFIG,
                ConfigDef.Type.STRING,
                "producer",
                ValidString.in("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
                TopicConfig.COMPRESSION_TYPE_DOC);
        add(
                def,
                TopicConfig.COMPRESSION_GZIP_LEVEL_CONFIG,
                ConfigDef.Type.INT,
                -1,
                GZIP_LEVEL,
                TopicConfig.COMPRESSION_GZIP_LEVEL_DOC);
        add(
                def,
                TopicConfig.COMPRESSION_LZ4_LEVEL_CONFIG,
                ConfigDef.Type.INT,
                9,
                between(1, 17),
                TopicConfig.COMPRESSION_LZ4_LEVEL_DOC);
        add(
                def,
                TopicConfig.COMPRESSION_ZSTD_LEVEL_CONFIG,
                ConfigDef.Type.INT,
                3,
                between(-131_072, 22),
                TopicConfig.COMPRESSION_ZSTD_LEVEL_DOC);
        add(
                def,
                TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG,
                ConfigDef.Type.STRING,
                "CreateTime",
                ValidString.in("CreateTime", "LogAppendTime"),
                TopicConfig.MESSAGE_TIMESTAMP_TYPE_DOC);
        add(
                def,
                TopicConfig.MESSAGE_TIMESTAMP_BEFORE_MAX_MS_CONFIG,
                ConfigDef.Type.LONG,
                Long.MAX_VALUE,
                atLeast(0),
                TopicConfig.MESSAGE_TIMESTAMP_BEFORE_MAX_MS_DOC);
        add(
                def,
                TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG,
                ConfigDef.Type.LONG,
                3_600_000L,
                atLeast(0),
                TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_DOC);
        add(
                def,
                TopicConfig.ERRORS_DEADLETTERQUEUE_GROUP_ENABLE_CONFIG,
                ConfigDef.Type.BOOLEAN,
                false,
                null,
                TopicConfig.ERRORS_DEADLETTERQUEUE_GROUP_ENABLE_DOC);
    }

    private static void defineReplication(ConfigDef def) {
        add(
                def,
                TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG,
                ConfigDef.Type.BOOLEAN,
                false,
                null,
                TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_DOC);
        add(
                def,
                TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG,
                ConfigDef.Type.INT,
                1,
                atLeast(1),
                TopicConfig.MIN_IN_SYNC_REPLICAS_DOC);
        add(
                def,
                LEADER_THROTTLED,
                ConfigDef.Type.LIST,
                List.of(),
                THROTTLED_REPLICAS,
                "Replicas whose replication is throttled at the leader: [partitionId]:[brokerId] pairs, or * for all.");
        add(
                def,
                FOLLOWER_THROTTLED,
                ConfigDef.Type.LIST,
                List.of(),
                THROTTLED_REPLICAS,
                "Replicas whose replication is throttled at the follower: [partitionId]:[brokerId] pairs, or * for all.");
        add(
                def,
                MIRROR_UNCLEAN_ELECTION,
                ConfigDef.Type.BOOLEAN,
                false,
                null,
                "Whether a mirror topic follows its source after an unclean leader election there, which cuts records here.");
        add(
                def,
                TopicConfig.REMOTE_LOG_STORAGE_ENABLE_CONFIG,
                ConfigDef.Type.BOOLEAN,
                false,
                null,
                TopicConfig.REMOTE_LOG_STORAGE_ENABLE_DOC);
        add(
                def,
                TopicConfig.LOCAL_LOG_RETENTION_MS_CONFIG,
                ConfigDef.Type.LONG,
                -2L,
                atLeast(-2),
                TopicConfig.LOCAL_LOG_RETENTION_MS_DOC);
        add(
                def,
                TopicConfig.LOCAL_LOG_RETENTION_BYTES_CONFIG,
                ConfigDef.Type.LONG,
                -2L,
                atLeast(-2),
                TopicConfig.LOCAL_LOG_RETENTION_BYTES_DOC);
        add(
                def,
                TopicConfig.REMOTE_LOG_COPY_DISABLE_CONFIG,
                ConfigDef.Type.BOOLEAN,
                false,
                null,
                TopicConfig.REMOTE_LOG_COPY_DISABLE_DOC);
        add(
                def,
                TopicConfig.REMOTE_COPY_LAG_MS_CONFIG,
                ConfigDef.Type.LONG,
                0L,
                atLeast(-1),
                TopicConfig.REMOTE_COPY_LAG_MS_DOC);
        add(
                def,
                TopicConfig.REMOTE_COPY_LAG_BYTES_CONFIG,
                ConfigDef.Type.LONG,
                -1L,
                atLeast(-1),
                TopicConfig.REMOTE_COPY_LAG_BYTES_DOC);
        add(
                def,
                TopicConfig.REMOTE_LOG_DELETE_ON_DISABLE_CONFIG,
                ConfigDef.Type.BOOLEAN,
                false,
                null,
                TopicConfig.REMOTE_LOG_DELETE_ON_DISABLE_DOC);
    }

    private static Map<String, String> brokerKeys() {
        Map<String, String> keys = new HashMap<>();
        for (String same : List.of(
                TopicConfig.COMPRESSION_TYPE_CONFIG,
                TopicConfig.COMPRESSION_GZIP_LEVEL_CONFIG,
                TopicConfig.COMPRESSION_LZ4_LEVEL_CONFIG,
                TopicConfig.COMPRESSION_ZSTD_LEVEL_CONFIG,
                TopicConfig.MIN_IN_SYNC_REPLICAS_CONFIG,
                TopicConfig.UNCLEAN_LEADER_ELECTION_ENABLE_CONFIG,
                TopicConfig.MAX_DECOMPRESSED_MESSAGE_BYTES_CONFIG)) {
            keys.put(same, same);
        }
        for (String prefixed : List.of(
                TopicConfig.SEGMENT_BYTES_CONFIG,
                TopicConfig.RETENTION_BYTES_CONFIG,
                TopicConfig.RETENTION_MS_CONFIG,
                TopicConfig.CLEANUP_POLICY_CONFIG,
                TopicConfig.PREALLOCATE_CONFIG,
                TopicConfig.INDEX_INTERVAL_BYTES_CONFIG,
                TopicConfig.MESSAGE_TIMESTAMP_TYPE_CONFIG,
                TopicConfig.MESSAGE_TIMESTAMP_BEFORE_MAX_MS_CONFIG,
                TopicConfig.MESSAGE_TIMESTAMP_AFTER_MAX_MS_CONFIG,
                TopicConfig.LOCAL_LOG_RETENTION_MS_CONFIG,
                TopicConfig.LOCAL_LOG_RETENTION_BYTES_CONFIG,
                TopicConfig.REMOTE_COPY_LAG_MS_CONFIG,
                TopicConfig.REMOTE_COPY_LAG_BYTES_CONFIG)) {
            keys.put(prefixed, "log." + prefixed);
        }
        for (String cleaner : List.of(
                TopicConfig.DELETE_RETENTION_MS_CONFIG,
                TopicConfig.MIN_COMPACTION_LAG_MS_CONFIG,
                TopicConfig.MAX_COMPACTION_LAG_MS_CONFIG)) {
            keys.put(cleaner, "log.cleaner." + cleaner);
        }
        keys.put(TopicConfig.MIN_CLEANABLE_DIRTY_RATIO_CONFIG, "log.cleaner.min.cleanable.ratio");
        keys.put(TopicConfig.SEGMENT_MS_CONFIG, "log.roll.ms");
        keys.put(TopicConfig.SEGMENT_JITTER_MS_CONFIG, "log.roll.jitter.ms");
        keys.put(TopicConfig.SEGMENT_INDEX_BYTES_CONFIG, "log.index.size.max.bytes");
        keys.put(TopicConfig.FLUSH_MESSAGES_INTERVAL_CONFIG, "log.flush.interval.messages");
        keys.put(TopicConfig.FLUSH_MS_CONFIG, "log.flush.interval.ms");
        keys.put(TopicConfig.MAX_MESSAGE_BYTES_CONFIG, "message.max.bytes");
        keys.put(TopicConfig.FILE_DELETE_DELAY_MS_CONFIG, "log.segment.delete.delay.ms");
        return Map.copyOf(keys);
    }
}
