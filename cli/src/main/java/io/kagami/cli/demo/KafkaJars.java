package io.kagami.cli.demo;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.zip.CRC32;

/**
 * The jars of one Apache Kafka version, found by Maven from a pom of ours and remembered in a cache directory
 * ({@code -Dkagami.cache}, else {@code ~/.cache/kagami}). The answer is asked for again when the pom changed or a jar is gone.
 */
public final class KafkaJars {
    /** Versions that have a pom in our resources, oldest first. */
    public static final List<String> VERSIONS = List.of("2.1.1", "2.8.2", "3.9.1", "4.3.1", "4.4.0");

    /** The same plugin version as in the build of this project, so that a machine that built it has it already. */
    private static final String GOAL = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:build-classpath";

    private static final long TIMEOUT_MINUTES = 15;

    private KafkaJars() {}

    /** Where class paths are remembered. */
    static Path cacheDir() {
        String configured = System.getProperty("kagami.cache");
        return configured != null ? Path.of(configured) : Path.of(System.getProperty("user.home"), ".cache", "kagami");
    }

    /**
     * The class path of a version. Blocks while Maven downloads what is missing.
     *
     * @param progress gets a short line now and then while Maven works; nothing when the answer is remembered
     * @throws DemoFailed when the version is unknown, Maven is missing or fails; names the log
     */
    public static synchronized List<String> classPath(String version, Consumer<String> progress) {
        try {
            return classPath(version, progress, cacheDir(), "mvn");
        } catch (IOException e) {
            throw new UncheckedIOException(
                    "Cannot keep the class path of Kafka " + version + " in " + cacheDir()
                            + "; choose another directory with -Dkagami.cache=DIR",
                    e);
        }
    }

    static List<String> classPath(String version, Consumer<String> progress, Path cache, String mvn)
            throws IOException {
        byte[] pom = resource("kafka-" + version + ".xml");
        if (pom == null) {
            throw new DemoFailed("No jars are known for Kafka " + version + "; there are " + VERSIONS);
        }
        CRC32 crc = new CRC32();
        crc.update(pom);
        Path remembered = cache.resolve("kafka-" + version + "-" + Long.toHexString(crc.getValue()) + ".classpath");
        List<String> known = read(remembered);
        if (!known.isEmpty()) {
            return known;
        }
        Files.createDirectories(cache);
        Path work = Files.createTempDirectory(cache, "resolve-" + version + "-");
        Path pomFile = Files.write(work.resolve("pom.xml"), pom);
        Path answer = work.resolve("classpath");
        Path log = cache.resolve("kafka-" + version + ".mvn.log");
        progress.accept("asking Maven for the jars of Apache Kafka " + version);
        runMaven(version, mvn, pomFile, answer, log, progress);
        List<String> jars = read(answer);
        if (jars.isEmpty()) {
            throw new DemoFailed("Maven named no jars for Kafka " + version + "; see " + log);
        }
        Files.move(answer, remembered, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        Files.deleteIfExists(pomFile);
        Files.deleteIfExists(work);
        return jars;
    }

    /** Bytes of a file beside the poms, or null. */
    static byte[] resource(String name) throws IOException {
        try (InputStream in = KafkaJars.class.getResourceAsStream("/kafka/" + name)) {
            return in == null ? null : in.readAllBytes();
        }
    }

    private static List<String> read(Path file) throws IOException {
        if (!Files.exists(file)) {
            return List.of();
        }
        String line = Files.readString(file, StandardCharsets.UTF_8).strip();
        List<String> jars = List.of(line.split(File.pathSeparator));
        return line.isEmpty() || !jars.stream().allMatch(jar -> Files.exists(Path.of(jar))) ? List.of() : jars;
    }

    private static void runMaven(String version, String mvn, Path pom, Path answer, Path log, Consumer<String> progress)
            throws IOException {
        ProcessBuilder builder = new ProcessBuilder(
                        mvn, "-B", "-f", pom.toString(), GOAL, "-Dmdep.outputFile=" + answer, "-Dstyle.color=never")
                .redirectErrorStream(true);
        Process process;
        try {
            process = builder.start();
        } catch (IOException e) {
            throw new DemoFailed(
                    "Cannot run " + mvn + " to find the jars of Kafka " + version
                            + ": install Apache Maven 3.8 or later and put it on PATH (" + e.getMessage() + ")",
                    e);
        }
        Process watched = process;
        Thread killer = new Thread(watched::destroyForcibly, "kill-maven");
        Runtime.getRuntime().addShutdownHook(killer);
        try {
            process.getOutputStream().close();
            follow(process, log, version, progress);
            if (!process.waitFor(TIMEOUT_MINUTES, TimeUnit.MINUTES)) {
                process.destroyForcibly();
                throw new DemoFailed("Maven did not end within " + TIMEOUT_MINUTES + " minutes; see " + log);
            }
        } catch (InterruptedException e) {
            process.destroyForcibly();
            Thread.currentThread().interrupt();
            throw new DemoFailed("Interrupted while Maven looked for the jars of Kafka " + version, e);
        } finally {
            unhook(killer);
        }
        if (process.exitValue() != 0) {
            throw new DemoFailed("Maven could not find the jars of Kafka " + version + " (exit code "
                    + process.exitValue() + "). Is a Maven repository reachable? The log is " + log + "\n"
                    + ChildJvm.tail(log, 12));
        }
    }

    private static void follow(Process process, Path log, String version, Consumer<String> progress)
            throws IOException {
        int files = 0;
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8);
                BufferedWriter out = Files.newBufferedWriter(log, StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                out.write(line);
                out.newLine();
                int slash = line.lastIndexOf('/');
                if (line.contains("Downloaded from") && slash > 0) {
                    files++;
                    progress.accept(
                            "jars of Apache Kafka " + version + ": " + files + " files, " + line.substring(slash + 1));
                }
            }
        }
    }

    static void unhook(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException alreadyEnding) {
            // the hook is running just now and does the same work
        }
    }
}
