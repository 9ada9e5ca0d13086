package io.kagami.cli.view;

import java.io.PrintWriter;
import java.util.List;

/** Lines at the bottom of a terminal that are drawn over and over in place. Without a terminal nothing is drawn: callers print. */
public final class LivePanel {
    private static final String CLEAR_LINE = "\r\u001b[2K";
    private static final String CLEAR_BELOW = "\u001b[J";

    private final Screen screen;
    private int drawn;

    public LivePanel(Screen screen) {
        this.screen = screen;
    }

    /** Replaces what was drawn before. Lines longer than the terminal are cut, or moving up would miscount. */
    public void draw(List<String> lines) {
        if (!screen.live()) {
            return;
        }
        PrintWriter out = screen.out();
        StringBuilder text = new StringBuilder();
        if (drawn > 0) {
            text.append("\u001b[").append(drawn).append('A');
        }
        for (String line : lines) {
            text.append(CLEAR_LINE)
                    .append(coloured(cut(line, screen.columns() - 1)))
                    .append('\n');
        }
        text.append(CLEAR_BELOW);
        out.print(text);
        out.flush();
        drawn = lines.size();
    }

    /** What comes next is printed below; the last drawing stays. */
    public void leave() {
        drawn = 0;
    }

    /** Takes the drawing away. */
    public void erase() {
        draw(List.of());
    }

    static String cut(String line, int width) {
        return line.length() <= width ? line : line.substring(0, Math.max(0, width - 1)) + "…";
    }

    private String coloured(String line) {
        return screen.colour() ? line.replaceAll("[█▏▎▍▌▋▊▉]+", "\u001b[36m$0\u001b[0m") : line;
    }
}
