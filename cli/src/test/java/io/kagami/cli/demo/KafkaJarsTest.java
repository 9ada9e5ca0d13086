package io.kagami.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KafkaJarsTest {
    @TempDir
    Path dir;

    private final List<String> progress = new ArrayList<>();

    @Test
    void asksMavenOnceAndRemembers() throws Exception {
        Path jar = Files.createFile(dir.resolve("kafka.jar"));
        Path mvn = mvn("echo 'Downloaded from central: http://repo/x/kafka-9.jar (1 kB)'; " + answer(jar.toString()));
        assertThat(classPath(mvn)).containsExactly(jar.toString());
        assertThat(progress).last().asString().contains("1 files", "kafka-9.jar");
        Files.delete(mvn);
        assertThat(classPath(mvn)).containsExactly(jar.toString());
    }

    @Test
    void asksAgainWhenAJarIsGone() throws Exception {
        Path jar = Files.createFile(dir.resolve("kafka.jar"));
        Path other = Files.createFile(dir.resolve("other.jar"));
        assertThat(classPath(mvn(answer(jar + ":" + other)))).hasSize(2);
        Files.delete(other);
        assertThat(classPath(mvn(answer(jar.toString())))).containsExactly(jar.toString());
    }

    @Test
    void aMissingMavenIsNamed() {
        assertThatThrownBy(() -> classPath(dir.resolve("nowhere/mvn")))
                .isInstanceOf(DemoFailed.class)
                .hasMessageContaining("nowhere/mvn")
                .hasMessageContaining("install Apache Maven");
    }

    @Test
    void aFailingMavenShowsTheEndOfItsLog() throws Exception {
        Path mvn = mvn("echo 'no such host: repo'; exit 3");
        assertThatThrownBy(() -> classPath(mvn))
                .isInstanceOf(DemoFailed.class)
                .hasMessageContaining("exit code 3")
                .hasMessageContaining("no such host: repo")
                .hasMessageContaining("kafka-4.4.0.mvn.log");
    }

    @Test
    void anUnknownVersionNamesTheKnownOnes() {
        assertThatThrownBy(() -> KafkaJars.classPath("0.8.2", progress::add, dir, "mvn"))
                .isInstanceOf(DemoFailed.class)
                .hasMessageContaining("0.8.2")
                .hasMessageContaining("4.4.0");
    }

    @Test
    void everyVersionHasItsPom() throws Exception {
        for (String version : KafkaJars.VERSIONS) {
            assertThat(new String(KafkaJars.resource("kafka-" + version + ".xml"), StandardCharsets.UTF_8))
                    .contains("<version>" + version + "</version>");
        }
    }

    private List<String> classPath(Path mvn) throws Exception {
        return KafkaJars.classPath("4.4.0", progress::add, dir.resolve("cache"), mvn.toString());
    }

    private static String answer(String classPath) {
        return "for a in \"$@\"; do case $a in -Dmdep.outputFile=*) printf '%s' '" + classPath
                + "' >\"${a#*=}\" ;; esac; done";
    }

    private Path mvn(String script) throws Exception {
        Path file = Files.writeString(dir.resolve("mvn"), "#!/bin/sh\n" + script + "\n");
        return Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }
}
