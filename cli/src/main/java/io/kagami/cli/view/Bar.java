package io.kagami.cli.view;

import java.util.Locale;

/** A progress bar of a fixed width. */
public final class Bar {
    private static final String EIGHTHS = " ▏▎▍▌▋▊▉";

    private Bar() {}

    /**
     * @param fraction 0 to 1; below zero when the end is not known. A bar is only full, and only says 100%, when it is 1.
     * @param width characters of the bar; the percentage takes 5 more
     */
    public static String of(double fraction, int width, boolean unicode) {
        if (fraction < 0) {
            return (unicode ? "·" : ".").repeat(width) + "    ?";
        }
        double done = Math.min(1, fraction);
        int eighths = (int) Math.floor(done * width * 8);
        int full = eighths / 8;
        int percent = (int) Math.floor(done * 100);
        String bar;
        if (unicode) {
            String part = full < width ? String.valueOf(EIGHTHS.charAt(eighths % 8)) : "";
            bar = "█".repeat(full) + part + "░".repeat(Math.max(0, width - full - 1));
            bar = part.equals(" ") ? "█".repeat(full) + "░".repeat(width - full) : bar;
        } else {
            bar = "#".repeat(full) + "-".repeat(width - full);
        }
        return bar + String.format(Locale.ROOT, " %3d%%", percent);
    }
}
