package io.kagami.log;

import io.kagami.log.CompactedView.Row;
import io.kagami.log.clean.PlainRewriter;
import io.kagami.log.core.BatchHeader;
import io.kagami.log.core.ControlRecord;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The naive log with keys, producers and transactions: every batch that was ever appended and not cut. Nothing is ever compacted here. */
final class LifeModel {
    final List<ByteBuffer> batches = new ArrayList<>();
    long end;

    void add(ByteBuffer stamped) {
        for (int at = 0; at < stamped.limit(); ) {
            int size = BatchHeader.sizeInBytes(stamped, at);
            ByteBuffer copy = ByteBuffer.allocate(size);
            copy.put(stamped.slice(at, size)).flip();
            batches.add(copy);
            end = BatchHeader.lastOffset(copy, 0) + 1;
            at += size;
        }
    }

    /** Batches that reach above the offset are gone; the log said where it ends then. */
    void cutAt(long offset, long endOffset) {
        batches.removeIf(batch -> BatchHeader.lastOffset(batch, 0) >= offset);
        end = endOffset;
    }

    static ControlRecord control(ByteBuffer batch) {
        return ControlRecord.of(batch, 0, batch.limit());
    }

    private static boolean ends(ByteBuffer batch, long producerId) {
        ControlRecord control = control(batch);
        return control.type() == ControlRecord.MIRROR_PID_RESET
                || (control.endsTransaction() && BatchHeader.producerId(batch, 0) == producerId);
    }

    /** How the transaction of the batch at an index ended: a control type, or {@link ControlRecord#UNKNOWN} while it is open. */
    private int fate(int index) {
        long id = BatchHeader.producerId(batches.get(index), 0);
        for (int i = index + 1; i < batches.size(); i++) {
            if (ends(batches.get(i), id)) {
                return control(batches.get(i)).type();
            }
        }
        return ControlRecord.UNKNOWN;
    }

    private boolean inTransaction(int index) {
        ByteBuffer batch = batches.get(index);
        return BatchHeader.transactional(batch, 0) && !BatchHeader.control(batch, 0);
    }

    long lastStableOffset() {
        for (int i = 0; i < batches.size(); i++) {
            if (inTransaction(i) && fate(i) == ControlRecord.UNKNOWN) {
                return BatchHeader.baseOffset(batches.get(i), 0);
            }
        }
        return end;
    }

    Set<Long> open() {
        Set<Long> open = new HashSet<>();
        for (int i = 0; i < batches.size(); i++) {
            if (inTransaction(i) && fate(i) == ControlRecord.UNKNOWN) {
                open.add(BatchHeader.producerId(batches.get(i), 0));
            }
        }
        return open;
    }

    /** All records, by offset. */
    Map<Long, Row> all() {
        Map<Long, Row> rows = new HashMap<>();
        for (ByteBuffer batch : batches) {
            if (!BatchHeader.control(batch, 0)) {
                rows(batch).forEach(row -> rows.put(row.offset(), row));
            }
        }
        return rows;
    }

    /** What a reader of committed records sees from an offset on. */
    List<Row> committed(long fromOffset) {
        long stable = lastStableOffset();
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < batches.size(); i++) {
            ByteBuffer batch = batches.get(i);
            boolean counts = !BatchHeader.control(batch, 0)
                    && BatchHeader.lastOffset(batch, 0) < stable
                    && (!inTransaction(i) || fate(i) == ControlRecord.COMMIT);
            if (counts) {
                rows(batch).stream().filter(row -> row.offset() >= fromOffset).forEach(rows::add);
            }
        }
        return rows;
    }

    private static List<Row> rows(ByteBuffer batch) {
        List<Row> rows = new ArrayList<>();
        for (PlainRewriter.Seen each : PlainRewriter.records(batch)) {
            rows.add(new Row(each.offset(), each.timestampMs(), text(each.key()), text(each.value())));
        }
        return rows;
    }

    private static String text(ByteBuffer bytes) {
        return bytes == null
                ? null
                : StandardCharsets.UTF_8.decode(bytes.duplicate()).toString();
    }

    /** The last data batch of a producer since it was last forgotten, or null. */
    ByteBuffer lastOf(long producerId) {
        for (int i = batches.size() - 1; i >= 0; i--) {
            ByteBuffer batch = batches.get(i);
            if (control(batch).type() == ControlRecord.MIRROR_PID_RESET) {
                return null;
            }
            if (BatchHeader.producerId(batch, 0) == producerId && !BatchHeader.control(batch, 0)) {
                return batch;
            }
        }
        return null;
    }

    /** The data batches of a producer's last epoch, newest first, at most five. */
    List<ByteBuffer> remembered(long producerId) {
        List<ByteBuffer> found = new ArrayList<>();
        for (int i = batches.size() - 1; i >= 0 && found.size() < 5; i--) {
            ByteBuffer batch = batches.get(i);
            if (control(batch).type() == ControlRecord.MIRROR_PID_RESET) {
                break;
            }
            if (BatchHeader.producerId(batch, 0) == producerId && !BatchHeader.control(batch, 0)) {
                found.add(batch);
            }
        }
        return found;
    }
}
