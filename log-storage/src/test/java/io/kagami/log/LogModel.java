package io.kagami.log;

import static org.assertj.core.api.Assertions.assertThat;

import io.kagami.log.core.BatchHeader;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** The naive log: a list of batches. Every answer is a walk over all of them. */
final class LogModel {
    record Entry(ByteBuffer bytes) {
        long base() {
            return BatchHeader.baseOffset(bytes, 0);
        }

        long last() {
            return BatchHeader.lastOffset(bytes, 0);
        }

        long maxTimestamp() {
            return BatchHeader.maxTimestamp(bytes, 0);
        }
    }

    final List<Entry> batches = new ArrayList<>();
    long start;
    long end;

    /** Takes over batches as they were appended, with their final offsets. */
    void add(ByteBuffer joined) {
        for (int at = 0; at < joined.limit(); ) {
            int size = BatchHeader.sizeInBytes(joined, at);
            ByteBuffer copy = ByteBuffer.allocate(size);
            copy.put(joined.slice(at, size)).flip();
            batches.add(new Entry(copy));
            end = batches.get(batches.size() - 1).last() + 1;
            at += size;
        }
    }

    void restartAt(long offset) {
        batches.clear();
        start = offset;
        end = offset;
    }

    long indexOf(long offset) {
        for (int i = 0; i < batches.size(); i++) {
            if (batches.get(i).last() >= offset) {
                return i;
            }
        }
        return batches.size();
    }

    /** Compares everything a reader can ask. */
    void check(LogView view) throws IOException {
        assertThat(view.startOffset()).isEqualTo(start);
        assertThat(view.endOffset()).isEqualTo(end);
        long offset = start;
        List<Entry> read = new ArrayList<>();
        while (offset < end) {
            Optional<LogSlice> slice = view.read(offset, Long.MAX_VALUE, 700, true);
            if (slice.isEmpty()) {
                break;
            }
            for (Entry entry : entries(slice.get())) {
                read.add(entry);
                offset = entry.last() + 1;
            }
            slice.get().close();
        }
        List<Entry> wanted = batches.stream().filter(b -> b.last() >= start).toList();
        assertThat(read).isEqualTo(wanted);
        checkTimes(view, wanted);
        checkEpochs(view, wanted);
    }

    private void checkTimes(LogView view, List<Entry> wanted) throws IOException {
        long max = wanted.stream().mapToLong(Entry::maxTimestamp).max().orElse(-1);
        Optional<LogView.TimestampOffset> found = view.maxTimestamp();
        if (max < 0) {
            assertThat(found).isEmpty();
        } else {
            Entry first = wanted.stream()
                    .filter(b -> b.maxTimestamp() == max)
                    .findFirst()
                    .orElseThrow();
            assertThat(found).contains(new LogView.TimestampOffset(max, first.base()));
        }
        for (long at = 0; at <= max + 1; at += Math.max(1, max / 7)) {
            long asked = at;
            Optional<Entry> first =
                    wanted.stream().filter(b -> b.maxTimestamp() >= asked).findFirst();
            Optional<LogSlice> slice = view.batchAtOrAfter(asked);
            assertThat(slice.isPresent()).as("batch at or after %d", asked).isEqualTo(first.isPresent());
            if (slice.isPresent()) {
                assertThat(entries(slice.get())).containsExactly(first.get());
                slice.get().close();
            }
        }
    }

    private void checkEpochs(LogView view, List<Entry> wanted) {
        for (Entry entry : wanted) {
            assertThat(view.epochAt(Math.max(start, entry.base()))).isEqualTo(BatchHeader.leaderEpoch(entry.bytes, 0));
        }
        if (!wanted.isEmpty()) {
            assertThat(view.lastEpoch()).isEqualTo(BatchHeader.leaderEpoch(wanted.get(wanted.size() - 1).bytes, 0));
        }
    }

    /** One read compared with the walk. */
    void checkRead(LogView view, long offset, long upper, int bytesMax, boolean atLeastOne) throws IOException {
        List<Entry> wanted = new ArrayList<>();
        int bytes = 0;
        for (Entry entry : batches) {
            if (entry.last() < offset) {
                continue;
            }
            boolean fits = bytes + entry.bytes.limit() <= bytesMax || (wanted.isEmpty() && atLeastOne);
            if (offset >= upper || entry.base() >= upper || !fits) {
                break;
            }
            wanted.add(entry);
            bytes += entry.bytes.limit();
        }
        Optional<LogSlice> slice = view.read(offset, upper, bytesMax, atLeastOne);
        assertThat(slice.isPresent())
                .as("read(%d, %d, %d, %s)", offset, upper, bytesMax, atLeastOne)
                .isEqualTo(!wanted.isEmpty());
        if (slice.isPresent()) {
            List<Entry> got = entries(slice.get());
            // a slice ends with its segment, so it may be shorter, but never empty and never different
            assertThat(wanted.subList(0, got.size())).isEqualTo(got);
            assertThat(slice.get().firstBatchOffset()).isEqualTo(got.get(0).base());
            slice.get().close();
        }
    }

    /** Base offsets of all batches. */
    static List<Long> offsets(LogView view) {
        List<Long> offsets = new ArrayList<>();
        long next = view.startOffset();
        for (Optional<LogSlice> slice = view.read(next, Long.MAX_VALUE, 10_000, true); slice.isPresent(); ) {
            try (LogSlice open = slice.get()) {
                for (Entry entry : entries(open)) {
                    offsets.add(entry.base());
                    next = entry.last() + 1;
                }
            } catch (IOException e) {
                throw new AssertionError(e);
            }
            slice = next > view.endOffset() ? Optional.empty() : view.read(next, Long.MAX_VALUE, 10_000, true);
        }
        return offsets;
    }

    static List<Entry> entries(LogSlice slice) throws IOException {
        ByteBuffer bytes = ByteBuffer.allocate(slice.sizeInBytes());
        while (bytes.hasRemaining() && slice.channel().read(bytes, slice.position() + bytes.position()) > 0) {}
        assertThat(bytes.hasRemaining()).as("slice is shorter than it says").isFalse();
        bytes.flip();
        LogModel parsed = new LogModel();
        parsed.add(bytes);
        assertThat(parsed.batches).isNotEmpty();
        return parsed.batches;
    }
}
