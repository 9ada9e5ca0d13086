package io.kagami.cli.view;

import java.util.Locale;

/** Numbers as people read them; what is unknown (below zero) is a question mark, never a zero. */
public final class Numbers {
    /** What stands for a value that is not known. */
    public static final String UNKNOWN = "?";

    private static final String[] UNITS = {"B", "KiB", "MiB", "GiB", "TiB"};

    private Numbers() {}

    public static String count(long number) {
        return number < 0 ? UNKNOWN : String.format(Locale.ROOT, "%,d", number);
    }

    /** The bare digits, as tools want them, or a question mark. */
    public static String plain(long number) {
        return number < 0 ? UNKNOWN : Long.toString(number);
    }

    public static String bytes(long bytes) {
        if (bytes < 0) {
            return UNKNOWN;
        }
        double value = bytes;
        int unit = 0;
        while (value >= 1024 && unit < UNITS.length - 1) {
            value /= 1024;
            unit++;
        }
        return unit == 0 ? bytes + " B" : String.format(Locale.ROOT, "%.1f %s", value, UNITS[unit]);
    }

    /** A rate in MB/s (10^6 bytes), or a question mark. */
    public static String rate(double bytesPerSecond) {
        return bytesPerSecond < 0 ? UNKNOWN : String.format(Locale.ROOT, "%.1f MB/s", bytesPerSecond / 1_000_000);
    }

    /** Such as "1 topic" and "2 topics". */
    public static String of(long number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    public static String seconds(long millis) {
        return String.format(Locale.ROOT, "%.1f s", millis / 1000.0);
    }
}
