package io.kagami.it.bench;

import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.stream.Stream;

/** Data directories of what is measured. */
final class Directories {
    private Directories() {}

    /** An empty directory. */
    static Path fresh(Path dir) throws IOException {
        remove(dir);
        return Files.createDirectories(dir);
    }

    static void remove(Path dir) throws IOException {
        if (!Files.exists(dir)) {
            return;
        }
        Files.walkFileTree(dir, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) throws IOException {
                Files.deleteIfExists(file);
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path visited, IOException failure) throws IOException {
                if (failure != null) {
                    throw failure;
                }
                Files.deleteIfExists(visited);
                return FileVisitResult.CONTINUE;
            }
        });
    }

    /** Number of entries of a directory whose names begin so. */
    static long beginning(Path dir, String name) {
        try (Stream<Path> files = Files.list(dir)) {
            return files.filter(f -> f.getFileName().toString().startsWith(name))
                    .count();
        } catch (IOException e) {
            throw new IllegalStateException("cannot look into " + dir, e);
        }
    }

    /** Bytes of all segments of a topic below a Kafka data directory; 0 while there are none. */
    static long logBytes(Path data, String topic, int partitions) {
        long bytes = 0;
        for (int p = 0; p < partitions; p++) {
            Path dir = data.resolve(topic + "-" + p);
            try (Stream<Path> files = Files.list(dir)) {
                for (Path file :
                        files.filter(f -> f.toString().endsWith(".log")).toList()) {
                    bytes += Files.size(file);
                }
            } catch (NoSuchFileException notYetOrNoMore) {
                // created or deleted just now
            } catch (IOException e) {
                throw new IllegalStateException("cannot look into " + dir, e);
            }
        }
        return bytes;
    }
}
