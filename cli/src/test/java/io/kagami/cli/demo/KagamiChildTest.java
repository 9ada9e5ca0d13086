package io.kagami.cli.demo;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class KagamiChildTest {
    @TempDir
    Path dir;

    @Test
    void aServerThatDoesNotStartShowsTheEndOfItsLog() throws Exception {
        Path home = home("echo 'kagami.properties: line 3: log.dirs is no directory'; exit 1");
        assertThatThrownBy(() -> KagamiChild.start(home, dir.resolve("data")))
                .isInstanceOf(DemoFailed.class)
                .hasMessageContaining("Kagami ended while starting")
                .hasMessageContaining("kagami.log")
                .hasMessageContaining("line 3: log.dirs is no directory");
    }

    @Test
    void takenPortsAreTriedAgainWithOthersAndOnlySoOften() throws Exception {
        Path home = home("echo 'bind: Address already in use'; cat \"$3\" >>" + dir.resolve("tries") + "; exit 1");
        assertThatThrownBy(() -> KagamiChild.start(home, dir.resolve("data"))).isInstanceOf(DemoFailed.class);
        assertThat(Files.readString(dir.resolve("tries")).lines().filter(line -> line.startsWith("listeners=")))
                .hasSize(5)
                .doesNotHaveDuplicates();
    }

    @Test
    void cleaningRemovesWhatTheDemoMadeAndNothingElse() throws Exception {
        Path data = Files.createDirectories(dir.resolve("demo"));
        Files.createDirectories(data.resolve("source/deep/er"));
        Files.createFile(data.resolve("source/deep/er/file"));
        Path other = Files.createFile(data.resolve("mine"));
        Demo.clean(data);
        assertThat(other).exists();
        assertThat(data.resolve("source")).doesNotExist();
        Files.delete(other);
        Demo.clean(data);
        assertThat(data).doesNotExist();
    }

    private Path home(String script) throws Exception {
        Path bin = Files.createDirectories(dir.resolve("home/bin"));
        Path file = Files.writeString(bin.resolve("kagami"), "#!/bin/sh\n" + script + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return dir.resolve("home");
    }
}
