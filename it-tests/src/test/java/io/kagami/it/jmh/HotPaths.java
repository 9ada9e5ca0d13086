package io.kagami.it.jmh;

import io.kagami.log.FileLogDirectory;
import io.kagami.log.LogDirectory;
import io.kagami.log.LogName;
import io.kagami.log.LogOptions;
import io.kagami.log.LogSlice;
import io.kagami.log.PartitionLog;
import io.kagami.log.core.BatchWalker;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.SimpleRecord;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;

/** Walking a batch with its checksum, appending it, and finding one to fetch. One operation is one batch. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.MICROSECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(
        value = 1,
        jvmArgsAppend = {
            "--add-opens=java.base/java.lang.reflect=ALL-UNNAMED",
            "--add-exports=java.base/jdk.internal.ref=ALL-UNNAMED",
            "--add-exports=java.base/sun.nio.ch=ALL-UNNAMED",
            "-ea:io.kagami..."
        })
public class HotPaths {
    private static final int RECORD_BYTES = 1024;
    private static final long LOG_BYTES_MAX = 1L << 30;
    private static final int LOOKED_UP = 10_000;
    private static final int FETCH_BYTES = 1 << 20;
    /** Odd, so that the look-ups jump over the whole log. */
    private static final long STRIDE = 7_919;

    /** Records of 1 KiB in the batch. */
    @Param({"1", "16", "128"})
    public int records;

    private Path dir;
    private LogDirectory directory;
    private PartitionLog grown;
    private PartitionLog full;
    private ByteBuffer batch;
    private long offset;
    private long looked;

    @Setup
    public void open() throws IOException {
        MemoryRecords made = MemoryRecords.withRecords(
                Compression.NONE,
                IntStream.range(0, records)
                        .mapToObj(i -> new SimpleRecord(new byte[RECORD_BYTES]))
                        .toArray(SimpleRecord[]::new));
        batch = ByteBuffer.allocateDirect(made.sizeInBytes());
        batch.put(made.buffer().duplicate()).flip();
        dir = Files.createTempDirectory("kagami-jmh");
        directory = FileLogDirectory.open(dir, name -> LogOptions.DEFAULT, InstantSource.system());
        grown = directory.create(new LogName("grown", 0), UUID.randomUUID(), LogOptions.DEFAULT);
        full = directory.create(new LogName("full", 0), UUID.randomUUID(), LogOptions.DEFAULT);
        int batches = (int) Math.min(LOOKED_UP, LOG_BYTES_MAX / batch.capacity());
        for (int i = 0; i < batches; i++) {
            full.append(batch.duplicate(), 0);
        }
    }

    @TearDown
    public void close() throws IOException {
        directory.close();
        try (Stream<Path> files = Files.walk(dir)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    @Benchmark
    public BatchWalker.Walk walk() {
        return BatchWalker.walk(batch, true);
    }

    @Benchmark
    public Object appendProduced() {
        startOver();
        return grown.append(batch.duplicate(), 0);
    }

    @Benchmark
    public Object appendMirrored() {
        startOver();
        batch.putLong(0, offset);
        offset += records;
        return grown.appendMirrored(batch.duplicate());
    }

    @Benchmark
    public long lookUp() {
        looked = (looked + STRIDE) % full.view().endOffset();
        Optional<LogSlice> slice = full.view().read(looked, full.view().endOffset(), FETCH_BYTES, true);
        try (LogSlice found = slice.orElseThrow()) {
            return found.sizeInBytes();
        }
    }

    /** A log of bounded size: what a benchmark may fill is no more than this. */
    private void startOver() {
        if (grown.view().sizeInBytes() > LOG_BYTES_MAX) {
            grown.restartAt(0);
            offset = 0;
        }
    }
}
