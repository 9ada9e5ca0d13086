package io.kagami.cli.demo;

import io.kagami.cli.view.LivePanel;
import io.kagami.cli.view.Numbers;
import io.kagami.cli.view.Screen;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;

/** What the demo prints while it works: a panel under the step that runs, and one line for each step that is done. */
final class Steps {
    private static final long DRAW_EVERY_MS = 80;

    private final Screen screen;
    private final LivePanel panel;
    private final InstantSource clock = InstantSource.system();
    private final long beganMs = clock.millis();
    private String step = "";
    private long stepBeganMs;
    private long drawnMs;

    Steps(Screen screen) {
        this.screen = screen;
        this.panel = new LivePanel(screen);
    }

    long nowMs() {
        return clock.millis();
    }

    void begin(String what) {
        step = what;
        stepBeganMs = clock.millis();
        drawnMs = 0;
        if (!screen.live()) {
            print("... " + what);
        }
        show(List.of());
    }

    /** Lines under the running step; drawn a dozen times a second at most, and on a terminal only. */
    void show(List<String> lines) {
        long now = clock.millis();
        if (!screen.live() || now - drawnMs < DRAW_EVERY_MS) {
            return;
        }
        drawnMs = now;
        List<String> all = new ArrayList<>();
        all.add("  " + (screen.unicode() ? "◌ " : "* ") + step + " (" + (now - stepBeganMs) / 1000 + " s)");
        lines.forEach(line -> all.add("      " + line));
        panel.draw(all);
    }

    /** Ends the step. {@code what} says what is so now. */
    void done(String what) {
        panel.erase();
        String mark = screen.unicode() ? "✓" : "ok";
        print("  " + screen.green(mark) + " " + what + "  "
                + screen.dim(Numbers.seconds(clock.millis() - stepBeganMs)));
    }

    void stop() {
        panel.erase();
    }

    void print(String line) {
        screen.out().println(line);
        screen.out().flush();
    }

    String elapsed() {
        return Numbers.seconds(clock.millis() - beganMs);
    }
}
