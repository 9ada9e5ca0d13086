package io.kagami.broker;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** One key of the configuration file: its default, how a value is checked, and what it is for. The table in the README is made of these. */
enum ConfigKey {
    NODE_ID("node.id", "1", 0, Integer.MAX_VALUE, "id of this broker"),
    CLUSTER_ID("cluster.id", "", "id of a new cluster; empty = made at first start"),
    LISTENERS("listeners", "PLAINTEXT://127.0.0.1:9092", "name://host:port, comma separated; port 0 = any free port"),
    ADVERTISED_LISTENERS("advertised.listeners", "", "what clients are told to connect to; empty = the listeners"),
    SECURITY_MAP("listener.security.protocol.map", "", "name:PLAINTEXT for listeners of other names"),
    ALLOW_PLAINTEXT(
            "allow.plaintext", "false", "true; false", "permits a plaintext listener that other machines can reach"),
    LOG_DIRS("log.dirs", "", "the data directories, comma separated, best each on a disk of its own; needed"),
    LOG_DIR("log.dir", "", "the same where log.dirs is not set"),
    METADATA_LOG_DIR(
            "metadata.log.dir", "", "directory of the metadata log; empty = cluster_metadata in the first of log.dirs"),
    RECOVERY_THREADS(
            "num.recovery.threads.per.data.dir",
            "2",
            1,
            1024,
            "logs of one data directory that are opened at the same time; a stop closes at least 8 at once"),
    NUM_PARTITIONS("num.partitions", "1", 1, 100_000, "partitions of a topic created without a count"),
    REPLICATION_FACTOR("default.replication.factor", "1", 1, 32_767, "replication factor of such a topic"),
    AUTO_CREATE(
            "auto.create.topics.enable",
            "true",
            "true; false",
            "create a topic when a client that allows it asks for it"),
    REQUEST_BYTES("socket.request.max.bytes", "104857600", 1024, 1 << 30, "largest request"),
    SEND_BUFFER(
            "socket.send.buffer.bytes",
            "102400",
            -1,
            Integer.MAX_VALUE,
            "send buffer of a client's socket; -1 = the system decides; larger for consumers far away"),
    RECEIVE_BUFFER(
            "socket.receive.buffer.bytes",
            "-1",
            -1,
            Integer.MAX_VALUE,
            "receive buffer of a client's socket; -1 = the system decides"),
    MESSAGE_BYTES(
            "message.max.bytes", "1048588", 0, 1 << 30, "largest batch of a producer; default of max.message.bytes"),
    DECOMPRESSED_BYTES(
            "max.decompressed.message.bytes",
            "2147483639",
            1,
            2_147_483_639,
            "largest record in a compressed batch of a producer; default of the same key of topics"),
    FETCH_BYTES("fetch.max.bytes", "57671680", 1024, 1 << 30, "most bytes of one fetch answer"),
    SEGMENT_BYTES("log.segment.bytes", "1073741824", 1 << 20, Integer.MAX_VALUE, "default of segment.bytes"),
    COMPRESSION_TYPE(
            "compression.type",
            "producer",
            "uncompressed; zstd; lz4; snappy; gzip; producer",
            "default of compression.type of topics; producer = as it comes"),
    COMPRESSION_GZIP_LEVEL(
            "compression.gzip.level", "-1", "-1; 1; 2; 3; 4; 5; 6; 7; 8; 9", "default of the same key of topics"),
    COMPRESSION_LZ4_LEVEL("compression.lz4.level", "9", 1, 17, "default of the same key of topics"),
    COMPRESSION_ZSTD_LEVEL("compression.zstd.level", "3", -131_072, 22, "default of the same key of topics"),
    ROLL_MS("log.roll.ms", "604800000", 1, Long.MAX_VALUE, "default of segment.ms"),
    INDEX_INTERVAL("log.index.interval.bytes", "4096", 0, Integer.MAX_VALUE, "default of index.interval.bytes"),
    INDEX_BYTES("log.index.size.max.bytes", "10485760", 12, Integer.MAX_VALUE, "default of segment.index.bytes"),
    FLUSH_MESSAGES(
            "log.flush.interval.messages",
            "9223372036854775807",
            1,
            Long.MAX_VALUE,
            "default of flush.messages: records appended before they are forced to disk"),
    FLUSH_MS(
            "log.flush.interval.ms",
            "9223372036854775807",
            0,
            Long.MAX_VALUE,
            "default of flush.ms: how long appended records may wait to be forced to disk"),
    CLEANUP_POLICY(
            "log.cleanup.policy",
            "delete",
            "delete; compact; compact,delete; delete,compact",
            "default of cleanup.policy"),
    RETENTION_HOURS("log.retention.hours", "168", -1, Integer.MAX_VALUE, "default of retention.ms, in hours"),
    RETENTION_MINUTES("log.retention.minutes", "", "the same in minutes; wins over hours"),
    RETENTION_MS("log.retention.ms", "", "the same in milliseconds; wins over both"),
    RETENTION_BYTES("log.retention.bytes", "-1", -1, Long.MAX_VALUE, "default of retention.bytes"),
    RETENTION_CHECK(
            "log.retention.check.interval.ms",
            "300000",
            1,
            Long.MAX_VALUE / 2,
            "how often old segments are looked for"),
    DELETE_DELAY("log.segment.delete.delay.ms", "60000", 0, Long.MAX_VALUE, "default of file.delete.delay.ms"),
    ROLL_JITTER("log.roll.jitter.ms", "0", 0, Long.MAX_VALUE, "default of segment.jitter.ms"),
    CLEANER_ENABLE("log.cleaner.enable", "true", "true; false", "compact topics whose cleanup.policy says so"),
    CLEANER_THREADS("log.cleaner.threads", "1", 1, 64, "threads that compact"),
    CLEANER_RATE(
            "log.cleaner.io.max.bytes.per.second",
            "1.7976931348623157E308",
            1.0,
            Double.MAX_VALUE,
            "bytes that compaction reads and writes per second, over all threads"),
    CLEANER_MAP(
            "log.cleaner.dedupe.buffer.size",
            "134217728",
            1 << 20,
            Long.MAX_VALUE,
            "memory for the keys of a compaction, over all threads; 24 bytes a key, taken while one runs"),
    CLEANER_MAP_LOAD(
            "log.cleaner.io.buffer.load.factor", "0.9", 0.05, 0.99, "part of that memory that may be filled with keys"),
    CLEANER_BUFFER(
            "log.cleaner.io.buffer.size",
            "524288",
            8192,
            1 << 30,
            "memory for reading and writing in compaction, over all threads"),
    CLEANER_BACKOFF(
            "log.cleaner.backoff.ms", "15000", 0, Integer.MAX_VALUE, "wait before looking again when nothing is dirty"),
    CLEANER_RATIO("log.cleaner.min.cleanable.ratio", "0.5", 0.0, 1.0, "default of min.cleanable.dirty.ratio"),
    CLEANER_DELETE_RETENTION(
            "log.cleaner.delete.retention.ms", "86400000", 0, Long.MAX_VALUE, "default of delete.retention.ms"),
    CLEANER_MIN_LAG("log.cleaner.min.compaction.lag.ms", "0", 0, Long.MAX_VALUE, "default of min.compaction.lag.ms"),
    CLEANER_MAX_LAG(
            "log.cleaner.max.compaction.lag.ms",
            "9223372036854775807",
            1,
            Long.MAX_VALUE,
            "default of max.compaction.lag.ms"),
    TIMESTAMP_TYPE(
            "log.message.timestamp.type",
            "CreateTime",
            "CreateTime; LogAppendTime",
            "default of message.timestamp.type"),
    TIMESTAMP_BEFORE(
            "log.message.timestamp.before.max.ms",
            "9223372036854775807",
            0,
            Long.MAX_VALUE,
            "default of message.timestamp.before.max.ms"),
    TIMESTAMP_AFTER(
            "log.message.timestamp.after.max.ms",
            "3600000",
            0,
            Long.MAX_VALUE,
            "default of message.timestamp.after.max.ms"),
    PRODUCER_EXPIRY(
            "producer.id.expiration.ms",
            "86400000",
            1,
            Integer.MAX_VALUE,
            "a partition forgets a producer that has been idle for this long, unless it has a transaction open"),
    OFFSETS_PARTITIONS(
            "offsets.topic.num.partitions", "50", 1, 10_000, "partitions of __consumer_offsets when it is created"),
    GROUP_MIN_SESSION(
            "group.min.session.timeout.ms", "6000", 1, Integer.MAX_VALUE, "shortest session timeout of a group member"),
    GROUP_MAX_SESSION(
            "group.max.session.timeout.ms",
            "1800000",
            1,
            Integer.MAX_VALUE,
            "longest session timeout of a group member"),
    GROUP_DELAY(
            "group.initial.rebalance.delay.ms", "3000", 0, 600_000, "how long an empty group waits for more members"),
    OFFSET_METADATA("offset.metadata.max.bytes", "4096", 0, 10_922, "longest text beside a committed offset"),
    FETCH_SESSIONS(
            "max.incremental.fetch.session.cache.slots", "1000", 0, 1_000_000, "incremental fetch sessions kept"),
    METRICS_LISTENER(
            "metrics.listener",
            "http://127.0.0.1:9464",
            "address of /metrics and /health; empty = none, port 0 = any free port"),
    NETWORK_THREADS("num.network.threads", "0", 0, 1024, "I/O threads; 0 = one per core"),
    PARTITION_LOOPS("num.partition.loops", "0", 0, 1024, "threads that own the partitions; 0 = one per core"),
    MAX_CONNECTIONS("max.connections", "10000", 1, 1_000_000, "client connections at a time"),
    IDLE_MS(
            "connections.max.idle.ms",
            "600000",
            1000,
            Integer.MAX_VALUE,
            "a connection without traffic is closed after this"),
    MIRROR_REFRESH(
            "mirror.metadata.refresh.interval.ms",
            "60000",
            100,
            Integer.MAX_VALUE,
            "how often mirrors look at their source's topics"),
    MIRROR_FETCHERS("mirror.num.replica.fetchers", "1", 1, 64, "connections of one mirror to one source broker"),
    MIRROR_RETRY_INITIAL(
            "mirror.failed.retry.initial.backoff.ms",
            "100",
            1,
            Integer.MAX_VALUE,
            "first wait before a failed mirror partition is tried again"),
    MIRROR_RETRY_MAX("mirror.failed.retry.max.backoff.ms", "300000", 1, Integer.MAX_VALUE, "longest such wait"),
    MIRROR_RETRY_ATTEMPTS(
            "mirror.failed.retry.max.attempts",
            "20",
            0,
            Integer.MAX_VALUE,
            "attempts before a failure is final; 0 = never retry"),
    MIRROR_FRAME_BYTES(
            "mirror.fetch.hard.max.bytes", "134217728", 1 << 20, Integer.MAX_VALUE, "largest answer of a source"),
    MIRROR_IN_FLIGHT(
            "mirror.fetch.in.flight.max.bytes",
            "134217728",
            1 << 20,
            Long.MAX_VALUE,
            "bytes fetched and not yet written, over all mirrors");

    private final String key;
    private final String fallback;
    private final String allowed;
    private final long min;
    private final long max;
    private final double decimalMin;
    private final double decimalMax;
    private final String doc;

    ConfigKey(String key, String fallback, String allowed, long min, long max, String doc) {
        this.key = key;
        this.fallback = fallback;
        this.allowed = allowed;
        this.min = min;
        this.max = max;
        this.decimalMin = 1;
        this.decimalMax = 0;
        this.doc = doc;
    }

    /** A number with a fraction. */
    ConfigKey(String key, String fallback, double min, double max, String doc) {
        this.key = key;
        this.fallback = fallback;
        this.allowed = "";
        this.min = 1;
        this.max = 0;
        this.decimalMin = min;
        this.decimalMax = max;
        this.doc = doc;
    }

    /** Any text; whoever reads it checks it. */
    ConfigKey(String key, String fallback, String doc) {
        this(key, fallback, "", 1, 0, doc);
    }

    /** One of the words between semicolons. */
    ConfigKey(String key, String fallback, String allowed, String doc) {
        this(key, fallback, allowed, 1, 0, doc);
    }

    /** A whole number. */
    ConfigKey(String key, String fallback, long min, long max, String doc) {
        this(key, fallback, "", min, max, doc);
    }

    String key() {
        return key;
    }

    String fallback() {
        return fallback;
    }

    String doc() {
        return doc;
    }

    /** What is wrong with a value, or null. */
    String complaint(String value) {
        if (!allowed.isEmpty()) {
            return List.of(allowed.split("; ")).contains(value) ? null : "must be one of " + allowed;
        }
        if (decimalMin < decimalMax) {
            return decimalComplaint(value);
        }
        if (min > max) {
            return null;
        }
        try {
            long number = Long.parseLong(value);
            return number >= min && number <= max ? null : "must be between " + min + " and " + max;
        } catch (NumberFormatException e) {
            return "must be a whole number between " + min + " and " + max;
        }
    }

    private String decimalComplaint(String value) {
        String wanted = "must be a number between " + decimalMin + " and " + decimalMax;
        try {
            double number = Double.parseDouble(value);
            return number >= decimalMin && number <= decimalMax ? null : wanted;
        } catch (NumberFormatException e) {
            return wanted;
        }
    }

    static Map<String, ConfigKey> byKey() {
        Map<String, ConfigKey> all = new TreeMap<>();
        for (ConfigKey each : values()) {
            all.put(each.key, each);
        }
        return all;
    }
}
