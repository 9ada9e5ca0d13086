package io.kagami.cli.demo;

import io.kagami.cli.demo.SourceWriter.Producer;
import io.kagami.protocol.records.BatchBuilder;
import io.kagami.protocol.records.Codec;
import io.kagami.protocol.records.RecordHeader;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.function.BiConsumer;

/**
 * The little shop that the demo mirrors: what topics it has and what lies in them. Between them they hold every shape of data that a
 * mirror must keep: all codecs, keys, headers, nulls and tombstones, transactions that were committed and aborted, gaps of compaction, a
 * log that starts inside a batch, a large record, an empty partition, committed offsets of consumer groups.
 */
final class SampleData {
    private static final long SEED = 20260101;
    /** The shop opens; fixed, so that every demo has the same records. */
    private static final long BEGIN_MS = 1_767_225_600_000L;

    private static final long DAY_MS = 86_400_000;
    private static final String[] PAGES = {"/", "/search", "/product", "/cart", "/checkout", "/help", "/account"};
    private static final String[] CITIES = {"Kyoto", "Lisboa", "Bergen", "Nairobi", "Québec", "Łódź", "Hà Nội", "Cusco"
    };
    private static final int LARGE_RECORD_BYTES = 900 * 1024;
    private static final int COMPACTION_ROUNDS_MAX = 150;

    private final SourceWriter writer;
    private final BiConsumer<String, Double> progress;
    private final Random random = new Random(SEED);

    /** @param progress is told of each topic, and which fraction of it has been written */
    SampleData(SourceWriter writer, BiConsumer<String, Double> progress) {
        this.writer = writer;
        this.progress = progress;
    }

    void write() {
        orders();
        clicks();
        customers();
        payments();
        audit();
        writer.create("returns", 2, Map.of());
        progress.accept("returns", 1.0);
        groups();
        awaitCompaction();
    }

    /** Names of the topics, in the order they are written. */
    static List<String> topics() {
        return List.of("orders", "clicks", "customers", "payments", "audit", "returns");
    }

    /** Keyed and with headers, lz4, from an idempotent producer. */
    private void orders() {
        writer.create("orders", 3, Map.of());
        Producer producer = writer.initProducer(null);
        int batches = 150;
        int[] sequence = new int[3];
        for (int batch = 0; batch < batches; batch++) {
            int partition = batch % 3;
            BatchBuilder builder =
                    new BatchBuilder(Codec.LZ4).producer(producer.id(), producer.epoch(), sequence[partition]);
            for (int i = 0; i < 200; i++) {
                int order = batch * 200 + i;
                String value = String.format(
                        Locale.ROOT,
                        "{\"order\":%d,\"customer\":%d,\"city\":\"%s\",\"items\":[{\"sku\":\"K-%04d\",\"count\":%d,\"price\":%d.%02d}],\"note\":\"%s\"}",
                        order,
                        random.nextInt(2_000),
                        CITIES[random.nextInt(CITIES.length)],
                        random.nextInt(10_000),
                        1 + random.nextInt(4),
                        5 + random.nextInt(300),
                        random.nextInt(100),
                        hex(80));
                builder.append(
                        BEGIN_MS + order * 950L,
                        bytes("order-" + order),
                        bytes(value),
                        List.of(
                                new RecordHeader("trace-id", bytes(hex(16))),
                                new RecordHeader("origin", bytes("shop"))));
            }
            sequence[partition] += 200;
            writer.produce("orders", partition, builder.build(), producer);
            progress.accept("orders", (batch + 1.0) / batches);
        }
        writer.flush();
    }

    /** The bulk: many small records without keys, uncompressed and snappy in turn. */
    private void clicks() {
        writer.create("clicks", 6, Map.of());
        int batches = 1_500;
        for (int batch = 0; batch < batches; batch++) {
            BatchBuilder builder = new BatchBuilder(batch / 6 % 2 == 0 ? Codec.NONE : Codec.SNAPPY);
            for (int i = 0; i < 400; i++) {
                String value = "{\"page\":\"" + PAGES[random.nextInt(PAGES.length)] + "\",\"session\":\"" + hex(24)
                        + "\",\"ms\":" + random.nextInt(3_000) + ",\"agent\":\"Mozilla/5.0 (X11; Linux x86_64)\"}";
                builder.append(BEGIN_MS + batch * 60_000L + i * 150L, null, bytes(value), List.of());
            }
            writer.produce("clicks", batch % 6, builder.build(), null);
            progress.accept("clicks", (batch + 1.0) / batches);
        }
        writer.flush();
    }

    /** Compacted: the same keys again and again over ten days, some of them deleted; then the source's cleaner makes gaps. */
    private void customers() {
        Map<String, String> configs = new LinkedHashMap<>();
        configs.put("cleanup.policy", "compact");
        configs.put("segment.ms", Long.toString(DAY_MS));
        configs.put("min.cleanable.dirty.ratio", "0.01");
        writer.create("customers", 2, configs);
        int days = 11;
        for (int day = 0; day < days; day++) {
            for (int partition = 0; partition < 2; partition++) {
                BatchBuilder builder = new BatchBuilder(Codec.GZIP);
                for (int i = 0; i < 500; i++) {
                    int customer = 2 * random.nextInt(700) + partition;
                    ByteBuffer value = random.nextInt(20) == 0
                            ? null
                            : bytes("{\"name\":\"" + hex(12) + "\",\"city\":\"" + CITIES[random.nextInt(CITIES.length)]
                                    + "\",\"since\":" + day + "}");
                    // a day and an hour between batches: each one begins a new segment, and only closed segments are
                    // cleaned
                    builder.append(
                            BEGIN_MS + day * (DAY_MS + 3_600_000) + i * 1_000L,
                            bytes("customer-" + customer),
                            value,
                            List.of());
                }
                writer.produce("customers", partition, builder.build(), null);
            }
            progress.accept("customers", (day + 1.0) / (days + 1));
        }
        writer.flush();
    }

    /** Transactions over all partitions, zstd: most are committed, every fourth is aborted. */
    private void payments() {
        writer.create("payments", 3, Map.of());
        Producer producer = writer.initProducer("shop-payments");
        int transactions = 16;
        int sequence = 0;
        for (int txn = 0; txn < transactions; txn++) {
            writer.addToTransaction(producer, "payments", List.of(0, 1, 2));
            for (int partition = 0; partition < 3; partition++) {
                BatchBuilder builder = new BatchBuilder(Codec.ZSTD)
                        .producer(producer.id(), producer.epoch(), sequence)
                        .transactional();
                for (int i = 0; i < 150; i++) {
                    String value = "{\"payment\":\"" + hex(20) + "\",\"cents\":" + random.nextInt(50_000) + ",\"txn\":"
                            + txn + "}";
                    builder.append(
                            BEGIN_MS + txn * 600_000L + i,
                            bytes("account-" + random.nextInt(500)),
                            bytes(value),
                            List.of());
                }
                writer.produce("payments", partition, builder.build(), producer);
            }
            sequence += 150;
            writer.endTransaction(producer, txn % 4 != 3);
            progress.accept("payments", (txn + 1.0) / transactions);
        }
    }

    /** One batch of every codec in turn, records of 0 bytes to 900 KiB; its oldest records are deleted, into the middle of a batch. */
    private void audit() {
        writer.create("audit", 1, Map.of());
        int batches = 40;
        for (int batch = 0; batch < batches; batch++) {
            BatchBuilder builder = new BatchBuilder(Codec.of(batch % 5));
            for (int i = 0; i < 50; i++) {
                ByteBuffer value = i == 7
                        ? null
                        : i == 8 ? bytes("") : bytes("user " + hex(8) + " did " + hex(random.nextInt(200)));
                builder.append(BEGIN_MS + batch * 1_000_000L + i, i % 3 == 0 ? null : bytes(hex(6)), value, List.of());
            }
            writer.produce("audit", 0, builder.build(), null);
            progress.accept("audit", (batch + 1.0) / batches);
        }
        byte[] large = new byte[LARGE_RECORD_BYTES];
        random.nextBytes(large);
        BatchBuilder builder = new BatchBuilder(Codec.NONE);
        builder.append(BEGIN_MS + batches * 1_000_000L, bytes("snapshot"), ByteBuffer.wrap(large), List.of());
        writer.produce("audit", 0, builder.build(), null);
        writer.flush();
        // batch 2 holds the offsets 100 to 149
        writer.deleteRecords("audit", 0, 120);
    }

    private void groups() {
        writer.commit("billing", "orders", Map.of(0, 10_000L, 1, 9_000L, 2, 0L));
        writer.commit("billing", "payments", Map.of(0, 1_200L, 1, 1_200L, 2, 1_200L));
        writer.commit("analytics", "clicks", Map.of(0, 100_000L, 1, 99_000L, 2, 25_000L, 3, 12L));
    }

    /** Waits until the cleaner has made gaps in both partitions, then tells it to leave the topic alone, so that it can be compared. */
    private void awaitCompaction() {
        int round = 0;
        while (!(hasGaps(0) && hasGaps(1))) {
            if (++round > COMPACTION_ROUNDS_MAX) {
                throw new DemoFailed("The source's cleaner made no gaps in the topic customers in time");
            }
            SourceWriter.pause();
        }
        writer.setConfig("customers", "min.cleanable.dirty.ratio", "1.0");
        writer.setConfig("customers", "min.compaction.lag.ms", Long.toString(Long.MAX_VALUE));
        long before = -1;
        long now = stored(0) + stored(1);
        while (now != before) {
            SourceWriter.pause();
            before = now;
            now = stored(0) + stored(1);
        }
        progress.accept("customers", 1.0);
    }

    private boolean hasGaps(int partition) {
        RawLog log = writer.read("customers", partition);
        long next = 0;
        for (ByteBuffer batch = log.next(); batch != null; batch = log.next()) {
            long span = RawLog.lastOffset(batch) + 1 - next;
            if (RawLog.records(batch) < span) {
                return true;
            }
            next = RawLog.lastOffset(batch) + 1;
        }
        return false;
    }

    private long stored(int partition) {
        RawLog log = writer.read("customers", partition);
        long bytes = 0;
        for (ByteBuffer batch = log.next(); batch != null; batch = log.next()) {
            bytes += batch.remaining();
        }
        return bytes;
    }

    private String hex(int length) {
        StringBuilder text = new StringBuilder(length);
        while (text.length() < length) {
            text.append(Long.toHexString(random.nextLong()));
        }
        text.setLength(length);
        return text.toString();
    }

    private static ByteBuffer bytes(String text) {
        return ByteBuffer.wrap(text.getBytes(StandardCharsets.UTF_8));
    }
}
