package io.kagami.cli;

import io.kagami.cli.demo.Demo;
import io.kagami.cli.demo.DemoFailed;
import io.kagami.cli.view.Screen;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** {@code kagami demo}: prepares a directory, runs the demo, stays up until Ctrl-C. */
@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description = {
            "Mirror a real Kafka cluster and prove that the copy is the same, byte for byte.",
            "Starts an Apache Kafka and a Kagami as child processes on 127.0.0.1, fills the first,"
                    + " mirrors it into the second, compares every batch, and stays up until Ctrl-C."
        })
final class DemoCommand implements Callable<Integer> {
    private static final int WATCH_EVERY_MS = 500;

    @Option(
            names = "--source",
            paramLabel = "HOST:PORT",
            description = "Mirror this cluster of yours instead; nothing is written to it.")
    private String source;

    @Option(names = "--once", description = "End after the check: exit code 0 only if all is identical.")
    private boolean once;

    @Option(
            names = "--dir",
            paramLabel = "DIR",
            description = "Where data and logs go; new or empty (default: a temporary directory).")
    private Path dir;

    @Option(names = "--keep", description = "Keep data and logs.")
    private boolean keep;

    @Spec
    private CommandSpec spec;

    private final Screen screen;

    DemoCommand(Screen screen) {
        this.screen = screen;
    }

    @Override
    public Integer call() {
        checkSource();
        String home = System.getProperty("kagami.home");
        if (home == null) {
            throw new DemoFailed("The demo is started by bin/kagami, which knows where the server is");
        }
        Path data = directory();
        String command = System.getProperty("kagami.command", "kagami");
        Demo demo = new Demo(new Demo.Plan(source, data, Path.of(home), command, !once), screen);
        Ending ending = new Ending(demo, data);
        Runtime.getRuntime().addShutdownHook(new Thread(ending::onSignal, "end-demo"));
        try {
            boolean identical = demo.run();
            if (!once) {
                stay(demo);
            }
            ending.run(identical);
            return identical ? Shell.DONE : Shell.FAILED;
        } catch (RuntimeException e) {
            if (ending.begun()) {
                // Ctrl-C took the children away under our hands: no failure of the demo
                return Shell.FAILED;
            }
            ending.run(false);
            throw e;
        }
    }

    private void stay(Demo demo) {
        screen.out().println("Both stay up. Ctrl-C ends them.");
        screen.out().flush();
        CountDownLatch never = new CountDownLatch(1);
        try {
            while (!never.await(WATCH_EVERY_MS, TimeUnit.MILLISECONDS)) {
                if (!demo.healthy()) {
                    throw new DemoFailed("A child has ended by itself; its log is in the demo's directory");
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void checkSource() {
        if (source == null) {
            return;
        }
        try {
            Demo.checkAddress(source);
        } catch (IllegalArgumentException e) {
            throw new ParameterException(spec.commandLine(), "--source: " + e.getMessage(), e);
        }
    }

    private Path directory() {
        try {
            return newDirectory();
        } catch (IOException e) {
            String which = dir == null ? "a temporary directory" : "directory " + dir;
            throw new DemoFailed("cannot create " + which + ": " + FileReason.of(e), e);
        }
    }

    private Path newDirectory() throws IOException {
        if (dir == null) {
            return Files.createTempDirectory("kagami-demo-");
        }
        if (Files.exists(dir)) {
            if (!Files.isDirectory(dir)) {
                throw new DemoFailed(dir + " is no directory");
            }
            try (Stream<Path> files = Files.list(dir)) {
                if (files.findAny().isPresent()) {
                    throw new DemoFailed(dir + " is not empty; name a new directory with --dir");
                }
            }
        }
        return Files.createDirectories(dir).toAbsolutePath();
    }

    /** Ends the children and removes the data, once, whoever comes first: the command or the signal. */
    private final class Ending {
        private final Demo demo;
        private final Path data;
        private boolean begun;
        private boolean done;

        Ending(Demo demo, Path data) {
            this.demo = demo;
            this.data = data;
        }

        synchronized boolean begun() {
            return begun;
        }

        void onSignal() {
            synchronized (this) {
                if (done) {
                    return;
                }
                begun = true;
            }
            screen.out().println("\nStopping Kagami and its source ...");
            screen.out().flush();
            run(true);
        }

        /** @param well data and logs of a demo that failed are kept */
        void run(boolean well) {
            synchronized (this) {
                if (done) {
                    return;
                }
                done = true;
            }
            demo.close();
            try {
                if (keep || !(well || empty(data))) {
                    screen.out().println("Data and logs are in " + data);
                } else {
                    Demo.clean(data);
                }
            } catch (IOException e) {
                screen.err().println("kagami: cannot remove " + data + ": " + FileReason.of(e));
            }
            screen.out().flush();
        }

        /** Whether it failed before there was anything to keep. */
        private static boolean empty(Path data) throws IOException {
            try (Stream<Path> files = Files.list(data)) {
                return files.findAny().isEmpty();
            }
        }
    }
}
