package io.kagami.broker.adopt;

import io.kagami.broker.core.adopt.KafkaMetadata;
import io.kagami.broker.core.adopt.KafkaRecords;
import io.kagami.protocol.records.BatchView;
import io.kagami.protocol.records.MalformedRecords;
import io.kagami.protocol.records.RecordBatches;
import io.kagami.protocol.records.RecordView;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** Reads {@code __cluster_metadata-0} of Apache Kafka: its newest snapshot and the segments behind it, one batch at a time. */
final class KafkaMetadataReader {
    /** Directory of the metadata log, in {@code metadata.log.dir} or the first of {@code log.dirs}. */
    static final String DIRECTORY = "__cluster_metadata-0";

    private static final Pattern SNAPSHOT = Pattern.compile("(\\d{20})-(\\d{10})\\.checkpoint");
    private static final Pattern SEGMENT = Pattern.compile("(\\d{20})\\.log");
    private static final int PREFIX_BYTES = 12;
    /** Kafka's controller writes batches of 8 MiB at most. */
    private static final int BATCH_BYTES_MAX = 64 << 20;

    private final Path directory;
    private final KafkaMetadata metadata = new KafkaMetadata();
    private long next;

    private KafkaMetadataReader(Path directory) {
        this.directory = directory;
    }

    /** @throws AdoptionFailed when the log cannot be read to its end; a torn batch at its very end is no fault */
    static KafkaMetadata read(Path directory) {
        KafkaMetadataReader reader = new KafkaMetadataReader(directory);
        try {
            reader.readAll();
        } catch (IOException e) {
            throw new AdoptionFailed("cannot read the metadata log " + directory + ": " + e, e);
        }
        return reader.metadata;
    }

    private void readAll() throws IOException {
        NavigableMap<Long, Path> snapshots = files(SNAPSHOT);
        NavigableMap<Long, Path> segments = files(SEGMENT);
        if (!snapshots.isEmpty()) {
            Path snapshot = snapshots.lastEntry().getValue();
            next = -1;
            if (!readFile(snapshot)) {
                throw new AdoptionFailed("the metadata snapshot " + snapshot + " is damaged");
            }
            next = snapshots.lastKey();
        }
        Long first = segments.floorKey(next);
        if (first == null && !segments.isEmpty()) {
            throw new AdoptionFailed("the metadata log in " + directory + " begins at offset " + segments.firstKey()
                    + ", and the newest snapshot ends at " + next + ": what is between them is missing");
        }
        if (first == null) {
            return;
        }
        List<Path> rest = List.copyOf(segments.tailMap(first, true).values());
        for (Path segment : rest) {
            boolean last = segment.equals(rest.get(rest.size() - 1));
            if (!readFile(segment) && !last) {
                throw new AdoptionFailed("the metadata log is damaged in " + segment + " at offset " + next);
            }
        }
    }

    /** By the offset in their names; of several snapshots at one offset the one of the newest epoch. */
    private NavigableMap<Long, Path> files(Pattern pattern) throws IOException {
        NavigableMap<Long, Path> found = new TreeMap<>();
        try (Stream<Path> all = Files.list(directory)) {
            for (Path file : all.sorted().toList()) {
                Matcher name = pattern.matcher(file.getFileName().toString());
                if (name.matches()) {
                    found.put(Long.parseLong(name.group(1)), file);
                }
            }
        }
        return found;
    }

    /** False when something that is no whole batch ends it. */
    private boolean readFile(Path file) throws IOException {
        try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
            long at = 0;
            long size = in.size();
            ByteBuffer prefix = ByteBuffer.allocate(PREFIX_BYTES);
            while (at < size) {
                if (!readFully(in, prefix.clear(), at)) {
                    return false;
                }
                long length = PREFIX_BYTES + (long) prefix.getInt(Long.BYTES);
                if (length <= PREFIX_BYTES || length > BATCH_BYTES_MAX || at + length > size) {
                    return false;
                }
                ByteBuffer bytes = ByteBuffer.allocate((int) length);
                if (!readFully(in, bytes, at) || !replay(bytes.flip(), file)) {
                    return false;
                }
                at += length;
            }
            return true;
        }
    }

    private boolean replay(ByteBuffer bytes, Path file) {
        try {
            List<BatchView> batches = RecordBatches.of(bytes);
            if (batches.size() != 1 || !batches.get(0).valid()) {
                return false;
            }
            BatchView batch = batches.get(0);
            if (!batch.control()) {
                batch.forEach(BATCH_BYTES_MAX, record -> replay(record, file));
            }
            if (next >= 0) {
                next = Math.max(next, batch.lastOffset() + 1);
            }
            return true;
        } catch (MalformedRecords e) {
            return false;
        }
    }

    private void replay(RecordView record, Path file) {
        if ((next >= 0 && record.offset() < next) || record.value() == null) {
            return;
        }
        try {
            metadata.replay(KafkaRecords.decode(record.value()));
        } catch (IllegalArgumentException e) {
            throw new AdoptionFailed("offset " + record.offset() + " of " + file + ": " + e.getMessage(), e);
        }
    }

    private static boolean readFully(FileChannel in, ByteBuffer into, long position) throws IOException {
        long at = position;
        while (into.hasRemaining()) {
            int read = in.read(into, at);
            if (read < 0) {
                return false;
            }
            at += read;
        }
        return true;
    }
}
