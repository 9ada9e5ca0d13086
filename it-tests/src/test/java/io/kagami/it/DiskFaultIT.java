package io.kagami.it;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.KafkaStorageException;
import org.junit.jupiter.api.Assumptions;
import org.junit.jupiter.api.Test;

/**
 * The kernel answers the writes of a running broker to one of its two directories with errors: all else goes on, and once the errors
 * end, so does the outage. The errors come from strace, since no kernel takes a file system with open files away from its writers.
 */
class DiskFaultIT {
    private static final int VALUE_BYTES = 1_000;
    private static final Duration SOON = Duration.ofSeconds(30);

    @Test
    void aDirectoryWhoseWritesOrForcesFailIsOfflineAloneLosesNothingAndComesBackByItself() throws Exception {
        if (!Cli.works("strace", "-V")) {
            skip("strace is not installed");
        }
        Path dir = TestDirs.fresh("disk-fault");
        Path one = Files.createDirectory(dir.resolve("one"));
        Path two = Files.createDirectory(dir.resolve("two"));
        // what is acknowledged was forced
        Map<String, String> config = Map.of("log.dirs", one + "," + two, "log.flush.interval.messages", "1");
        try (KagamiProcess kagami = KagamiProcess.start("disk-fault-broker", config);
                KafkaProducer<byte[], byte[]> producer = producer(kagami.bootstrap())) {
            Fill.create(kagami.bootstrap(), "out", 2, Map.of());
            Run run = new Run(kagami, producer, two, one, Files.exists(two.resolve("out-0")) ? 0 : 1);
            for (int i = 0; i < 20; i++) {
                run.send(run.partition);
            }
            run.outage("openat,write,pwrite64,pwritev", "EROFS", "Read-only file system", true);
            run.outage("fsync,fdatasync", "EIO", "Input/output error", false);
            Map<Long, Integer> found = run.read();
            assertThat(found).containsAllEntriesOf(run.acknowledged);
            kagami.kill9();
            kagami.start();
            assertThat(run.read()).containsAllEntriesOf(found);
        }
    }

    private static void skip(String why) {
        Announce.skipped("DiskFaultIT", why);
        Assumptions.abort(why);
    }

    /** What is not acknowledged at once is not sent again. */
    private static KafkaProducer<byte[], byte[]> producer(String bootstrap) {
        return Fill.producer(
                bootstrap, Map.of(ProducerConfig.RETRIES_CONFIG, 0, ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, false));
    }

    private static final class Run {
        private final KagamiProcess kagami;
        private final KafkaProducer<byte[], byte[]> producer;
        private final Path bad;
        private final Path good;
        private final int partition;
        private final Map<Long, Integer> acknowledged = new HashMap<>();
        private int sent;

        Run(KagamiProcess kagami, KafkaProducer<byte[], byte[]> producer, Path bad, Path good, int partition) {
            this.kagami = kagami;
            this.producer = producer;
            this.bad = bad;
            this.good = good;
            this.partition = partition;
        }

        void outage(String calls, String error, String message, boolean readable) throws Exception {
            Path segment = bad.resolve("out-" + partition).resolve("00000000000000000000.log");
            assertThat(segment).exists();
            try (Fault fault = Fault.inject(kagami.pid(), calls, error, segment, bad.resolve(".probe.tmp"))) {
                assertThat(refused()).isInstanceOf(KafkaStorageException.class);
                assertThat(fault.goesOn()).isTrue();
                for (int i = 0; i < 10; i++) {
                    RecordMetadata other = Fill.get(producer.send(record(1 - partition, i)));
                    assertThat(other.partition()).isNotEqualTo(partition);
                }
                assertThat(kagami.http("/metrics").body())
                        .contains("kagami_log_directory_logs_offline{directory=\"" + good + "\"} 0")
                        .contains("kagami_log_directory_logs_offline{directory=\"" + bad + "\"} 1");
                Eventually.succeeds(SOON, () -> assertThat(kagami.logText())
                        .contains(message)
                        .contains("Disk failed; the log is offline")
                        .contains("it takes no writes"));
                if (readable) {
                    assertThat(read()).containsAllEntriesOf(acknowledged);
                }
            }
            long ended = System.nanoTime();
            Eventually.succeeds(SOON, () -> send(partition));
            Announce.say(error + ": back after " + (System.nanoTime() - ended) / 1_000_000 + " ms");
            assertThat(kagami.http("/metrics").body())
                    .contains("kagami_log_directory_logs_offline{directory=\"" + bad + "\"} 0");
            assertThat(read()).containsAllEntriesOf(acknowledged);
        }

        private ProducerRecord<byte[], byte[]> record(int to, int seed) {
            byte[] value = new byte[VALUE_BYTES];
            new Random(seed).nextBytes(value);
            return new ProducerRecord<>("out", to, null, value);
        }

        void send(int to) throws ExecutionException, InterruptedException {
            ProducerRecord<byte[], byte[]> record = record(to, sent++);
            acknowledged.put(producer.send(record).get().offset(), Arrays.hashCode(record.value()));
        }

        private Throwable refused() throws InterruptedException {
            for (int i = 0; i < 1_000; i++) {
                try {
                    send(partition);
                } catch (ExecutionException e) {
                    return e.getCause();
                }
            }
            throw new AssertionError("a thousand records were taken");
        }

        /** Hashes by offset, of all that is there. */
        Map<Long, Integer> read() {
            TopicPartition from = new TopicPartition("out", partition);
            Map<Long, Integer> found = new TreeMap<>();
            try (KafkaConsumer<byte[], byte[]> consumer = Reading.consumer(kagami.bootstrap(), Map.of())) {
                consumer.assign(List.of(from));
                consumer.seekToBeginning(List.of(from));
                long end = consumer.endOffsets(List.of(from)).get(from);
                while (consumer.position(from) < end) {
                    for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofMillis(200))) {
                        found.put(each.offset(), Arrays.hashCode(each.value()));
                    }
                }
            }
            return found;
        }
    }

    /** System calls of a process on some files fail until this is closed. */
    private static final class Fault implements AutoCloseable {
        private final Process strace;

        private Fault(Process strace) {
            this.strace = strace;
        }

        static Fault inject(long pid, String calls, String error, Path... files) throws IOException {
            List<String> command = new ArrayList<>(List.of("strace", "-f", "-qq", "-o", "/dev/null", "-p", "" + pid));
            for (Path file : files) {
                command.addAll(List.of("-P", file.toString()));
            }
            command.addAll(List.of("-e", "trace=" + calls, "-e", "inject=" + calls + ":error=" + error));
            Fault fault = new Fault(new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start());
            Path status = Path.of("/proc/" + pid + "/status");
            Eventually.within(SOON).until(() -> !fault.goesOn() || !untraced(status));
            if (!fault.goesOn()) {
                skip("strace may not follow process " + pid);
            }
            return fault;
        }

        private static boolean untraced(Path status) {
            try {
                return Files.readString(status).contains("TracerPid:\t0\n");
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        boolean goesOn() {
            return strace.isAlive();
        }

        @Override
        public void close() {
            strace.destroy();
            Eventually.within(SOON).until(() -> !goesOn()); // it has let go of the broker
        }
    }
}
