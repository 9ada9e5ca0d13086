package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** Runs commands as a user does: a process, its exit code and what it printed. */
final class Cli {
    private static final long TIMEOUT_SECONDS = 120;

    /** How a command ended. */
    record Result(int exitCode, String out, String err) {
        Result ok() {
            assertThat(exitCode).as("exit code; out: %s; err: %s", out, err).isZero();
            return this;
        }
    }

    private Cli() {}

    /** {@code bin/kagami ARGS} of the distribution. */
    static Result kagami(String... args) {
        return run(Checkout.distribution().resolve("bin/kagami").toString(), List.of(args));
    }

    static Result run(String program, List<String> args) {
        return run(program, args, Map.of(), TIMEOUT_SECONDS);
    }

    /** @param environment added to ours */
    static Result run(String program, List<String> args, Map<String, String> environment, long timeoutSeconds) {
        List<String> command = new ArrayList<>();
        command.add(program);
        command.addAll(args);
        try {
            Path out = Files.createTempFile(Checkout.scratch(), "command", ".out");
            Path err = Files.createTempFile(Checkout.scratch(), "command", ".err");
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(out.toFile())
                    .redirectError(err.toFile());
            builder.environment().putAll(environment);
            Process process = builder.start();
            if (!process.waitFor(timeoutSeconds, TimeUnit.SECONDS)) {
                process.destroyForcibly().waitFor();
                throw new AssertionError(command + " did not end within " + timeoutSeconds + " s; it printed:\n"
                        + Files.readString(out) + "\n" + Files.readString(err));
            }
            Result result = new Result(process.exitValue(), Files.readString(out), Files.readString(err));
            Files.delete(out);
            Files.delete(err);
            return result;
        } catch (IOException e) {
            throw new UncheckedIOException("cannot run " + command, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while " + command + " ran", e);
        }
    }

    /** True when the command exists and answers to these arguments with exit code 0. */
    static boolean works(String program, String... args) {
        try {
            return run(program, List.of(args)).exitCode() == 0;
        } catch (UncheckedIOException notThere) {
            return false;
        }
    }
}
