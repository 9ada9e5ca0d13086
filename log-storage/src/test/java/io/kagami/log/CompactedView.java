package io.kagami.log;

import io.kagami.log.clean.PlainRewriter;
import io.kagami.log.core.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What consumers of a log see: all records, or those of committed transactions, filtered as Kafka's clients filter them. */
final class CompactedView {
    record Row(long offset, long timestampMs, String key, String value) {}

    /** All batches from the log start on, whole. */
    static List<ByteBuffer> batches(LogView view) throws IOException {
        List<ByteBuffer> all = new ArrayList<>();
        long offset = view.startOffset();
        while (offset < view.endOffset()) {
            Optional<LogSlice> slice = view.read(offset, Long.MAX_VALUE, 4096, true);
            if (slice.isEmpty()) {
                break;
            }
            try (LogSlice open = slice.get()) {
                for (LogModel.Entry each : LogModel.entries(open)) {
                    all.add(each.bytes());
                    offset = each.last() + 1;
                }
            }
        }
        return all;
    }

    static List<Row> uncommitted(LogView view) throws IOException {
        List<Row> rows = new ArrayList<>();
        for (ByteBuffer batch : batches(view)) {
            if (!BatchHeader.control(batch, 0)) {
                rows(batch, view.startOffset(), rows);
            }
        }
        return rows;
    }

    static List<Row> committed(LogView view) throws IOException {
        List<AbortedTxn> aborted = new ArrayList<>(view.abortedIn(view.startOffset(), view.lastStableOffset()));
        Map<Long, List<AbortedTxn>> byProducer = new HashMap<>();
        aborted.forEach(each -> byProducer
                .computeIfAbsent(each.producerId(), id -> new ArrayList<>())
                .add(each));
        Set<Long> aborting = new HashSet<>();
        List<Row> rows = new ArrayList<>();
        for (ByteBuffer batch : batches(view)) {
            long last = BatchHeader.lastOffset(batch, 0);
            if (last >= view.lastStableOffset()) {
                break;
            }
            long id = BatchHeader.producerId(batch, 0);
            List<AbortedTxn> own = byProducer.getOrDefault(id, List.of());
            while (!own.isEmpty() && own.get(0).firstOffset() <= last) {
                own.remove(0);
                aborting.add(id);
            }
            if (BatchHeader.control(batch, 0)) {
                aborting.remove(id);
            } else if (!(BatchHeader.transactional(batch, 0) && aborting.contains(id))) {
                rows(batch, view.startOffset(), rows);
            }
        }
        return rows;
    }

    private static void rows(ByteBuffer batch, long start, List<Row> rows) {
        for (PlainRewriter.Seen each : PlainRewriter.records(batch)) {
            if (each.offset() >= start) {
                rows.add(new Row(each.offset(), each.timestampMs(), text(each.key()), text(each.value())));
            }
        }
    }

    private static String text(ByteBuffer bytes) {
        return bytes == null
                ? null
                : StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
    }

    /** Last value of each key, without deleted ones. */
    static Map<String, Row> table(List<Row> rows) {
        Map<String, Row> last = new LinkedHashMap<>();
        for (Row row : rows) {
            last.remove(row.key());
            if (row.value() != null) {
                last.put(row.key(), row);
            }
        }
        return last;
    }

    private CompactedView() {}
}
