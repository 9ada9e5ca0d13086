package io.kagami.raft.disk;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * A directory as it is: what is written to it is forgotten, so that a store may be looked at, repairs of torn files included, without
 * changing a byte. Takes no lock: the caller knows that nobody writes.
 */
public final class ReadOnlyDisk implements Disk {
    private final Path directory;

    public ReadOnlyDisk(Path directory) {
        this.directory = directory;
    }

    @Override
    public List<String> list() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> file.getFileName().toString()).toList();
        }
    }

    @Override
    public byte[] read(String name) throws IOException {
        return Files.readAllBytes(directory.resolve(name));
    }

    @Override
    public OutFile create(String name) {
        return new Nowhere();
    }

    @Override
    public OutFile append(String name, long size) {
        return new Nowhere();
    }

    @Override
    public void rename(String from, String to) {}

    @Override
    public void delete(String name) {}

    @Override
    public void forceDirectory() {}

    @Override
    public String describe(String name) {
        return directory.resolve(name).toString();
    }

    @Override
    public void close() {}

    private static final class Nowhere implements OutFile {
        @Override
        public void write(ByteBuffer bytes) {
            bytes.position(bytes.limit());
        }

        @Override
        public void force() {}

        @Override
        public void close() {}
    }
}
