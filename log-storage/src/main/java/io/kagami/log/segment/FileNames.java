package io.kagami.log.segment;

import java.nio.file.Path;
import java.util.Locale;
import java.util.OptionalLong;

/** Every file name of one partition directory, both directions. Names are Apache Kafka's: 20 digits of base offset and a suffix. */
public final class FileNames {
    public static final String LOG = ".log";
    public static final String INDEX = ".index";
    public static final String TIME_INDEX = ".timeindex";
    public static final String TXN_INDEX = ".txnindex";
    public static final String SNAPSHOT = ".snapshot";
    public static final String EPOCHS = "leader-epoch-checkpoint";
    public static final String METADATA = "partition.metadata";

    /** Behind the name of a file that compaction is writing; worth nothing after a crash. */
    public static final String CLEANED = ".cleaned";

    /** Behind the name of a file that compaction has finished: it takes the place of older segments, also after a crash. */
    public static final String SWAP = ".swap";

    /** Behind the name of a file that has left the log and will be removed. */
    public static final String DELETED = ".deleted";

    private static final int DIGITS = 20;

    private FileNames() {}

    public static Path of(Path directory, long baseOffset, String suffix) {
        return directory.resolve(String.format(Locale.ROOT, "%020d", baseOffset) + suffix);
    }

    /** The base offset in the name of a file with this suffix; empty for any other name. */
    public static OptionalLong baseOffset(Path file, String suffix) {
        String name = file.getFileName().toString();
        if (name.length() != DIGITS + suffix.length() || !name.endsWith(suffix)) {
            return OptionalLong.empty();
        }
        for (int i = 0; i < DIGITS; i++) {
            if (name.charAt(i) < '0' || name.charAt(i) > '9') {
                return OptionalLong.empty();
            }
        }
        try {
            return OptionalLong.of(Long.parseLong(name.substring(0, DIGITS)));
        } catch (NumberFormatException beyondLong) {
            return OptionalLong.empty();
        }
    }
}
