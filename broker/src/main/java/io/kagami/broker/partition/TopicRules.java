package io.kagami.broker.partition;

import io.kagami.protocol.records.Codec;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * What the configuration of a topic says about a producer's batch.
 *
 * @param batchBytesMax largest batch
 * @param recordBytesMax largest record in a compressed batch, as it is before compression
 * @param logAppendTime batches get this broker's time instead of the producer's
 * @param compacted records need a key
 * @param timestampBeforeMaxMs how far a record's time may be in the past
 * @param timestampAfterMaxMs how far a record's time may be in the future
 * @param codec what batches are compressed with; empty when that is left to the producer
 * @param level of that codec
 */
public record TopicRules(
        int batchBytesMax,
        int recordBytesMax,
        boolean logAppendTime,
        boolean compacted,
        long timestampBeforeMaxMs,
        long timestampAfterMaxMs,
        Optional<Codec> codec,
        int level) {
    /** Apache Kafka's defaults. */
    public static final TopicRules DEFAULT = of(Map.of(), Map.of());

    /** @param overrides checked when they were set; what neither map has is Kafka's default */
    public static TopicRules of(Map<String, String> overrides, Map<String, String> defaults) {
        Optional<Codec> codec = Codec.named(value("compression.type", "producer", overrides, defaults));
        return new TopicRules(
                Integer.parseInt(value("max.message.bytes", "1048588", overrides, defaults)),
                Integer.parseInt(value("max.decompressed.message.bytes", "2147483639", overrides, defaults)),
                value("message.timestamp.type", "CreateTime", overrides, defaults)
                        .equals("LogAppendTime"),
                value("cleanup.policy", "delete", overrides, defaults).contains("compact"),
                Long.parseLong(value("message.timestamp.before.max.ms", "9223372036854775807", overrides, defaults)),
                Long.parseLong(value("message.timestamp.after.max.ms", "3600000", overrides, defaults)),
                codec,
                codec.map(known -> level(known, overrides, defaults)).orElse(0));
    }

    private static int level(Codec codec, Map<String, String> overrides, Map<String, String> defaults) {
        String usual =
                switch (codec) {
                    case GZIP -> "-1";
                    case LZ4 -> "9";
                    case ZSTD -> "3";
                    case NONE, SNAPPY -> "0";
                };
        String key = "compression." + codec.name().toLowerCase(Locale.ROOT) + ".level";
        return Integer.parseInt(value(key, usual, overrides, defaults));
    }

    private static String value(
            String key, String fallback, Map<String, String> overrides, Map<String, String> defaults) {
        String own = overrides.get(key);
        return (own != null ? own : defaults.getOrDefault(key, fallback)).strip();
    }
}
