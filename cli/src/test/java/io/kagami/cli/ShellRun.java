package io.kagami.cli;

import io.kagami.cli.view.Screen;
import java.io.PrintWriter;
import java.io.StringWriter;

/** Runs a command line against a fake cluster and keeps what came out. */
final class ShellRun {
    final FakeCluster cluster = new FakeCluster();
    private final StringWriter outText = new StringWriter();
    private final StringWriter errText = new StringWriter();

    int run(String... args) {
        outText.getBuffer().setLength(0);
        errText.getBuffer().setLength(0);
        Screen screen = Screen.plain(new PrintWriter(outText, true), new PrintWriter(errText, true));
        return Shell.commandLine(screen, options -> cluster).execute(args);
    }

    String out() {
        return outText.toString();
    }

    String err() {
        return errText.toString();
    }
}
