package io.kagami.cli;

import io.kagami.cli.view.Screen;
import java.io.PrintWriter;
import java.io.StringWriter;

/** Runs command lines over real connections and keeps what came out. */
public final class ShellOutput {
    private final StringWriter outText = new StringWriter();
    private final StringWriter errText = new StringWriter();

    public int run(String... args) {
        outText.getBuffer().setLength(0);
        errText.getBuffer().setLength(0);
        Screen screen = Screen.plain(new PrintWriter(outText, true), new PrintWriter(errText, true));
        return Shell.commandLine(screen, Clusters.overNetty()).execute(args);
    }

    public String out() {
        return outText.toString();
    }

    public String err() {
        return errText.toString();
    }
}
