package io.kagami.protocol.records;

import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.CompressionType;

/** Compression of a batch. */
public enum Codec {
    NONE(0),
    GZIP(1),
    SNAPPY(2),
    LZ4(3),
    ZSTD(4);

    private static final Codec[] VALUES = values();

    private final int id;

    Codec(int id) {
        this.id = id;
    }

    /** As in the attributes of a batch. */
    public int id() {
        return id;
    }

    /** @throws MalformedRecords for 5 to 7, which nobody has assigned */
    public static Codec of(int id) {
        if (id < 0 || id >= VALUES.length) {
            throw new MalformedRecords("compression codec " + id + " is unknown");
        }
        return VALUES[id]; // in the order of their ids
    }

    /** By the name that configurations use; {@code uncompressed} is {@link #NONE}. Empty for any other word. */
    public static Optional<Codec> named(String name) {
        return Arrays.stream(VALUES)
                .filter(codec -> (codec == NONE ? "uncompressed" : codec.name().toLowerCase(Locale.ROOT)).equals(name))
                .findFirst();
    }

    Compression compression() {
        return Compression.of(CompressionType.forId(id)).build();
    }

    /** @param level as the codec counts; codecs without levels do not look at it */
    Compression compression(int level) {
        return switch (this) {
            case GZIP -> Compression.gzip().level(level).build();
            case LZ4 -> Compression.lz4().level(level).build();
            case ZSTD -> Compression.zstd().level(level).build();
            case NONE, SNAPPY -> compression();
        };
    }
}
