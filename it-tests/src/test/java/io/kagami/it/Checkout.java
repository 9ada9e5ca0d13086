package io.kagami.it;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** The source tree under test: where it is and what is in it. */
public final class Checkout {
    /** Modules with main code, in build order. */
    static final List<String> MODULES =
            List.of("protocol", "log-storage", "raft-lite", "mirror-engine", "broker", "cli");

    private Checkout() {}

    /** The directory of the root pom: the property {@code kagami.root}, else the nearest ancestor that has one. */
    public static Path root() {
        String named = System.getProperty("kagami.root");
        Path start = Path.of(named == null ? "" : named).toAbsolutePath();
        for (Path at = start; at != null; at = at.getParent()) {
            if (Files.exists(at.resolve("it-tests/pom.xml"))) {
                return at;
            }
        }
        throw new IllegalStateException("no checkout of Kagami at or above " + start + "; run with -Dkagami.root=DIR");
    }

    /** The distribution that the cli module builds. */
    public static Path distribution() {
        return root().resolve("cli/target/kagami");
    }

    /** Compiled main classes of a module. */
    static Path classes(String module) {
        return root().resolve(module).resolve("target/classes");
    }

    /** A directory for what tests write, below the build directory. */
    static Path scratch() {
        String named = System.getProperty("kagami.it.dir");
        Path dir = named == null ? root().resolve("it-tests/target/it") : Path.of(named);
        try {
            return Files.createDirectories(dir);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot create " + dir, e);
        }
    }

    /** Files of the tree that people wrote: nothing from build directories, hidden directories or downloads. */
    static List<Path> files(String... suffixes) {
        Path root = root();
        try (Stream<Path> all = Files.walk(root)) {
            return all.filter(Files::isRegularFile)
                    .filter(p -> written(root.relativize(p)))
                    .filter(p -> Stream.of(suffixes).anyMatch(s -> p.toString().endsWith(s)))
                    .sorted()
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("cannot walk " + root, e);
        }
    }

    private static boolean written(Path relative) {
        for (Path part : relative) {
            String name = part.toString();
            if (name.equals("target") || name.equals("node_modules") || name.equals(".git")) {
                return false;
            }
        }
        return true;
    }

    static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot read " + file, e);
        }
    }

    /** As printed in messages: relative to the root. */
    static String name(Path file) {
        return root().relativize(file).toString();
    }
}
