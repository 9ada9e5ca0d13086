package io.kagami.cli.view;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;

/**
 * Where the shell prints.
 *
 * @param out what was asked for
 * @param err everything else
 * @param live out is a terminal that understands cursor movement
 * @param columns width of that terminal
 * @param unicode block characters may be used
 * @param colour colours may be used
 */
public record Screen(PrintWriter out, PrintWriter err, boolean live, int columns, boolean unicode, boolean colour) {
    private static final int COLUMNS_MIN = 40;
    private static final int COLUMNS_MAX = 400;

    /** The process's own streams; what the start script found out about the terminal comes as system properties. */
    public static Screen ofProcess() {
        boolean live = Boolean.getBoolean("kagami.terminal");
        int columns = Math.min(COLUMNS_MAX, Math.max(COLUMNS_MIN, Integer.getInteger("kagami.columns", 80)));
        boolean unicode = Boolean.parseBoolean(System.getProperty("kagami.unicode", "true"));
        boolean colour = live && System.getenv("NO_COLOR") == null;
        return new Screen(writer(FileDescriptor.out), writer(FileDescriptor.err), live, columns, unicode, colour);
    }

    /** Plain text into given writers. */
    public static Screen plain(PrintWriter out, PrintWriter err) {
        return new Screen(out, err, false, 80, true, false);
    }

    /** Text in bold where colours are allowed. */
    public String bold(String text) {
        return colour ? "\u001b[1m" + text + "\u001b[0m" : text;
    }

    public String green(String text) {
        return colour ? "\u001b[32m" + text + "\u001b[0m" : text;
    }

    public String red(String text) {
        return colour ? "\u001b[31m" + text + "\u001b[0m" : text;
    }

    public String dim(String text) {
        return colour ? "\u001b[2m" + text + "\u001b[0m" : text;
    }

    private static PrintWriter writer(FileDescriptor descriptor) {
        PrintStream stream = new PrintStream(new FileOutputStream(descriptor), false, StandardCharsets.UTF_8);
        return new PrintWriter(stream, true, StandardCharsets.UTF_8);
    }
}
