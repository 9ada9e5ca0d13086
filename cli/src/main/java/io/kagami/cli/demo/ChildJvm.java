package io.kagami.cli.demo;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * One child process whose output goes to a file. It ends with this JVM: a shutdown hook kills it by its handle. Not thread-safe.
 */
final class ChildJvm implements AutoCloseable {
    private final String name;
    private final Path log;
    private final Process process;
    private final Thread hook;

    private ChildJvm(String name, Path log, Process process) {
        this.name = name;
        this.log = log;
        this.process = process;
        this.hook = new Thread(this::endWithParent, "end-" + name);
        Runtime.getRuntime().addShutdownHook(hook);
    }

    /** Starts a command; output is appended to the log. */
    static ChildJvm start(String name, List<String> command, Path log) {
        try {
            Files.createDirectories(log.toAbsolutePath().getParent());
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start();
            return new ChildJvm(name, log, process);
        } catch (IOException e) {
            throw new DemoFailed("Cannot start " + name + " (" + command.get(0) + "): " + e.getMessage(), e);
        }
    }

    /** Runs a command to its end, with its output and its errors in files of their own; returns the exit code. */
    static int run(String name, List<String> command, Path stdout, Path stderr, long timeoutMs) throws IOException {
        Process process = new ProcessBuilder(command)
                .redirectInput(new File("/dev/null"))
                .redirectOutput(stdout.toFile())
                .redirectError(stderr.toFile())
                .start();
        return new ChildJvm(name, stderr, process).exitCode(timeoutMs);
    }

    /** The java command line for a main class, with the java that runs us. */
    static List<String> java(List<String> jvmOptions, List<String> classPath, String mainClass, List<String> args) {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(jvmOptions);
        command.add("-cp");
        command.add(String.join(File.pathSeparator, classPath));
        command.add(mainClass);
        command.addAll(args);
        return command;
    }

    ProcessHandle handle() {
        return process.toHandle();
    }

    boolean alive() {
        return process.isAlive();
    }

    Path log() {
        return log;
    }

    /** SIGTERM, then SIGKILL when it has not ended after that time. True when it ended by itself. */
    boolean stop(long timeoutMs) {
        process.destroy();
        boolean ended = await(timeoutMs);
        if (!ended) {
            kill();
        }
        KafkaJars.unhook(hook);
        return ended;
    }

    /** SIGKILL; returns when the process is gone. */
    void kill() {
        process.destroyForcibly();
        if (!await(30_000)) {
            throw new DemoFailed(name + " (pid " + process.pid() + ") does not end even on SIGKILL");
        }
        KafkaJars.unhook(hook);
    }

    /** The exit code, waiting at most that long; after that the process is killed and this throws. */
    int exitCode(long timeoutMs) {
        if (!await(timeoutMs)) {
            kill();
            throw new DemoFailed(name + " did not end within " + timeoutMs / 1000 + " s and was killed; see " + log);
        }
        KafkaJars.unhook(hook);
        return process.exitValue();
    }

    boolean await(long timeoutMs) {
        try {
            return process.waitFor(timeoutMs, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new DemoFailed("Interrupted while waiting for " + name, e);
        }
    }

    /** The last lines of a log, each indented; a sentence when there is none. */
    static String tail(Path log, int lines) {
        int bytesMax = 16 * 1024;
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
            long from = Math.max(0, file.length() - bytesMax);
            file.seek(from);
            byte[] bytes = new byte[(int) (file.length() - from)];
            file.readFully(bytes);
            List<String> all = new String(bytes, StandardCharsets.UTF_8).lines().toList();
            List<String> last = all.subList(Math.max(0, all.size() - lines), all.size());
            return last.isEmpty() ? "    (the log is empty)" : "    " + String.join("\n    ", last);
        } catch (IOException e) {
            return "    (no log at " + log + ")";
        }
    }

    private void endWithParent() {
        // first politely: files are closed well; Kafka and Kagami both need little when nothing happens
        process.destroy();
        try {
            if (!process.waitFor(10, TimeUnit.SECONDS)) {
                process.destroyForcibly();
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        if (alive()) {
            stop(20_000);
        } else {
            KafkaJars.unhook(hook);
        }
    }
}
