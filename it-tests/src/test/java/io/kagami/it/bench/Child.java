package io.kagami.it.bench;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A process of ours with its output in a file. It ends with this program, whatever ends it. */
final class Child implements AutoCloseable {
    private static final long STOP_SECONDS = 30;

    private final String name;
    private final Path log;
    private final Process process;
    private final Thread hook;

    private Child(String name, Path log, Process process) {
        this.name = name;
        this.log = log;
        this.process = process;
        this.hook = new Thread(process::destroyForcibly, "end-" + name);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    static Child start(String name, List<String> command, Map<String, String> environment, Path log)
            throws IOException {
        Files.createDirectories(log.getParent());
        ProcessBuilder builder = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
        builder.environment().putAll(environment);
        return new Child(name, log, builder.start());
    }

    long pid() {
        return process.pid();
    }

    /** @throws IllegalStateException with the end of its log when it has ended */
    void requireAlive() {
        if (!process.isAlive()) {
            throw new IllegalStateException(name + " ended with " + process.exitValue() + "; its log:\n" + tail());
        }
    }

    String tail() {
        try {
            List<String> lines = Files.readAllLines(log);
            return String.join("\n", lines.subList(Math.max(0, lines.size() - 30), lines.size()));
        } catch (IOException e) {
            return "(cannot be read: " + e.getMessage() + ")";
        }
    }

    /** SIGKILL, and waits until the process is gone. */
    void kill() {
        process.destroyForcibly();
        ended();
        forget();
    }

    /** SIGTERM; after a while SIGKILL. */
    @Override
    public void close() {
        process.destroy();
        if (!ended()) {
            process.destroyForcibly();
            ended();
        }
        forget();
    }

    private boolean ended() {
        try {
            return process.waitFor(STOP_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + name + " ended", e);
        }
    }

    private void forget() {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException ending) {
            // the hook is at work
        }
    }
}
