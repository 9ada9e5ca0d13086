package io.kagami.broker.adopt;

import io.kagami.broker.core.adopt.KafkaMetadata;
import io.kagami.broker.core.adopt.KafkaRecords;
import io.kagami.log.core.BatchHeader;
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

/**
 * Reads {@code __cluster_metadata-0} of Apache Kafka: its newest snapshot and the segments behind it, one batch at a time. Whatever is
 * damaged ends the reading with an error, for what is behind the damage would be missing without a word; the one exception is the last
 * batch that a crash has torn, which no controller had confirmed.
 */
final class KafkaMetadataReader {
    /** Directory of the metadata log, in {@code metadata.log.dir} or the first of {@code log.dirs}. */
    static final String DIRECTORY = "__cluster_metadata-0";

    private static final Pattern SNAPSHOT = Pattern.compile("(\\d{20})-(\\d{10})\\.checkpoint");
    private static final Pattern SEGMENT = Pattern.compile("(\\d{20})\\.log");
    private static final int PREFIX_BYTES = 12;
    /** Kafka's controller writes batches of 8 MiB at most. */
    private static final int BATCH_BYTES_MAX = 64 << 20;

    private static final int SEARCH_BYTES = 1 << 20;
    /** Control record that ends every whole snapshot (KIP-630). */
    private static final short SNAPSHOT_FOOTER = 4;

    /**
     * What the log says.
     *
     * @param torn where the batch that a crash has torn begins, as a sentence; null when the log ends well
     */
    record Read(KafkaMetadata metadata, String torn) {}

    /** The first bytes of a file that are no whole batch. */
    private record Fault(long position, String what) {}

    private final Path directory;
    private final boolean clean;
    private final KafkaMetadata metadata = new KafkaMetadata();
    /** First offset that has not been read, -1 in a snapshot. */
    private long next;
    /** Offset of the next batch of the log, which has no gaps; -1 in a snapshot. */
    private long expected = -1;

    private boolean footer;

    private KafkaMetadataReader(Path directory, boolean clean) {
        this.directory = directory;
        this.clean = clean;
    }

    /**
     * @param clean whether its broker was stopped well: then nothing may be torn
     * @throws AdoptionFailed when the log cannot be read to its end
     */
    static Read read(Path directory, boolean clean) {
        KafkaMetadataReader reader = new KafkaMetadataReader(directory, clean);
        try {
            return new Read(reader.metadata, reader.readAll());
        } catch (IOException e) {
            throw new AdoptionFailed("cannot read the metadata log " + directory + ": " + e, e);
        }
    }

    private String readAll() throws IOException {
        NavigableMap<Long, Path> snapshots = files(SNAPSHOT);
        NavigableMap<Long, Path> segments = files(SEGMENT);
        if (!snapshots.isEmpty()) {
            readSnapshot(snapshots.lastEntry().getValue());
            next = snapshots.lastKey();
        }
        Long first = segments.floorKey(next);
        if (first == null && !segments.isEmpty()) {
            throw new AdoptionFailed("the metadata log in " + directory + " begins at offset " + segments.firstKey()
                    + ", and the newest snapshot ends at " + next + ": what is between them is missing");
        }
        if (first == null && snapshots.isEmpty()) {
            throw new AdoptionFailed("the metadata log in " + directory + " has neither a snapshot nor a segment");
        }
        if (first == null) {
            return null;
        }
        expected = first;
        List<Path> rest = List.copyOf(segments.tailMap(first, true).values());
        for (Path segment : rest) {
            Fault fault = readFile(segment);
            if (fault != null) {
                return settle(segment, fault, segment.equals(rest.get(rest.size() - 1)));
            }
        }
        return null;
    }

    private void readSnapshot(Path snapshot) throws IOException {
        next = -1;
        Fault fault = readFile(snapshot);
        if (fault == null && !footer) {
            fault = new Fault(Files.size(snapshot), "its end is missing");
        }
        if (fault != null) {
            throw new AdoptionFailed("the metadata snapshot " + snapshot + " is damaged at position " + fault.position()
                    + ": " + fault.what());
        }
    }

    /** Refuses all but a torn end. */
    private String settle(Path segment, Fault fault, boolean last) throws IOException {
        String where = segment + " at position " + fault.position() + ", offset " + next;
        String damaged = "the metadata log is damaged in " + where + ": " + fault.what();
        if (!last) {
            throw new AdoptionFailed(damaged + ", and another segment follows");
        }
        long behind = batchBehind(segment, fault.position());
        if (behind >= 0) {
            throw new AdoptionFailed(damaged + ", and a whole batch follows at position " + behind
                    + ". What the damaged part said of topics is unknown");
        }
        if (clean) {
            throw new AdoptionFailed(
                    damaged + ". Its broker was stopped cleanly, so that its end is not torn but was changed later");
        }
        return where;
    }

    /** Position of the first whole batch behind a damaged one, -1 when there is none. */
    private long batchBehind(Path segment, long damaged) throws IOException {
        try (FileChannel in = FileChannel.open(segment, StandardOpenOption.READ)) {
            long size = in.size();
            ByteBuffer chunk = ByteBuffer.allocate(SEARCH_BYTES);
            for (long at = damaged + 1; at + BatchHeader.V2_HEADER <= size; ) {
                chunk.clear().limit((int) Math.min(SEARCH_BYTES, size - at));
                readFully(in, chunk, at);
                chunk.flip();
                int starts = chunk.limit() - BatchHeader.V2_HEADER + 1;
                if (starts <= 0) {
                    return -1;
                }
                for (int i = 0; i < starts; i++) {
                    if (looksLikeBatch(chunk, i, size - at - i) && wholeBatch(in, at + i)) {
                        return at + i;
                    }
                }
                at += starts;
            }
            return -1;
        }
    }

    private boolean looksLikeBatch(ByteBuffer chunk, int at, long room) {
        if (chunk.get(at + BatchHeader.MAGIC_END - 1) != 2) {
            return false;
        }
        long length = PREFIX_BYTES + (long) chunk.getInt(at + Long.BYTES);
        return length >= BatchHeader.V2_HEADER
                && length <= Math.min(room, BATCH_BYTES_MAX)
                && chunk.getLong(at) >= next;
    }

    private static boolean wholeBatch(FileChannel in, long at) throws IOException {
        ByteBuffer prefix = ByteBuffer.allocate(PREFIX_BYTES);
        readFully(in, prefix, at);
        ByteBuffer bytes = ByteBuffer.allocate(PREFIX_BYTES + prefix.getInt(Long.BYTES));
        return readFully(in, bytes, at) && BatchHeader.crcValid(bytes.flip(), 0);
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

    /** Null when the file is whole batches and nothing else. */
    private Fault readFile(Path file) throws IOException {
        try (FileChannel in = FileChannel.open(file, StandardOpenOption.READ)) {
            long at = 0;
            long size = in.size();
            ByteBuffer prefix = ByteBuffer.allocate(PREFIX_BYTES);
            while (at < size) {
                if (!readFully(in, prefix.clear(), at)) {
                    return new Fault(at, (size - at) + " bytes are no batch");
                }
                long length = PREFIX_BYTES + (long) prefix.getInt(Long.BYTES);
                if (length <= PREFIX_BYTES || length > BATCH_BYTES_MAX || at + length > size) {
                    return new Fault(
                            at, "a batch declares " + length + " bytes where " + (size - at) + " bytes are left");
                }
                ByteBuffer bytes = ByteBuffer.allocate((int) length);
                if (!readFully(in, bytes, at)) {
                    return new Fault(at, "the file became shorter");
                }
                String fault = replay(bytes.flip(), file, at);
                if (fault != null) {
                    return new Fault(at, fault);
                }
                at += length;
            }
            return null;
        }
    }

    /** What is wrong with the bytes of a batch, or null. */
    private String replay(ByteBuffer bytes, Path file, long position) {
        BatchView batch;
        try {
            List<BatchView> batches = RecordBatches.of(bytes);
            if (batches.size() != 1 || !batches.get(0).valid()) {
                return "the checksum of a batch does not match";
            }
            batch = batches.get(0);
        } catch (MalformedRecords e) {
            return e.getMessage();
        }
        if (expected >= 0 && batch.baseOffset() != expected) {
            throw new AdoptionFailed("the metadata log is damaged in " + file + " at position " + position
                    + ": a batch has offset " + batch.baseOffset() + " where " + expected + " is due");
        }
        try {
            if (batch.control()) {
                batch.forEach(BATCH_BYTES_MAX, record -> footer |= record.controlType() == SNAPSHOT_FOOTER);
            } else {
                batch.forEach(BATCH_BYTES_MAX, record -> replay(record, file));
            }
        } catch (MalformedRecords e) {
            throw new AdoptionFailed(
                    "the metadata log is damaged in " + file + " at position " + position + ": " + e.getMessage(), e);
        }
        if (next >= 0) {
            expected = batch.lastOffset() + 1;
            next = Math.max(next, expected);
        }
        return null;
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
