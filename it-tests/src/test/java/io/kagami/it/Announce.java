package io.kagami.it;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;

/** Says what nobody should overlook: in the test's own output, from where the sum of a run repeats it. */
final class Announce {
    private static final PrintStream ERR =
            new PrintStream(new FileOutputStream(FileDescriptor.err), true, StandardCharsets.UTF_8);

    private Announce() {}

    static void skipped(String what, String why) {
        String line = "SKIPPED " + what + ": " + why;
        System.out.println(line);
        ERR.println(line);
    }

    static void say(String line) {
        System.out.println(line);
    }
}
