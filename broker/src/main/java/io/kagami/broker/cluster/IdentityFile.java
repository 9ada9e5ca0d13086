package io.kagami.broker.cluster;

import io.kagami.log.disk.FileReason;
import io.kagami.raft.StoreFault;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Properties;

/**
 * {@code meta.properties} of the metadata directory, with Kafka's keys: whose directory this is. A broker that is started with the
 * directory of another one or of another cluster refuses before it touches anything.
 */
final class IdentityFile {
    private static final String NAME = "meta.properties";
    private static final String VERSION = "1";

    private IdentityFile() {}

    /** The cluster id in the file, or null when there is no file; the node id in it must be ours. */
    static String readClusterId(Path directory, int nodeId) {
        Path file = directory.resolve(NAME);
        if (!Files.exists(file)) {
            return null;
        }
        Properties properties = new Properties();
        try (var in = Files.newBufferedReader(file)) {
            properties.load(in);
        } catch (IOException | IllegalArgumentException e) {
            throw new StoreFault("cannot read " + file + ": " + FileReason.of(e), e);
        }
        String version = required(properties, "version", file);
        if (!VERSION.equals(version)) {
            throw new StoreFault(file + " has version " + version + ", this program reads " + VERSION + ".");
        }
        String node = required(properties, "node.id", file);
        if (!node.equals(Integer.toString(nodeId))) {
            throw new StoreFault(file + " belongs to node.id " + node + ", the configuration says " + nodeId
                    + ". Correct node.id or metadata.log.dir.");
        }
        return required(properties, "cluster.id", file);
    }

    /** Atomic and durable. */
    static void write(Path directory, int nodeId, String clusterId) {
        Path file = directory.resolve(NAME);
        Path temporary = directory.resolve(NAME + ".tmp");
        String text = "version=" + VERSION + "\nnode.id=" + nodeId + "\ncluster.id=" + clusterId + "\n";
        try {
            try (FileChannel out = FileChannel.open(
                    temporary,
                    StandardOpenOption.CREATE,
                    StandardOpenOption.TRUNCATE_EXISTING,
                    StandardOpenOption.WRITE)) {
                ByteBuffer bytes = ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
                while (bytes.hasRemaining()) {
                    out.write(bytes);
                }
                out.force(true);
            }
            Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            try (FileChannel parent = FileChannel.open(directory, StandardOpenOption.READ)) {
                parent.force(true);
            }
        } catch (IOException e) {
            throw new StoreFault("cannot write " + file + ": " + FileReason.of(e), e);
        }
    }

    private static String required(Properties properties, String key, Path file) {
        String value = properties.getProperty(key);
        if (value == null || value.isBlank()) {
            throw new StoreFault(file + " has no " + key + ". Restore the file, or delete it to have it written anew.");
        }
        return value.strip();
    }
}
