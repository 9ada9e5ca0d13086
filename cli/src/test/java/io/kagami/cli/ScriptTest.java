package io.kagami.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The start scripts in a distribution made of the classes under test, at a path with a space in it. */
class ScriptTest {
    private static final Path BIN = Path.of("bin").toAbsolutePath();

    @TempDir
    static Path dir;

    private static Path home;

    private record Ran(int code, String out, String err) {}

    @BeforeAll
    static void distribution() throws IOException {
        home = dir.resolve("a place/kagami");
        Files.createDirectories(home.resolve("lib"));
        Files.createDirectories(home.resolve("bin"));
        for (String script : List.of("kagami", "kafka-cluster-mirrors.sh")) {
            Files.copy(BIN.resolve(script), home.resolve("bin").resolve(script), StandardCopyOption.COPY_ATTRIBUTES);
        }
        int number = 0;
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path path = Path.of(entry);
            if (Files.isDirectory(path)) {
                jar(path, home.resolve("lib/classes" + number++ + ".jar"));
            } else if (entry.endsWith(".jar") && Files.exists(path)) {
                Files.createSymbolicLink(home.resolve("lib").resolve(path.getFileName()), path);
            }
        }
    }

    /** JUnit would warn of every link that leads out of the directory it removes. */
    @AfterAll
    static void removeLinks() throws IOException {
        try (Stream<Path> jars = Files.list(home.resolve("lib"))) {
            for (Path jar : jars.filter(Files::isSymbolicLink).toList()) {
                Files.delete(jar);
            }
        }
    }

    /** The Java that runs the tests, and any other one that is installed beside it. */
    static Stream<Path> javaHomes() throws IOException {
        Path own = Path.of(System.getProperty("java.home")).toRealPath();
        try (Stream<Path> siblings = Files.list(own.getParent())) {
            return Stream.concat(
                    Stream.of(own),
                    siblings
                            .filter(path -> !Files.isSymbolicLink(path) && Files.isExecutable(path.resolve("bin/java")))
                            .filter(path -> !path.equals(own))
                            .sorted()
                            .toList()
                            .stream());
        }
    }

    @ParameterizedTest
    @MethodSource("javaHomes")
    void versionIsPrintedWithoutAnyWarning(Path javaHome) throws Exception {
        assertThat(run(javaHome, home.resolve("bin/kagami"), "--version"))
                .satisfies(ran -> assertThat(ran.err()).isEmpty())
                .satisfies(ran -> assertThat(ran.out()).startsWith("kagami "))
                .satisfies(ran -> assertThat(ran.code()).isZero());
    }

    @ParameterizedTest
    @MethodSource("javaHomes")
    void aConnectionIsTriedWithoutAnyWarning(Path javaHome) throws Exception {
        Ran ran = run(javaHome, home.resolve("bin/kagami"), "topics", "--bootstrap-server", "127.0.0.1:1");
        assertThat(ran.err().lines()).singleElement().asString().startsWith("kagami: No answer");
        assertThat(ran.code()).isEqualTo(1);
    }

    @Test
    void symbolicLinksAreFollowed() throws Exception {
        Path link = Files.createSymbolicLink(dir.resolve("link"), Path.of("a place/kagami/bin/kagami"));
        Path again = Files.createSymbolicLink(dir.resolve("again"), link);
        assertThat(run(own(), again, "--version").out()).startsWith("kagami ");
    }

    @Test
    void theKafkaNamedScriptIsTheMirrorsCommand() throws Exception {
        Ran ran = run(own(), home.resolve("bin/kafka-cluster-mirrors.sh"), "--create");
        assertThat(ran.code()).isEqualTo(2);
        assertThat(ran.err()).startsWith("kagami mirrors: --mirror is missing");
    }

    @Test
    void theServerRunsInAJvmOfItsOwnKind() throws Exception {
        Path java = Files.createDirectories(dir.resolve("fake java/bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\nfor a in \"$@\"; do echo \"$a\"; done\n");
        assumeThat(java.toFile().setExecutable(true)).isTrue();
        Files.writeString(dir.resolve("fake java/release"), "JAVA_VERSION=\"25.0.1\"\n");
        Ran ran = run(dir.resolve("fake java"), home.resolve("bin/kagami"), "server", "--config", "my file");
        assertThat(ran.out().lines())
                .contains(
                        "-ea:io.kagami...",
                        "-XX:+ExitOnOutOfMemoryError",
                        "-Xmx1g",
                        "--sun-misc-unsafe-memory-access=allow",
                        "io.kagami.broker.Main",
                        "--config",
                        "my file")
                .doesNotContain("server");
    }

    @Test
    void anOldJavaIsRefused() throws Exception {
        Path java = Files.createDirectories(dir.resolve("old/bin")).resolve("java");
        Files.writeString(java, "#!/bin/sh\nexit 0\n");
        assumeThat(java.toFile().setExecutable(true)).isTrue();
        Files.writeString(dir.resolve("old/release"), "JAVA_VERSION=\"11.0.2\"\n");
        Ran ran = run(dir.resolve("old"), home.resolve("bin/kagami"), "--version");
        assertThat(ran.code()).isEqualTo(1);
        assertThat(ran.err()).contains("Java 17 or later is needed", "Java 11");
        assertThat(run(dir.resolve("none"), home.resolve("bin/kagami"), "--version")
                        .err())
                .contains("JAVA_HOME is", "no bin/java");
    }

    private static Path own() {
        return Path.of(System.getProperty("java.home"));
    }

    private Ran run(Path javaHome, Path script, String... args) throws Exception {
        Path out = Files.createTempFile(dir, "out", "");
        Path err = Files.createTempFile(dir, "err", "");
        ProcessBuilder builder = new ProcessBuilder(Stream.concat(Stream.of(script.toString()), Stream.of(args))
                        .toList())
                .directory(dir.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().put("JAVA_HOME", javaHome.toString());
        builder.environment().keySet().removeIf(name -> name.startsWith("KAGAMI_") || name.startsWith("JAVA_TOOL"));
        Process process = builder.start();
        process.getOutputStream().close();
        assertThat(process.waitFor(60, TimeUnit.SECONDS)).isTrue();
        return new Ran(process.exitValue(), Files.readString(out), Files.readString(err));
    }

    private static void jar(Path classes, Path jar) throws IOException {
        try (OutputStream file = Files.newOutputStream(jar);
                JarOutputStream out = new JarOutputStream(file);
                Stream<Path> walk = Files.walk(classes)) {
            for (Path path : walk.filter(Files::isRegularFile).sorted().toList()) {
                out.putNextEntry(new JarEntry(classes.relativize(path).toString()));
                Files.copy(path, out);
                out.closeEntry();
            }
        }
    }
}
