package io.kagami.cli;

import io.kagami.cli.view.LivePanel;
import io.kagami.cli.view.MirrorProgress;
import io.kagami.cli.view.Screen;
import io.kagami.cli.wire.Refused;
import io.kagami.cli.wire.Wire;
import io.kagami.protocol.MirrorMessages.MirrorDescription;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.function.UnaryOperator;

/** Describes mirrors again and again and shows how far they are: a live panel on a terminal, else one line each time. */
final class Watch {
    private final Screen screen;
    private final Wire wire;
    private final int seconds;
    private final MirrorProgress progress;

    Watch(Screen screen, Wire wire, int seconds) {
        this.screen = screen;
        this.wire = wire;
        this.seconds = seconds;
        this.progress = new MirrorProgress(screen.unicode());
    }

    /**
     * Returns when the condition holds after a round, or when the thread is interrupted. The first round must succeed.
     *
     * @param mirrors names, empty for all
     * @param wanted what of the descriptions is shown and summed up
     */
    void until(List<String> mirrors, UnaryOperator<List<MirrorDescription>> wanted, BooleanSupplier enough) {
        LivePanel panel = new LivePanel(screen);
        InstantSource clock = InstantSource.system();
        boolean first = true;
        do {
            List<String> lines = new ArrayList<>();
            try {
                progress.onDescribed(wanted.apply(MirrorsCommand.described(wire, mirrors)), clock.millis());
                lines.addAll(screen.live() ? progress.panel() : List.of(progress.summary()));
            } catch (Refused e) {
                if (first) {
                    throw e;
                }
                lines.add(e.getMessage() + "; trying again");
            }
            first = false;
            if (screen.live()) {
                panel.draw(lines);
            } else {
                lines.forEach(screen.out()::println);
                screen.out().flush();
            }
        } while (!enough.getAsBoolean() && rest());
    }

    /** False when interrupted. */
    private boolean rest() {
        try {
            return !new CountDownLatch(1).await(seconds, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
