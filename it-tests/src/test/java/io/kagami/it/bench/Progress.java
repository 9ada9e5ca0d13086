package io.kagami.it.bench;

import java.time.LocalTime;
import java.time.ZoneId;
import java.time.temporal.ChronoUnit;

/** What the program tells while it works. */
final class Progress {
    private Progress() {}

    static void say(String line) {
        System.out.println(LocalTime.now(ZoneId.systemDefault()).truncatedTo(ChronoUnit.SECONDS) + "  " + line);
    }
}
