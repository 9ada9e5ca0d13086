package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;
import org.apache.kafka.common.message.ApiVersionsRequestData;
import org.apache.kafka.common.protocol.ApiKeys;

/**
 * Our broker as a user runs it: {@code bin/kagami server --config FILE} of the distribution in a process of its own, with Netty's
 * leak detector at its strictest and a small heap. It keeps its data and its port over restarts. When it is closed, its log must hold
 * neither a leak nor an exception that nobody caught.
 */
final class KagamiProcess implements AutoCloseable {
    private static final Duration START = Duration.ofSeconds(60);
    private static final Duration STOP = Duration.ofSeconds(20);

    /** What never may be in the log, whatever a test did to the broker. */
    private static final Pattern ALARM = Pattern.compile(
            "LEAK:|Exception in thread|exceptionCaught\\(\\) event|uncaught|AssertionError|NullPointerException|IllegalStateException"
                    + "|IndexOutOfBounds|ClassCastException|ConcurrentModification|OutOfMemory|IllegalReferenceCount|StackOverflow|BufferUnderflow",
            Pattern.CASE_INSENSITIVE);

    private static final HttpClient HTTP = HttpClient.newHttpClient();

    private final String name;
    private final Path dir;
    private final Path log;
    private final int port = Ports.free();
    private final int metricsPort = Ports.free();
    private final String heap;
    private final Map<String, String> config = new LinkedHashMap<>();
    private Process process;

    private KagamiProcess(String name, String heap, Map<String, String> config) {
        this.name = name;
        this.heap = heap;
        this.dir = TestDirs.fresh("kagami-" + name);
        this.log = dir.resolve("kagami.log");
        this.config.put("node.id", "1");
        this.config.put("listeners", "PLAINTEXT://127.0.0.1:" + port);
        this.config.put("log.dirs", data().toString());
        this.config.put("metrics.listener", "http://127.0.0.1:" + metricsPort);
        this.config.put("offsets.topic.num.partitions", "4");
        this.config.put("group.initial.rebalance.delay.ms", "0");
        // records of tests have timestamps of long ago
        this.config.put("log.retention.ms", "-1");
        this.config.putAll(config);
    }

    static KagamiProcess start(String name) {
        return start(name, Map.of());
    }

    /** @param config added to a small default configuration */
    static KagamiProcess start(String name, Map<String, String> config) {
        KagamiProcess kagami = stopped(name, config);
        kagami.start();
        return kagami;
    }

    /** Everything but the process. */
    static KagamiProcess stopped(String name, Map<String, String> config) {
        return new KagamiProcess(name, "256m", config);
    }

    /** Writes the configuration file. */
    Path configFile() {
        try {
            return Files.write(
                    dir.resolve("kagami.properties"),
                    config.entrySet().stream()
                            .map(e -> e.getKey() + "=" + e.getValue())
                            .toList());
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write the configuration in " + dir, e);
        }
    }

    /** Starts the process on its data and port and waits until it says that it is ready. */
    void start() {
        spawn();
        awaitReady();
    }

    /** Starts the process and returns at once. */
    void spawn() {
        Path program = Checkout.distribution().resolve("bin/kagami");
        assertThat(program)
                .as("the distribution; build it with mvn -pl cli -am package")
                .exists();
        try {
            Path file = configFile();
            ProcessBuilder builder = new ProcessBuilder(program.toString(), "server", "--config", file.toString())
                    .directory(dir.toFile())
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log.toFile()));
            builder.environment().put("KAGAMI_HEAP_OPTS", "-Xms" + heap + " -Xmx" + heap);
            builder.environment()
                    .put("KAGAMI_JVM_OPTS", "-Dio.netty.leakDetection.level=paranoid -XX:MaxDirectMemorySize=256m");
            process = builder.start();
            Process started = process;
            Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly, "end-" + name));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot start Kagami in " + dir, e);
        }
    }

    void awaitReady() {
        Eventually.within(START).until(() -> {
            if (!process.isAlive()) {
                throw new AssertionError(
                        "Kagami ended with " + process.exitValue() + " while starting:\n" + logTail(40));
            }
            return httpStatus("/health/ready") == 200;
        });
    }

    String bootstrap() {
        return "127.0.0.1:" + port;
    }

    int port() {
        return port;
    }

    Path data() {
        return dir.resolve("data");
    }

    Path dir() {
        return dir;
    }

    Path log() {
        return log;
    }

    boolean alive() {
        return process.isAlive();
    }

    long pid() {
        return process.pid();
    }

    String logText() {
        try {
            return Files.exists(log) ? new String(Files.readAllBytes(log), StandardCharsets.UTF_8) : "";
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + log, e);
        }
    }

    String logTail(int lines) {
        List<String> all = logText().lines().toList();
        return String.join("\n", all.subList(Math.max(0, all.size() - lines), all.size()));
    }

    /** Status of a path of the metrics listener; -1 while nothing answers there. */
    int httpStatus(String path) {
        try {
            return http(path).statusCode();
        } catch (UncheckedIOException notYet) {
            return -1;
        }
    }

    HttpResponse<String> http(String path) {
        try {
            return HTTP.send(
                    HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + metricsPort + path))
                            .timeout(Duration.ofSeconds(10))
                            .build(),
                    HttpResponse.BodyHandlers.ofString());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** SIGTERM; must end by itself, cleanly and within seconds. */
    void sigterm() {
        process.destroy();
        assertThat(ended(STOP))
                .as("Kagami ends within %s after SIGTERM; log:\n%s", STOP, logTail(20))
                .isTrue();
        assertThat(process.exitValue()).as("exit code after SIGTERM").isIn(0, 143);
    }

    /** SIGKILL, and waits until the process is gone. */
    void kill9() {
        process.destroyForcibly();
        assertThat(ended(STOP)).as("a killed process is gone").isTrue();
    }

    void restart() {
        sigterm();
        start();
    }

    private boolean ended(Duration most) {
        try {
            return process.waitFor(most.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
    }

    /** Lines of the log that report a leak or a bug, with a few lines that follow each. */
    List<String> alarms() {
        List<String> lines = logText().lines().toList();
        List<String> alarms = new ArrayList<>();
        for (int i = 0; i < lines.size(); i++) {
            if (ALARM.matcher(lines.get(i)).find()) {
                alarms.add(String.join("\n", lines.subList(i, Math.min(lines.size(), i + 12))));
            }
        }
        return alarms;
    }

    /** A collected buffer that nobody released is reported at the next allocation: collects, and makes the broker allocate. */
    private void provokeLeakReports() {
        Cli.run(Path.of(System.getProperty("java.home"), "bin/jcmd").toString(), List.of("" + pid(), "GC.run"));
        try (RawKafka kafka = new RawKafka(bootstrap())) {
            for (int i = 0; i < 20; i++) {
                kafka.send(
                        RawKafka.address(bootstrap()), ApiKeys.API_VERSIONS, (short) 0, new ApiVersionsRequestData());
            }
        }
    }

    /** Stops the process if it runs, and holds its log against the promises. */
    @Override
    public void close() {
        if (process != null && process.isAlive()) {
            provokeLeakReports();
            sigterm();
        }
        assertThat(alarms()).as("leaks and bugs in %s", log).isEmpty();
    }

    // the operator's commands, as a user types them

    /** Creates a mirror of that source with a refresh interval of a second; {@code extra} are lines of its configuration. */
    void createMirror(String mirror, String sourceBootstrap, String... extra) {
        Map<String, String> lines = new TreeMap<>();
        lines.put("bootstrap.servers", sourceBootstrap);
        try {
            Path file = dir.resolve("mirror-" + mirror + ".properties");
            List<String> all = new ArrayList<>();
            lines.forEach((key, value) -> all.add(key + "=" + value));
            all.addAll(List.of(extra));
            Files.write(file, all);
            mirrors("--create", "--mirror", mirror, "--mirror-config", file.toString())
                    .ok();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Cli.Result startTopics(String mirror, String topics) {
        return mirrors("--start", "--mirror", mirror, "--topics", topics).ok();
    }

    Cli.Result mirrors(String... args) {
        List<String> all = new ArrayList<>(List.of("mirrors", "--bootstrap-server", bootstrap()));
        all.addAll(List.of(args));
        return Cli.run(Checkout.distribution().resolve("bin/kagami").toString(), all);
    }

    /** STATE of every partition of a mirror as {@code --describe} prints it, by {@code topic-partition}. */
    Map<String, String> states(String mirror) {
        Map<String, String> states = new TreeMap<>();
        List<String> lines =
                mirrors("--describe", "--mirror", mirror).ok().out().lines().toList();
        for (String line : lines) {
            String[] columns = line.strip().split("\\s+");
            if (columns.length >= 7 && columns[0].equals(mirror) && columns[2].matches("\\d+")) {
                states.put(columns[1] + "-" + columns[2], columns[6]);
            }
        }
        return states;
    }
}
