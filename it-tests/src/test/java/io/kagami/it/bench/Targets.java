package io.kagami.it.bench;

import java.util.ArrayList;
import java.util.List;

/** What Kagami has to reach against the others on the same machine: the bound that must hold, the one that is aimed at, and what was measured. */
final class Targets {
    private Targets() {}

    /** The table, its head first. */
    static List<List<String>> lines(Results results) {
        List<List<String>> lines = new ArrayList<>();
        lines.add(List.of("target", "must", "aim", "measured", "verdict"));
        return lines;
    }
}
