package io.kagami.cli.demo;

import io.kagami.cli.view.LivePanel;
import io.kagami.cli.view.Numbers;
import io.kagami.cli.view.Screen;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;

/**
 * What the demo prints while it works: on a terminal a panel under the step that runs, drawn again by a thread of its own so that it is
 * seen to be alive; and one line for each step that is done. Thread-safe.
 */
final class Steps implements AutoCloseable {
    private static final long DRAW_EVERY_MS = 100;
    private static final String SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";
    private static final String PLAIN_SPINNER = "|/-\\";

    private final Screen screen;
    private final LivePanel panel;
    private final InstantSource clock = InstantSource.system();
    private final long beganMs = clock.millis();
    private final ScheduledExecutorService drawing;
    private String step;
    private List<String> under = List.of();
    private long stepBeganMs;
    private int frame;

    Steps(Screen screen) {
        this.screen = screen;
        this.panel = new LivePanel(screen);
        this.drawing = Executors.newSingleThreadScheduledExecutor(task -> {
            Thread thread = new Thread(task, "demo-panel");
            thread.setDaemon(true);
            return thread;
        });
        if (screen.live()) {
            drawing.scheduleAtFixedRate(this::draw, DRAW_EVERY_MS, DRAW_EVERY_MS, TimeUnit.MILLISECONDS);
        }
    }

    long nowMs() {
        return clock.millis();
    }

    synchronized void begin(String what) {
        step = what;
        under = List.of();
        stepBeganMs = clock.millis();
        if (!screen.live()) {
            print("... " + what);
        }
        draw();
    }

    /** Lines under the running step, from now on. */
    synchronized void show(List<String> lines) {
        under = List.copyOf(lines);
    }

    /** Ends the step. {@code what} says what is so now. */
    synchronized void done(String what) {
        clear();
        String mark = screen.unicode() ? "✓" : "ok";
        print("  " + screen.green(mark) + " " + what + "  "
                + screen.dim(Numbers.seconds(clock.millis() - stepBeganMs)));
    }

    /** Takes the panel away; the step it belonged to has ended or failed. */
    synchronized void clear() {
        if (step != null) {
            step = null;
            panel.erase();
        }
    }

    synchronized void print(String line) {
        screen.out().println(line);
        screen.out().flush();
    }

    String elapsed() {
        return Numbers.seconds(clock.millis() - beganMs);
    }

    private synchronized void draw() {
        if (step == null) {
            return;
        }
        String frames = screen.unicode() ? SPINNER : PLAIN_SPINNER;
        frame = (frame + 1) % frames.length();
        List<String> all = new ArrayList<>();
        all.add("  " + frames.charAt(frame) + " " + step + "  " + Numbers.seconds(clock.millis() - stepBeganMs));
        under.forEach(line -> all.add("      " + line));
        panel.draw(all);
    }

    @Override
    public void close() {
        clear();
        drawing.shutdownNow();
    }
}
