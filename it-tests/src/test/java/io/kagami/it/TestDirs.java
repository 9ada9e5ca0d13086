package io.kagami.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.stream.Stream;

/** Directories of tests, below the build directory: kept after the run, so that a failure can be looked into. */
final class TestDirs {
    private TestDirs() {}

    /** An empty directory of that name; what an earlier run left there is removed. */
    static Path fresh(String name) {
        Path dir = Checkout.scratch().resolve(name);
        try {
            remove(dir);
            return Files.createDirectories(dir);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot prepare " + dir, e);
        }
    }

    static void remove(Path dir) throws IOException {
        if (!Files.exists(dir)) {
            return;
        }
        try (Stream<Path> all = Files.walk(dir)) {
            for (Path path : all.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(path);
            }
        }
    }
}
